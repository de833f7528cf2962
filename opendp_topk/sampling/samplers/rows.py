"""Many races at once, each over a short vector of scores and with digits of its own.

The bounds of all races over vectors of one length form a table, a row a race. A race whose bounds leave its winners
open is settled by itself, from the digits that it has drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floatlog import Floats
from ..noises.noise import Noise
from . import race, short
from .advantages import Scores
from .entropy import SYSTEM, Entropy, Indices
from .settle import Racers, settle

_TOGETHER = 2**16  # noisy scores in one table: half a MiB for each bound, which a cache holds
_LONGEST = 1024  # scores of a vector in a table: of longer ones a race by itself, which drops most, takes as long


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
    table = np.broadcast_to(values, (times, len(values)))  # [repeated]
    return _Races(scale, noise, k, sign, ordered, entropy).over(table, np.arange(times) * len(values))


def each(
    vectors: Sequence[NDArray[Any]] | NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices:
    """The results of a call of :func:`race.top_k` for each of n vectors, an int64 array of shape (n, k).

    Args:
        vectors: Scores of shape (n, d), or n vectors of at least k scores each, whose lengths and types may differ.
        scale: As in :func:`race.top_k`, like all that follows.
        noise: The distribution of the noise at scale 1.
        k: The number of winners of each race.
        sign: +1 for the largest scores, -1 for the smallest.
        ordered: Best first if True; otherwise ascending indices.
        entropy: The source of digits.
    """
    races = _Races(scale, noise, k, sign, ordered, entropy)
    if isinstance(vectors, np.ndarray):
        return races.over(vectors, np.arange(len(vectors)) * vectors.shape[1])
    alike: dict[Any, list[int]] = {}
    for place, vector in enumerate(vectors):
        alike.setdefault((len(vector), vector.dtype), []).append(place)  # [alike]
    lengths = np.array([len(vector) for vector in vectors], dtype=np.int64)
    first, winners = np.cumsum(lengths) - lengths, np.empty((len(vectors), k), dtype=np.int64)
    for places in alike.values():
        table = np.concatenate([vectors[place] for place in places]).reshape(len(places), -1)  # [table]
        winners[places] = races.over(table, first[places])
    return winners


@dataclass(frozen=True)
class _Races:
    """What several races have in common."""

    scale: Fraction
    noise: Noise
    k: int
    sign: int
    ordered: bool
    entropy: Entropy

    def over(self, table: NDArray[Any], first: Indices) -> Indices:
        """A race over each row of ``table``; the source of digits numbers its candidates from ``first`` on."""
        winners = np.empty((len(table), self.k), dtype=np.int64)
        together = max(_TOGETHER // table.shape[1], 1)
        for start in range(0, len(table), together):
            part = slice(start, start + together)
            with np.errstate(all="ignore"):  # [floating-point-state]
                winners[part] = self._together(table[part], first[part])  # [part]
        return winners if self.ordered else np.sort(winners, axis=1)  # [order]

    def _together(self, table: NDArray[Any], first: Indices) -> Indices:
        rows = table[:1] if table.strides[0] == 0 else table  # [same-scores]
        known = short.distances_by_row(rows, self.scale, self.sign) if rows.shape[1] <= _LONGEST else None  # [bounded]
        if known is None:
            return np.array([self._alone(*race) for race in zip(table, first.tolist(), strict=True)])  # [one-by-one]
        number = np.arange(table.shape[1])
        prefix = self.entropy.prefixes((first[:, None] + number).ravel()).reshape(table.shape)  # [draw]
        lower, upper = short.bounds(known.distance, known.factor, short.padded(self.noise)[prefix])
        best = np.argsort(-lower, axis=1)
        winners = np.array(best[:, : self.k])
        for row in np.flatnonzero(~decided(lower, upper, best, self.k, self.ordered)).tolist():
            scores = Scores(np.ascontiguousarray(table[row]), self.scale, self.sign)
            reference = known.best[row if len(rows) > 1 else 0, 0]
            own = Racers(number, prefix[row], scores, self.noise, reference, Shifted(self.entropy, int(first[row])))
            winners[row] = settle(own, lower[row], upper[row], self.k, self.ordered)  # [settle]
        return winners

    def _alone(self, values: NDArray[Any], first: int) -> Indices:
        entropy = Shifted(self.entropy, first)
        options: Any = {"sign": self.sign, "ordered": self.ordered, "entropy": entropy}
        return race.top_k(values, self.scale, self.noise, self.k, **options)


def decided(lower: Floats, upper: Floats, order: Indices, k: int, ordered: bool) -> NDArray[np.bool_]:
    """In which rows bounds leave nothing open of the k best, and of their order."""
    first = 0 if ordered else k - 1
    ranked = np.take_along_axis(upper, order, axis=1)[:, first + 1 :]
    rest = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]  # [rest]
    last = min(k, lower.shape[1] - 1)
    best = np.take_along_axis(lower, order[:, first:last], axis=1)
    return np.asarray((best > rest[:, : last - first]).all(axis=1))  # [decided]


class Shifted(Entropy):
    """The digits of one race of several, whose candidates are numbered on from race to race."""

    def __init__(self, entropy: Entropy, offset: int) -> None:
        self._entropy = entropy
        self._offset = offset

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        return self._entropy.prefixes(index + self._offset)  # [prefixes]

    def words(self, index: Indices) -> NDArray[np.uint64]:
        return self._entropy.words(index + self._offset)  # [words]

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.auxiliary(n)  # [auxiliary]


# end-proof-region: rows
