"""Many releases of the same scores at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, lcm, perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ..noises.noise import Noise
from . import race
from . import settle as short
from .advantages import ScaledScores
from .entropy import SYSTEM, Entropy, Indices
from .settle import Contenders, resolve_winners

# Many races at once, each over a short vector of scores and with digits of its own.
#
# The bounds of all races over vectors of one length form a table, with a row for each race. If the bounds of a race
# leave its winners open, the race is settled by itself, from the digits that it has drawn.

_TOGETHER = 2**16  # noisy scores in one table: half a MiB for each bound, which fits in a cache
LONGEST = 1024  # scores of a vector in a table: for longer ones a separate race, which drops most, takes as long


# proof-region: rows
def repeat_top_k(
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
    """Return the results of ``times`` independent calls of :func:`race.top_k`, an int64 array of shape (times, k)."""
    table = np.broadcast_to(values, (times, len(values)))  # [repeated]
    return _Races(scale, noise, k, sign, ordered, entropy).run_races(table, np.arange(times) * len(values))


def top_k_of_each(
    vectors: Sequence[NDArray[Any]] | NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices:
    """Return the results of a call of :func:`race.top_k` for each of n vectors, an int64 array of shape (n, k).

    Args:
        vectors: Scores of shape (n, d), or n vectors of at least k scores each, whose lengths and types may differ.
        scale: As in :func:`race.top_k`, like all arguments below.
        noise: The distribution of the noise at scale 1.
        k: The number of winners of each race.
        sign: +1 for the largest scores, -1 for the smallest.
        ordered: Best first if True; otherwise ascending indices.
        entropy: The source of digits; by default the operating system.
    """
    races = _Races(scale, noise, k, sign, ordered, entropy)
    if isinstance(vectors, np.ndarray):
        return races.run_races(vectors, np.arange(len(vectors)) * vectors.shape[1])
    alike: dict[Any, list[int]] = {}
    for place, vector in enumerate(vectors):
        alike.setdefault((len(vector), vector.dtype), []).append(place)  # [alike]
    lengths = np.array([len(vector) for vector in vectors], dtype=np.int64)
    first, winners = np.cumsum(lengths) - lengths, np.empty((len(vectors), k), dtype=np.int64)
    for places in alike.values():
        table = np.concatenate([vectors[place] for place in places]).reshape(len(places), -1)  # [table]
        winners[places] = races.run_races(table, first[places])
    return winners


@dataclass(frozen=True)
class _Races:
    """The data that several races share."""

    scale: Fraction
    noise: Noise
    k: int
    sign: int
    ordered: bool
    entropy: Entropy

    def run_races(self, table: NDArray[Any], first: Indices) -> Indices:
        """Run a race over each row of ``table``; the source of digits numbers its candidates from ``first`` on."""
        winners = np.empty((len(table), self.k), dtype=np.int64)
        together = max(_TOGETHER // table.shape[1], 1)
        for start in range(0, len(table), together):
            part = slice(start, start + together)
            with np.errstate(all="ignore"):  # [floating-point-state]
                winners[part] = self._run_together(table[part], first[part])  # [part]
        return winners if self.ordered else np.sort(winners, axis=1)  # [order]

    def _run_together(self, table: NDArray[Any], first: Indices) -> Indices:
        rows = table[:1] if table.strides[0] == 0 else table  # [same-scores]
        known = short.distances_by_row(rows, self.scale, self.sign) if rows.shape[1] <= LONGEST else None  # [bounded]
        if known is None:
            return np.array(
                [self._run_alone(*race) for race in zip(table, first.tolist(), strict=True)]
            )  # [one-by-one]
        number = np.arange(table.shape[1])
        prefix = self.entropy.draw_prefixes((first[:, None] + number).ravel()).reshape(table.shape)  # [draw]
        lower, upper = known.noisy_score_bounds(self.noise, prefix)
        best = np.argsort(-lower, axis=1)
        winners = np.array(best[:, : self.k])
        for row in np.flatnonzero(~decided_rows(lower, upper, best, self.k, self.ordered)).tolist():
            scores = ScaledScores(np.ascontiguousarray(table[row]), self.scale, self.sign)
            reference = known.best[row if len(rows) > 1 else 0, 0]
            own = Contenders(
                number, prefix[row], scores, self.noise, reference, OffsetEntropy(self.entropy, int(first[row]))
            )
            winners[row] = resolve_winners(own, lower[row], upper[row], self.k, self.ordered)  # [settle]
        return winners

    def _run_alone(self, values: NDArray[Any], first: int) -> Indices:
        entropy = OffsetEntropy(self.entropy, first)
        options: Any = {"sign": self.sign, "ordered": self.ordered, "entropy": entropy}
        return race.top_k(values, self.scale, self.noise, self.k, **options)


def decided_rows(lower: Floats, upper: Floats, order: Indices, k: int, ordered: bool) -> NDArray[np.bool_]:
    """Return a mask of the rows whose bounds decide the k best, and, if ``ordered``, their order."""
    first = 0 if ordered else k - 1
    ranked = np.take_along_axis(upper, order, axis=1)[:, first + 1 :]
    rest = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]  # [rest]
    last = min(k, lower.shape[1] - 1)
    best = np.take_along_axis(lower, order[:, first:last], axis=1)
    return np.asarray((best > rest[:, : last - first]).all(axis=1))  # [decided]


class OffsetEntropy(Entropy):
    """The digits of one race of several, with candidates numbered consecutively over all races."""

    def __init__(self, entropy: Entropy, offset: int) -> None:
        self._entropy = entropy
        self._offset = offset

    def draw_prefixes(self, index: Indices) -> NDArray[np.uint16]:
        return self._entropy.draw_prefixes(index + self._offset)  # [prefixes]

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        return self._entropy.draw_words(index + self._offset)  # [words]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.draw_auxiliary_words(n)  # [auxiliary]


# end-proof-region: rows


# Many draws of one output among few: all outputs are listed once, and race with independent noise.
#
# Joint and canonical selection draw the output with the largest noisy utility. Listing all outputs costs as much as a
# few draws without a list; after that, a draw is a race over a short vector.

_MOST = 512  # outputs: with more, sorting the noisy utilities of each draw takes longer than a draw without a list
_EACH = 2**6  # outputs: listing this many takes no longer than one draw without a list


# proof-region: listed
def draw_listed_outputs(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    times: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices | None:
    """Return ``times`` independent rankings or sets S, each with the largest u(S) / scale + noise; None if too many.

    u(S) = -max_i (x_[i] - x_{S[i]}), with x = ``sign * values``, as in :func:`joint.draw_output`.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        noise: Gumbel noise, for outputs with a probability proportional to e^(u(S) / scale).
        k: The number of winners, 1 <= k <= d.
        times: >= 1.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for rankings, S[i] the i-th index; False for sets, S[i] the i-th best member.
        entropy: The source of digits; by default the operating system.

    Returns:
        int64 array of shape (times, k), each row ascending if not ``ordered``. None if there are too many outputs, or
        if int64 cannot count their utilities in a common unit.
    """
    if not _is_worth_listing(perm if ordered else comb, len(values), k, times):
        return None
    order, best = _best_first(values, sign)
    found = list((permutations if ordered else combinations)(range(len(best)), k))  # [outputs]
    utilities = [-max(x - best[rank] for x, rank in zip(best, ranks, strict=False)) for ranks in found]  # [loss]
    chosen = _race_outputs(order, found, utilities, scale, noise, times, entropy)
    return chosen if chosen is None or ordered else np.sort(chosen, axis=1)


def draw_listed_subsets(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    gamma: Fraction,
    k: int,
    times: int,
    *,
    sign: int,
    capped: bool,
    entropy: Entropy = SYSTEM,
) -> Indices | None:
    """Return ``times`` independent k-subsets S, each with the largest u(S) / scale + noise; None if too many.

    u(S) and the other arguments are those of :func:`canonical.draw_subsets`; k < d. The rows, of shape (times, k), are
    ascending.
    """
    if not _is_worth_listing(comb, len(values), k, times):
        return None
    order, best = _best_first(values, sign)
    found = list(combinations(range(len(best)), k))  # [subsets]
    utilities = []
    for ranks in found:
        least = best[ranks[-1]]
        rival = best[next((i for i, rank in enumerate(ranks) if rank != i), k)]  # [rival]
        utilities.append(gamma * least - (1 - gamma) * (max(rival, least) if capped else rival))  # [utility]
    chosen = _race_outputs(order, found, utilities, scale, noise, times, entropy)
    return chosen if chosen is None else np.sort(chosen, axis=1)


def _is_worth_listing(number: Any, d: int, k: int, times: int) -> bool:
    """Return whether outputs are few enough for a race over a short vector, and listing them is worth its time."""
    return d <= _MOST and number(d, k) <= min(_MOST, _EACH * times)


def _best_first(values: NDArray[Any], sign: int) -> tuple[Indices, list[Fraction]]:
    """Return the indices, sorted so that the scores do not increase, and the exact scores in that order."""
    scores = [Fraction(sign * score) for score in values.tolist()]
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    return np.array(order, dtype=np.int64), [scores[i] for i in order]  # [exact-scores]


def _race_outputs(
    order: Indices,
    found: Iterable[tuple[int, ...]],
    utilities: list[Fraction],
    scale: Fraction,
    noise: Noise,
    times: int,
    entropy: Entropy,
) -> Indices | None:
    """Return the winners of races of outputs, as indices; None if int64 cannot count the utilities in a common unit."""
    unit, most = lcm(*(utility.denominator for utility in utilities)), max(utilities)
    heights = [int((utility - most) * unit) for utility in utilities]  # [heights]
    if min(heights) < -(2**63):
        return None  # [too-deep]
    races = np.array(heights, dtype=np.int64), scale * unit, noise, 1, times
    places = repeat_top_k(*races, sign=1, ordered=True, entropy=entropy)[:, 0]  # [races]
    return order[np.array(found, dtype=np.int64)[places]]  # [indices]


# end-proof-region: listed
