"""Scores in order, without the order of the candidates: ranks, differences between them, and candidates by rank.

Sorting only the values takes a fraction of the time of a stable sort of the candidates. Candidates are looked up by
rank for the few that are released.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.arithmetic import round_up
from .entropy import Indices

_FEW = 2**11  # up to this many candidates are sorted directly
_DENSE = 4  # if one rank in this many is requested, sorting the candidates takes less memory than looking up
_SINGLY = 3  # up to this many values are searched in one pass each
_HEAD = 64  # ranks in the best 64th are searched among the scores that reach the worst of them
_CHUNK = 2**15  # 256 KiB of scores at a time, which stay in a cache while they are hashed
_HASH_BITS = 16  # a table of 65,536 entries, which also stays in a cache
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # an odd number, whose products spread over the leading digits
_WORD = 64  # binary digits of a score
_MOST = 2**64 - 1  # the largest difference of 64-bit integers


# proof-region: ladder
@dataclass(frozen=True, eq=False)
class SortedScores:
    """``scores`` in the order of the candidates, larger being better, and ``ascending``.

    If not all of the ``size`` candidates are on the ladder, ``who`` has the indices of those that are, in ascending
    order. The others have scores below ``cut``, and those on the ladder do not.
    """

    scores: NDArray[Any]
    ascending: NDArray[Any]
    who: Indices | None = None
    size: int = 0
    cut: Any = None

    @property
    def candidate_count(self) -> int:
        """The number of candidates, on the ladder or not."""
        return len(self.scores) if self.who is None else self.size

    @property
    def descending_scores(self) -> NDArray[Any]:
        """The scores from best to worst: the score of rank i, counted from 0."""
        return self.ascending[::-1]

    def difference_limit(self, level: Fraction) -> float | int:
        """Return a limit for differences of scores: the next float64 >= ``level``, or for integers its floor."""
        return limit_for_dtype(self.scores.dtype, level)

    def rank_ceilings(self, k: int, limit: float | int) -> Indices:
        """Return for each of the k best ranks the number of scores that are at most ``limit`` >= 0 worse."""
        least = np.searchsorted(
            self.ascending, lower_by_limit(self.descending_scores[:k], self.ascending[0], limit)
        )  # [reach]
        return np.asarray(len(self.ascending) - least)

    @property
    def best_scores(self) -> NDArray[Any]:
        """The best scores, in descending order: all that are on the ladder."""
        return self.descending_scores

    def worst_score(self, ranks: Indices) -> NDArray[Any]:
        """Return the worst score, shape (1,), at these ascending ranks."""
        return self.scores_at_ranks(ranks[-1:])  # [worst]

    def scores_at_ranks(self, ranks: Indices) -> NDArray[Any]:
        """Return the scores of these ranks, counted from 0."""
        return self.descending_scores[ranks]  # [score]

    def score_upper_bounds(self, ranks: Indices) -> NDArray[Any]:
        """Return upper bounds on the scores of ranks, in order: the scores, or the cut for ranks not on the ladder."""
        if self.who is None:
            return self.descending_scores[ranks]
        return np.append(self.descending_scores, self.cut)[np.minimum(ranks, len(self.scores))]  # [bound]

    def output_loss(self, ranks: Indices, ordered: bool) -> Fraction | int:
        """Return the largest difference by which the i-th of ``ranks`` is worse than rank i; it is >= 0.

        Both are counted from 0. If not ``ordered``, ``ranks`` ascend, so the i-th of them is the i-th best.
        """
        return largest_gap(self.descending_scores[: len(ranks)], self.descending_scores[ranks])  # [loss]

    def candidates_at_ranks(self, ranks: Indices) -> Indices:
        """Return the candidates at these distinct ranks; among equal scores the lowest index has the first rank."""
        found = self._places_of_ranks(ranks)
        return found if self.who is None else self.who[found]  # [who]

    def _places_of_ranks(self, ranks: Indices) -> Indices:
        """Return the same for the candidates on the ladder only, counted in their order."""
        d = len(self.scores)
        if d <= max(_FEW, _DENSE * len(ranks)) or self.scores.dtype == object:
            return d - 1 - np.argsort(self.scores[::-1], kind="stable")[::-1][ranks]  # [sorted]
        values, which = np.unique(self.descending_scores[ranks], return_inverse=True)
        place = ranks - (d - np.searchsorted(self.ascending, values, side="right"))[which]  # [place-among-equals]
        if len(values) <= _SINGLY:
            return self._find_each_value(values, which, place)  # [one-by-one]
        found = self._candidates_with_values(values, int(np.max(ranks)))
        label = np.searchsorted(values, self.scores[found])
        known = label < len(values)
        known[known] = values[label[known]] == self.scores[found[known]]  # [exactly-these]
        found, label = found[known], label[known].astype(np.uint16 if len(values) < 2**16 else np.int64)
        grouped = found[np.argsort(label, kind="stable")]  # [grouped]
        counts = np.bincount(label, minlength=len(values))
        return np.asarray(grouped[(np.cumsum(counts) - counts)[which] + place])  # [look-up]

    def _find_each_value(self, values: NDArray[Any], which: Indices, place: Indices) -> Indices:
        """Return the ``place``-th candidate, counted from 0, that has a value, for a few values."""
        found = np.zeros(len(place), dtype=np.int64)
        for i, value in enumerate(values):
            at, held = which == i, self.scores == value
            if 2 * np.count_nonzero(held) <= len(held):
                found[at] = np.flatnonzero(held)[place[at]]  # [each]
            else:
                found[at] = _integers_outside(np.flatnonzero(~held), place[at])  # [all-but-others]
        return found

    def _candidates_with_values(self, values: NDArray[Any], worst: int) -> Indices:
        """Return candidates, in ascending order, that include all with one of ``values``."""
        if _HEAD * worst < len(self.scores):
            return np.flatnonzero(self.scores >= values[0])  # [head]
        table = np.zeros(2**_HASH_BITS, dtype=np.bool_)
        table[_hash_scores(values)] = True  # [table]
        table[_hash_scores(-values[values == 0])] = True  # [both-zeros]
        starts = range(0, len(self.scores), _CHUNK)
        return np.concatenate([i + np.flatnonzero(table[_hash_scores(self.scores[i : i + _CHUNK])]) for i in starts])


def sort_scores(values: NDArray[Any], sign: int) -> SortedScores:
    """Return a ladder of canonical scores; if ``sign`` is -1 they are mirrored, so the smallest become the largest."""
    scores = orient_scores(values, sign)
    return SortedScores(scores, sort_ascending(scores))  # [sort]


def orient_scores(values: NDArray[Any], sign: int) -> NDArray[Any]:
    """Return scores of which larger ones are better: ``values``, or a mirror image of them if ``sign`` is -1."""
    scores = np.ascontiguousarray(values)
    if sign < 0:
        scores = -scores if scores.dtype == np.float64 else ~scores  # [mirror]
    return scores


def sort_ascending(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the scores in ascending order.

    Sorting equal numbers takes less time than if a single one is greater, so one greater number is always added.
    """
    if scores.dtype == object:
        return np.sort(scores)
    kind = scores.dtype.type
    longer = np.append(scores, kind(np.inf if scores.dtype == np.float64 else np.iinfo(kind).max))  # [one-greater]
    return np.sort(longer)[:-1]


def lowest_of_dtype(kind: np.dtype[Any]) -> Any:
    """Return a number of this type, 64-bit integers or floats, that is not above any score."""
    return kind.type((np.finfo if kind == np.float64 else np.iinfo)(kind).min)


def limit_for_dtype(kind: np.dtype[Any], level: Fraction) -> float | int:
    """Return a limit for differences of such scores: the next float64 >= ``level``, or for integers its floor."""
    return round_up(level) if kind == np.float64 else floor(level)  # [limit]


def largest_gap(above: NDArray[Any], below: NDArray[Any]) -> Fraction | int:
    """Return the largest difference of pairs of scores, at least one of which is not negative."""
    if above.dtype == np.float64:
        with np.errstate(over="ignore"):
            rounded = above - below
        top = rounded == rounded.max()  # [top]
        pairs = set(zip(above[top].tolist(), below[top].tolist(), strict=True))
        return max(Fraction(a) - Fraction(b) for a, b in pairs)  # [exact-gap]
    if above.dtype == object:
        return int(np.max(above - below))
    positive = above > below
    return int(np.max(np.where(positive, above.view(np.uint64) - below.view(np.uint64), 0)))  # [modular-gap]


def _integers_outside(others: Indices, place: Indices) -> Indices:
    """Return the ``place``-th integers, counted from 0, that are not among the ascending ``others``."""
    return np.asarray(place + np.searchsorted(others - np.arange(len(others)), place, side="right"))  # [past]


def lower_by_limit(scores: NDArray[Any], lowest: Any, limit: float | int) -> NDArray[Any]:
    """Return the least values of their type at most ``limit`` below ``scores``; 64-bit integers end at ``lowest``."""
    if scores.dtype == object:
        return scores - limit
    if scores.dtype == np.float64:
        with np.errstate(all="ignore"):
            cut = scores - limit
            moved = cut - scores
            missing = (scores - (cut - moved)) - (limit + moved)  # [two-sum]
        return np.where(missing > 0, np.nextafter(cut, np.inf), cut)  # [float-cut]
    room = scores.view(np.uint64) - lowest.view(np.uint64)
    return np.asarray(scores.view(np.uint64) - np.minimum(room, np.uint64(min(limit, _MOST)))).view(scores.dtype)


def _hash_scores(values: NDArray[Any]) -> Indices:
    return ((values.view(np.uint64) * _MULTIPLIER) >> np.uint64(_WORD - _HASH_BITS)).view(np.int64)  # [hash]


# end-proof-region: ladder
