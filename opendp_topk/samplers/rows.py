"""Many races over the same short vector of scores at once, each with digits of its own.

The bounds of all races form one table, a row a race. A race whose bounds leave its winners open is settled by itself,
from the digits that it has drawn.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noises.noise import Noise
from ..numerics.floatlog import Floats
from . import race, short
from .advantages import Scores
from .entropy import SYSTEM, Entropy, Indices
from .settle import Racers, settle

_TOGETHER = 2**16  # noisy scores in one table: half a MiB for each bound, which a cache holds


# proof-region: rows
def top_k(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    times: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices:
    """The results of ``times`` independent calls of :func:`race.top_k`, an int64 array of shape (times, k)."""
    scores = Scores(np.ascontiguousarray(values), scale, sign)
    with np.errstate(all="ignore"):  # [floating-point-state]
        known = short.distances(scores) if len(values) <= short.MOST else None
    winners = np.empty((times, k), dtype=np.int64)
    if known is None:
        for row in winners:
            row[:] = race.top_k(values, scale, noise, k, sign=sign, ordered=ordered, entropy=entropy)  # [one-by-one]
        return winners
    together = max(_TOGETHER // len(values), 1)
    for start in range(0, times, together):
        part = winners[start : start + together]
        with np.errstate(all="ignore"):  # [floating-point-state]
            part[:] = _races(scores, noise, k, range(start, start + len(part)), known, ordered, entropy)  # [part]
    return winners if ordered else np.sort(winners, axis=1)  # [order]


def _races(
    scores: Scores, noise: Noise, k: int, races: range, known: short.Known, ordered: bool, entropy: Entropy
) -> Indices:
    """The winners of some races, which are numbered."""
    d = len(scores.values)
    prefix = entropy.prefixes(np.arange(races.start * d, races.stop * d)).reshape(-1, d)  # [draw]
    lower, upper = short.bounds(known.distance, known.factor, short.padded(noise)[prefix])
    first = np.argsort(-lower, axis=1)
    winners = np.array(first[:, :k])
    for row in np.flatnonzero(~_decided(lower, upper, first, k, ordered)).tolist():
        own = Racers(np.arange(d), prefix[row], scores, noise, known.best, _Shifted(entropy, races[row] * d))
        winners[row] = settle(own, lower[row], upper[row], k, ordered)  # [settle]
    return winners


def _decided(lower: Floats, upper: Floats, order: Indices, k: int, ordered: bool) -> NDArray[np.bool_]:
    """In which rows bounds leave nothing open of the k best, and of their order."""
    first = 0 if ordered else k - 1
    ranked = np.take_along_axis(upper, order, axis=1)[:, first + 1 :]
    rest = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]  # [rest]
    last = min(k, lower.shape[1] - 1)
    best = np.take_along_axis(lower, order[:, first:last], axis=1)
    return np.asarray((best > rest[:, : last - first]).all(axis=1))  # [decided]


class _Shifted(Entropy):
    """The digits of one race of several, whose candidates are numbered on from race to race."""

    def __init__(self, entropy: Entropy, offset: int) -> None:
        self._entropy = entropy
        self._offset = offset

    def words(self, index: Indices) -> NDArray[np.uint64]:
        return self._entropy.words(index + self._offset)  # [words]


# end-proof-region: rows
