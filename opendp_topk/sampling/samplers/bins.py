"""The best candidates in order, and all others in bins: scores are counted in place of a sort.

Proposals need bounds on scores, which bins give that are narrow against the scale of the noise. Decisions need the
scores of the few candidates that were proposed, and who these are is looked up bin by bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Indices
from .ladder import largest_gap, limited, lowered, lowest

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
