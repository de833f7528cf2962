"""Scores in order, without the order of the candidates: ranks, differences between them, and who has a rank.

A sort of the values alone takes a fraction of the time of a stable sort of the candidates. Who has a rank is looked up
for the few that are released.
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

_FEW = 2**11  # so few candidates are sorted themselves
_DENSE = 4  # where one rank in so many is asked for, a sort of the candidates takes less memory than looking up
_SINGLY = 3  # so few values are looked for in one pass each
_HEAD = 64  # ranks in the best 64th are looked for among those that reach the worst of them
_CHUNK = 2**15  # 256 KiB of scores at a time, which stay in a cache while they are hashed
_HASH_BITS = 16  # a table of 65,536 entries: it stays in a cache, too
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # an odd number, whose products spread over the leading digits
_WORD = 64  # binary digits of a score
_MOST = 2**64 - 1  # the largest difference of 64-bit integers


# proof-region: ladder
@dataclass(frozen=True, eq=False)
class Ladder:
    """``scores`` in the order of the candidates, larger being better, and ``ascending``.

    ``who`` has the indices of the candidates who are on the ladder, in ascending order, where they are not all of
    the ``size`` there are; the others have scores below ``cut``, and these have not.
    """

    scores: NDArray[Any]
    ascending: NDArray[Any]
    who: Indices | None = None
    size: int = 0
    cut: Any = None

    @property
    def everybody(self) -> int:
        """How many candidates there are, on the ladder or not."""
        return len(self.scores) if self.who is None else self.size

    @property
    def best(self) -> NDArray[Any]:
        """The scores from best to worst: the score of rank i, counted from 0."""
        return self.ascending[::-1]

    def limit(self, level: Fraction) -> float | int:
        """A limit >= ``level`` for differences of scores: the next float64, or the largest integer at or below it."""
        return limited(self.scores.dtype, level)

    def ceilings(self, k: int, limit: float | int) -> Indices:
        """For each of the k best ranks the number of scores that are at most ``limit`` >= 0 worse."""
        least = np.searchsorted(self.ascending, lowered(self.best[:k], self.ascending[0], limit))  # [reach]
        return np.asarray(len(self.ascending) - least)

    @property
    def first(self) -> NDArray[Any]:
        """The best scores, in descending order: all that are on the ladder."""
        return self.best

    def worst(self, ranks: Indices) -> NDArray[Any]:
        """The worst score, shape (1,), of those who have these ascending ranks."""
        return self.at(ranks[-1:])  # [worst]

    def at(self, ranks: Indices) -> NDArray[Any]:
        """The scores of these ranks, counted from 0."""
        return self.best[ranks]  # [score]

    def at_most(self, ranks: Indices) -> NDArray[Any]:
        """Upper bounds on the scores of ranks, in their order: the scores, or the cut for those not on the ladder."""
        if self.who is None:
            return self.best[ranks]
        return np.append(self.best, self.cut)[np.minimum(ranks, len(self.scores))]  # [bound]

    def loss(self, ranks: Indices, ordered: bool) -> Fraction | int:
        """The largest difference by which the i-th best of ``ranks`` is worse than rank i; >= 0.

        The i-th of them, counted from 0, is the i-th best one if they are not ``ordered``: they ascend.
        """
        return largest_gap(self.best[: len(ranks)], self.best[ranks])  # [loss]

    def candidates(self, ranks: Indices) -> Indices:
        """Who has these distinct ranks; among equal scores the lowest index has the first rank."""
        found = self._places(ranks)
        return found if self.who is None else self.who[found]  # [who]

    def _places(self, ranks: Indices) -> Indices:
        """The same for those who are on the ladder alone, counted in their order."""
        d = len(self.scores)
        if d <= max(_FEW, _DENSE * len(ranks)) or self.scores.dtype == object:
            return d - 1 - np.argsort(self.scores[::-1], kind="stable")[::-1][ranks]  # [sorted]
        values, which = np.unique(self.best[ranks], return_inverse=True)
        place = ranks - (d - np.searchsorted(self.ascending, values, side="right"))[which]  # [place-among-equals]
        if len(values) <= _SINGLY:
            return self._each(values, which, place)  # [one-by-one]
        found = self._holders(values, int(np.max(ranks)))
        label = np.searchsorted(values, self.scores[found])
        known = label < len(values)
        known[known] = values[label[known]] == self.scores[found[known]]  # [exactly-these]
        found, label = found[known], label[known].astype(np.uint16 if len(values) < 2**16 else np.int64)
        grouped = found[np.argsort(label, kind="stable")]  # [grouped]
        counts = np.bincount(label, minlength=len(values))
        return np.asarray(grouped[(np.cumsum(counts) - counts)[which] + place])  # [look-up]

    def _each(self, values: NDArray[Any], which: Indices, place: Indices) -> Indices:
        """The ``place``-th candidate, counted from 0, that has a value, for a few values."""
        found = np.zeros(len(place), dtype=np.int64)
        for i, value in enumerate(values):
            at, held = which == i, self.scores == value
            if 2 * np.count_nonzero(held) <= len(held):
                found[at] = np.flatnonzero(held)[place[at]]  # [each]
            else:
                found[at] = _past(np.flatnonzero(~held), place[at])  # [all-but-others]
        return found

    def _holders(self, values: NDArray[Any], worst: int) -> Indices:
        """In ascending order candidates among whom are all that have one of ``values``."""
        if _HEAD * worst < len(self.scores):
            return np.flatnonzero(self.scores >= values[0])  # [head]
        table = np.zeros(2**_HASH_BITS, dtype=np.bool_)
        table[_hashed(values)] = True  # [table]
        table[_hashed(-values[values == 0])] = True  # [both-zeros]
        starts = range(0, len(self.scores), _CHUNK)
        return np.concatenate([i + np.flatnonzero(table[_hashed(self.scores[i : i + _CHUNK])]) for i in starts])


def ladder(values: NDArray[Any], sign: int) -> Ladder:
    """Canonical scores on a ladder: for ``sign`` = -1 they are mirrored, so that the smallest become the largest."""
    scores = mirrored(values, sign)
    return Ladder(scores, ascending(scores))  # [sort]


def mirrored(values: NDArray[Any], sign: int) -> NDArray[Any]:
    """Larger scores are better: ``values``, or for ``sign`` = -1 a mirror image of them."""
    scores = np.ascontiguousarray(values)
    if sign < 0:
        scores = -scores if scores.dtype == np.float64 else ~scores  # [mirror]
    return scores


def ascending(scores: NDArray[Any]) -> NDArray[Any]:
    """The scores in ascending order.

    A sort of equal numbers takes less time than one in which a single number is greater. So there always is one.
    """
    if scores.dtype == object:
        return np.sort(scores)
    kind = scores.dtype.type
    longer = np.append(scores, kind(np.inf if scores.dtype == np.float64 else np.iinfo(kind).max))  # [one-greater]
    return np.sort(longer)[:-1]


def lowest(kind: np.dtype[Any]) -> Any:
    """A number of this type, 64-bit integers or floats, that no score is below."""
    return kind.type((np.finfo if kind == np.float64 else np.iinfo)(kind).min)


def limited(kind: np.dtype[Any], level: Fraction) -> float | int:
    """A limit >= ``level`` for differences of such scores: the next float64, or the largest integer at or below it."""
    return round_up(level) if kind == np.float64 else floor(level)  # [limit]


def largest_gap(above: NDArray[Any], below: NDArray[Any]) -> Fraction | int:
    """The largest difference of pairs of scores, of which one at least is not negative."""
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


def _past(others: Indices, place: Indices) -> Indices:
    """The ``place``-th integers, counted from 0, that are not among the ascending ``others``."""
    return np.asarray(place + np.searchsorted(others - np.arange(len(others)), place, side="right"))  # [past]


def lowered(scores: NDArray[Any], lowest: Any, limit: float | int) -> NDArray[Any]:
    """The least values of their type that are at most ``limit`` below ``scores``; 64-bit integers end at ``lowest``."""
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


def _hashed(values: NDArray[Any]) -> Indices:
    return ((values.view(np.uint64) * _MULTIPLIER) >> np.uint64(_WORD - _HASH_BITS)).view(np.int64)  # [hash]


# end-proof-region: ladder
