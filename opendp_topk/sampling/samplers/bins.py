"""The highest scores of a long vector, found by bins: only those of which a release may ask are sorted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Indices
from .ladder import Ladder, ascending, ladder, largest_gap, limited, lowered, lowest, mirrored

# The best candidates in order, and all others in bins: scores are counted in place of a sort.
#
# Proposals need bounds on scores, which bins give that are narrow against the scale of the noise. Decisions need the
# scores of the few candidates that were proposed, and who these are is looked up bin by bin.

_MOST = 2**12  # so many bins are counted within a cache; where more would be needed a sort is as quick
_LONGEST = 900  # floats: widths of 2^-900 to 2^900, of which no multiple is subnormal or infinite
_SHIFTS = 40  # integers: widths up to 2^40, of which no multiple has more than 64 digits
_NARROW = 4  # a bin is at most a quarter of the scale wide, so that few proposals more are made in vain
_CHUNK = 2**15  # scores at a time: 256 KiB, which stay in a cache while they are put into bins


# proof-region: bins
@dataclass(frozen=True, eq=False)
class Edges:
    """Bins of a width of 2^power below ``origin``, from number 1 on; the one after number ``last`` holds all below."""

    origin: NDArray[Any]
    power: int
    last: int

    def labels(self, scores: NDArray[Any]) -> NDArray[np.uint16]:
        """The bins of scores that are not better than the origin: a better score has no larger number.

        To better ones they give some number of a bin.
        """
        if scores.dtype == np.float64:
            with np.errstate(over="ignore"):
                places = self.origin - scores
                places *= 2.0**-self.power
            found = np.clip(places, 0, self.last, out=places).astype(np.uint16)  # [float-bin]
        else:
            steps = self.origin.view(np.uint64) - scores.view(np.uint64)
            if self.power:
                steps >>= np.uint64(self.power)
            found = np.minimum(steps, np.uint64(self.last), out=steps).astype(np.uint16)  # [integer-bin]
        return np.asarray(found + np.uint16(1))

    def tops(self, lowest: Any) -> NDArray[Any]:
        """For each bin, in descending order, a score that none in it exceeds who is not better than the origin."""
        steps = np.arange(self.last + 1)
        if self.origin.dtype == np.float64:
            with np.errstate(over="ignore"):
                below = self.origin - np.nextafter(steps * 2.0**self.power, 0)
            tops = np.minimum(np.nextafter(below, np.inf), self.origin)  # [float-top]
        else:
            room = self.origin.view(np.uint64) - lowest.view(np.uint64)
            down = np.minimum(steps.astype(np.uint64) << np.uint64(self.power), room)
            tops = (self.origin.view(np.uint64) - down).view(self.origin.dtype)  # [integer-top]
        return np.append(self.origin, tops)


@dataclass(frozen=True, eq=False)
class Bins:
    """All candidates in an order in which scores of better bins come first.

    First come those of ``best``, who are in bin 0, from best to worst; no other one is better than the last of them.
    The others follow by their bin, and in a bin by their index: ``counts[i, j]`` of
    bin j are in the first i + 1 chunks.
    """

    scores: NDArray[Any]
    best: Indices
    edges: Edges
    labels: NDArray[np.uint16]
    counts: Indices

    @property
    def everybody(self) -> int:
        """How many candidates there are."""
        return len(self.scores)

    @cached_property
    def first(self) -> NDArray[Any]:
        """The best scores, in descending order."""
        return np.asarray(self.scores[self.best])

    @cached_property
    def _ends(self) -> Indices:
        return np.cumsum(self.counts[-1])  # [ends]

    @cached_property
    def _tops(self) -> NDArray[Any]:
        return self.edges.tops(lowest(self.scores.dtype))

    def worst(self, ranks: Indices) -> NDArray[Any]:
        """The worst score, shape (1,), of those at these ascending places."""
        bins = self._bins(ranks)
        return np.asarray(self.at(ranks[bins == bins[-1]]).min(keepdims=True))  # [worst]

    def at(self, ranks: Indices) -> NDArray[Any]:
        """The scores of those who have these places in the order, counted from 0."""
        return np.asarray(self.scores[self.candidates(ranks)])  # [scores]

    def at_most(self, ranks: Indices) -> NDArray[Any]:
        """Upper bounds, themselves in descending order, on the scores of these places and of all after them."""
        exact = self.first[np.minimum(ranks, len(self.best) - 1)]
        return np.asarray(np.where(ranks < len(self.best), exact, self._tops[self._bins(ranks)]))  # [top]

    def limit(self, level: Fraction) -> float | int:
        """A limit >= ``level`` for differences of scores, as for a ladder."""
        return limited(self.scores.dtype, level)

    def ceilings(self, k: int, limit: float | int) -> Indices:
        """For each of the k best a number of first places, among which are all who are at most ``limit`` >= 0 worse."""
        least = lowered(self.first[:k], lowest(self.scores.dtype), limit)
        exact = len(self.best) - np.searchsorted(self.first[::-1], least)
        return np.where(least > self.first[-1], exact, self._ends[self.edges.labels(least)])  # [reach]

    def loss(self, ranks: Indices, ordered: bool) -> Fraction | int:
        """The largest difference by which the i-th of these is worse than rank i; >= 0.

        The i-th of them, counted from 0, is the i-th best one if they are not ``ordered``.
        """
        scores = self.at(ranks)
        return largest_gap(self.first[: len(ranks)], scores if ordered else np.sort(scores)[::-1])  # [loss]

    def candidates(self, ranks: Indices) -> Indices:
        """Who has these places in the order."""
        bins = self._bins(ranks)
        places = ranks - np.append(0, self._ends)[bins]  # [place]
        found = [self._member(j, place) for j, place in zip(bins.tolist(), places.tolist(), strict=True)]
        return np.array(found, dtype=np.int64)

    def _bins(self, ranks: Indices) -> Indices:
        return np.searchsorted(self._ends, ranks, side="right")  # [bin]

    def _member(self, j: int, place: int) -> int:
        """The candidate at a place, counted from 0, of bin j."""
        if j == 0:
            return int(self.best[place])  # [best]
        chunk = int(np.searchsorted(self.counts[:, j], place, side="right"))
        place -= int(self.counts[chunk - 1, j]) if chunk else 0
        labels = self.labels[chunk * _CHUNK : (chunk + 1) * _CHUNK]
        return chunk * _CHUNK + int(np.flatnonzero(labels == j)[place])  # [of-bin]


def bins(scores: NDArray[Any], best: Indices, depth: Fraction, scale: Fraction) -> Bins | None:
    """Everybody in bins that are narrow against ``scale``, down to ``depth`` below the best; None if these are many.

    Args:
        scores: int64, uint64, or finite float64, larger being better.
        best: The best candidates, from best to worst, and the last of them as good as any other one.
        depth: >= 0.
        scale: > 0.
    """
    edges = _edges(scores[best[-1:]], depth, scale)
    if edges is None:
        return None
    labels, chunks = np.empty(len(scores), dtype=np.uint16), range(0, len(scores), _CHUNK)
    for start in chunks:
        labels[start : start + _CHUNK] = edges.labels(scores[start : start + _CHUNK])  # [labels]
    labels[best] = 0  # [bin-of-best]
    counts = np.empty((len(chunks), edges.last + 2), dtype=np.int64)
    for i, start in enumerate(chunks):
        counts[i] = np.bincount(labels[start : start + _CHUNK], minlength=edges.last + 2)  # [count]
    counts.cumsum(axis=0, out=counts)  # [counts]
    return Bins(scores, best, edges, labels, counts)


def _edges(origin: NDArray[Any], depth: Fraction, scale: Fraction) -> Edges | None:
    width = scale / _NARROW
    power = width.numerator.bit_length() - width.denominator.bit_length()
    power -= Fraction(2) ** power > width
    if origin.dtype != np.float64:
        power = max(power, 0)
    longest = _LONGEST if origin.dtype == np.float64 else _SHIFTS
    last = floor(depth / Fraction(2) ** power) + 1
    return Edges(origin, power, last) if abs(power) <= longest and last < _MOST else None  # [edges]


# end-proof-region: bins


# A ladder of the best candidates alone, where the others hardly ever matter: a small part is sorted in place of all.
#
# A candidate who is far below the others is chosen so seldom that its place among those like it need not be known
# before. Whoever asks for one who is not on such a ladder gets the ladder of all.

_MANY = 2**15  # fewer candidates are sorted faster than they are looked through
_EACH = 64  # best of so many candidates each: some of the best of all are among them, whatever their order
_LARGEST = 4  # a head of more than this part of all candidates saves less than it takes to find
_SAMPLE = 2**10  # about so many candidates tell whether the head is that large

_LONG = 2**18  # so many candidates are put into bins in less time than they are sorted
_AMONG = 2**14  # and those that are released are found in less time, too, if they are one in so many


# proof-region: head
def head(values: NDArray[Any], sign: int, rank: int, depth: Fraction | None, scale: Fraction) -> Ladder | Bins:
    """The ladder of all candidates at most ``depth`` worse than the ``rank``-th best one, and perhaps of others.

    Those who are not on it, if any, are worse than all who are: their scores are below its ``cut``. It lies more than
    ``depth`` below the ``rank``-th best score, or as much up to rounding, so that it says how little they matter. Where
    nearly everybody is near, and there are many, they are in bins that are narrow against ``scale`` instead.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        rank: Counted from 1, at most d.
        depth: >= 0, or None where everybody matters.
        scale: > 0.
    """
    d = len(values)
    if depth is None or d < max(_MANY, _EACH * rank) or values.dtype == object:
        return ladder(values, sign)
    scores = mirrored(values, sign)
    limit = limited(scores.dtype, depth) + (scores.dtype != np.float64)  # [one-more]
    columns = scores[: len(scores) // _EACH * _EACH].reshape(_EACH, -1).max(axis=0)
    known = ascending(columns)[[len(columns) - rank]]  # [no-better]
    cut = lowered(known, lowest(scores.dtype), limit)[0]  # [cut]
    sample = scores[:: max(d // _SAMPLE, 1)]
    if np.count_nonzero(sample >= cut) * _LARGEST > len(sample):
        few = d >= max(_LONG, _AMONG * rank)
        found = bins(scores, _best(scores, columns, rank, known[0]), depth, scale) if few else None
        return found or ladder(scores, 1)  # [everybody]
    who = np.flatnonzero(scores >= cut)  # [who]
    chosen = scores[who]
    return Ladder(chosen, ascending(chosen), who, d, cut)  # [sort-the-head]


def _best(scores: NDArray[Any], columns: NDArray[Any], rank: int, known: Any) -> Indices:
    """From best to worst all candidates above a score, and of the first columns whose best has this score one each."""
    wide = len(columns)
    rows = wide * np.arange(_EACH)[:, np.newaxis]
    above, level = rows + np.flatnonzero(columns > known), rows + np.flatnonzero(columns == known)[:rank]
    who = np.concatenate([above.ravel(), np.arange(_EACH * wide, len(scores))])
    who = np.append(who[scores[who] > known], np.max(np.where(scores[level] == known, level, 0), axis=0))  # [best]
    return who[np.argsort(scores[who], kind="stable")[::-1]]


def reaching(rungs: Ladder | Bins, rank: int, values: NDArray[Any], sign: int) -> Ladder | Bins:
    """The same, if it has this rank, counted from 0, and the ladder of all candidates otherwise."""
    return rungs if rank < len(rungs.scores) else ladder(values, sign)  # [reaching]


# end-proof-region: head
