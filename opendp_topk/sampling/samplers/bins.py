"""The highest scores of a long vector, found by bins: only the scores that a release may need are sorted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Indices
from .ladder import (
    SortedScores,
    largest_gap,
    limit_for_dtype,
    lower_by_limit,
    lowest_of_dtype,
    orient_scores,
    sort_ascending,
    sort_scores,
)

# The best candidates in order, and all others in bins: counting scores replaces a sort.
#
# Proposals need bounds on scores; bins that are narrow against the scale of the noise provide them. Decisions need the
# exact scores of the few proposed candidates, which are looked up bin by bin.

_MOST = 2**12  # the counts of this many bins fit in a cache; if more are needed, a sort is as quick
_LONGEST = 900  # floats: widths of 2^-900 to 2^900, whose multiples are neither subnormal nor infinite
_SHIFTS = 40  # integers: widths up to 2^40, whose multiples have at most 64 digits
_NARROW = 4  # a bin is at most a quarter of the scale wide, so few more proposals are rejected
_CHUNK = 2**15  # scores at a time: 256 KiB, which stay in a cache while they are put into bins


# proof-region: bins
@dataclass(frozen=True, eq=False)
class BinEdges:
    """Bins of width 2^power below ``origin``, numbered from 1; the one after number ``last`` has all lower scores."""

    origin: NDArray[Any]
    power: int
    last: int

    def bin_labels(self, scores: NDArray[Any]) -> NDArray[np.uint16]:
        """Return the bins of scores that are not better than the origin: a better score has no larger number.

        A score better than the origin gets an arbitrary bin number.
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

    def bin_upper_bounds(self, lowest: Any) -> NDArray[Any]:
        """Return for each bin, in descending order, an upper bound on its scores that are not above the origin."""
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
class BinnedScores:
    """All candidates, ordered so that scores of better bins come first.

    The candidates ``best`` come first, from best to worst. They are bin 0, and no other candidate is better than the
    last of them. The others are sorted by bin, and within a bin by index: ``counts[i, j]`` candidates of bin j are in
    the first i + 1 chunks.
    """

    scores: NDArray[Any]
    best: Indices
    edges: BinEdges
    labels: NDArray[np.uint16]
    counts: Indices

    @property
    def candidate_count(self) -> int:
        """The number of candidates."""
        return len(self.scores)

    @cached_property
    def best_scores(self) -> NDArray[Any]:
        """The best scores, in descending order."""
        return np.asarray(self.scores[self.best])

    @cached_property
    def _bin_ends(self) -> Indices:
        return np.cumsum(self.counts[-1])  # [ends]

    @cached_property
    def _bin_tops(self) -> NDArray[Any]:
        return self.edges.bin_upper_bounds(lowest_of_dtype(self.scores.dtype))

    def worst_score(self, ranks: Indices) -> NDArray[Any]:
        """Return the worst score, shape (1,), at these ascending places."""
        bins = self._bins_of_ranks(ranks)
        return np.asarray(self.scores_at_ranks(ranks[bins == bins[-1]]).min(keepdims=True))  # [worst]

    def scores_at_ranks(self, ranks: Indices) -> NDArray[Any]:
        """Return the scores at these places in the order, counted from 0."""
        return np.asarray(self.scores[self.candidates_at_ranks(ranks)])  # [scores]

    def score_upper_bounds(self, ranks: Indices) -> NDArray[Any]:
        """Return upper bounds, in descending order, on the scores at these places and at all later ones."""
        exact = self.best_scores[np.minimum(ranks, len(self.best) - 1)]
        return np.asarray(np.where(ranks < len(self.best), exact, self._bin_tops[self._bins_of_ranks(ranks)]))  # [top]

    def difference_limit(self, level: Fraction) -> float | int:
        """Return a limit for differences of scores, as :meth:`SortedScores.difference_limit` does."""
        return limit_for_dtype(self.scores.dtype, level)

    def rank_ceilings(self, k: int, limit: float | int) -> Indices:
        """Return for each of the k best a number n: the first n places include all at most ``limit`` >= 0 worse."""
        least = lower_by_limit(self.best_scores[:k], lowest_of_dtype(self.scores.dtype), limit)
        exact = len(self.best) - np.searchsorted(self.best_scores[::-1], least)
        return np.where(least > self.best_scores[-1], exact, self._bin_ends[self.edges.bin_labels(least)])  # [reach]

    def output_loss(self, ranks: Indices, ordered: bool) -> Fraction | int:
        """Return the largest difference by which the i-th of ``ranks`` is worse than the i-th best score; it is >= 0.

        Both are counted from 0. If not ``ordered``, the i-th of ``ranks`` is the i-th best of them.
        """
        scores = self.scores_at_ranks(ranks)
        return largest_gap(self.best_scores[: len(ranks)], scores if ordered else np.sort(scores)[::-1])  # [loss]

    def candidates_at_ranks(self, ranks: Indices) -> Indices:
        """Return the candidates at these places in the order."""
        bins = self._bins_of_ranks(ranks)
        places = ranks - np.append(0, self._bin_ends)[bins]  # [place]
        found = [self._candidate_in_bin(j, place) for j, place in zip(bins.tolist(), places.tolist(), strict=True)]
        return np.array(found, dtype=np.int64)

    def _bins_of_ranks(self, ranks: Indices) -> Indices:
        return np.searchsorted(self._bin_ends, ranks, side="right")  # [bin]

    def _candidate_in_bin(self, j: int, place: int) -> int:
        """Return the candidate at a place, counted from 0, of bin j."""
        if j == 0:
            return int(self.best[place])  # [best]
        chunk = int(np.searchsorted(self.counts[:, j], place, side="right"))
        place -= int(self.counts[chunk - 1, j]) if chunk else 0
        labels = self.labels[chunk * _CHUNK : (chunk + 1) * _CHUNK]
        return chunk * _CHUNK + int(np.flatnonzero(labels == j)[place])  # [of-bin]


def build_bins(scores: NDArray[Any], best: Indices, depth: Fraction, scale: Fraction) -> BinnedScores | None:
    """Return all candidates in bins narrow against ``scale``, down to ``depth`` below the best; None if too many bins.

    Args:
        scores: int64, uint64, or finite float64, larger being better.
        best: The best candidates, from best to worst; no other candidate is better than the last of them.
        depth: >= 0.
        scale: > 0.
    """
    edges = _choose_edges(scores[best[-1:]], depth, scale)
    if edges is None:
        return None
    labels, chunks = np.empty(len(scores), dtype=np.uint16), range(0, len(scores), _CHUNK)
    for start in chunks:
        labels[start : start + _CHUNK] = edges.bin_labels(scores[start : start + _CHUNK])  # [labels]
    labels[best] = 0  # [bin-of-best]
    counts = np.empty((len(chunks), edges.last + 2), dtype=np.int64)
    for i, start in enumerate(chunks):
        counts[i] = np.bincount(labels[start : start + _CHUNK], minlength=edges.last + 2)  # [count]
    counts.cumsum(axis=0, out=counts)  # [counts]
    return BinnedScores(scores, best, edges, labels, counts)


def _choose_edges(origin: NDArray[Any], depth: Fraction, scale: Fraction) -> BinEdges | None:
    width = scale / _NARROW
    power = width.numerator.bit_length() - width.denominator.bit_length()
    power -= Fraction(2) ** power > width
    if origin.dtype != np.float64:
        power = max(power, 0)
    longest = _LONGEST if origin.dtype == np.float64 else _SHIFTS
    last = floor(depth / Fraction(2) ** power) + 1
    return BinEdges(origin, power, last) if abs(power) <= longest and last < _MOST else None  # [edges]


# end-proof-region: bins


# A ladder of only the best candidates, if the others hardly ever matter: a small part is sorted instead of all.
#
# A candidate far below the others is chosen so rarely that its place among its equals need not be known in advance. If
# one that is not on such a ladder is requested, the ladder of all candidates is built.

_MANY = 2**15  # fewer candidates are sorted faster than they are scanned
_EACH = 64  # best of this many candidates each: some of the best of all are among them, whatever their order
_LARGEST = 4  # a head of more than a quarter of all candidates saves less than it takes to find
_SAMPLE = 2**10  # about this many candidates estimate whether the head is that large

_LONG = 2**18  # this many candidates are put into bins in less time than they are sorted,
_AMONG = 2**14  # and the released ones are found in less time if at most one in this many is released


# proof-region: head
def order_best_scores(
    values: NDArray[Any], sign: int, rank: int, depth: Fraction | None, scale: Fraction
) -> SortedScores | BinnedScores:
    """Return the ladder of all candidates at most ``depth`` worse than the ``rank``-th best one, and perhaps of others.

    If some candidates are not on the ladder, their scores are below its ``cut``, and all scores on it are not. The cut
    is more than ``depth`` below the ``rank``-th best score, or equal to that up to rounding, so it bounds how much
    these candidates matter. If more than about a quarter of all candidates are near, all are returned: in bins that are
    narrow against ``scale`` if this is worth its time, and else on a ladder.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        rank: Counted from 1, at most d.
        depth: >= 0, or None if all candidates matter.
        scale: > 0.
    """
    d = len(values)
    if depth is None or d < max(_MANY, _EACH * rank) or values.dtype == object:
        return sort_scores(values, sign)
    scores = orient_scores(values, sign)
    limit = limit_for_dtype(scores.dtype, depth) + (scores.dtype != np.float64)  # [one-more]
    columns = scores[: len(scores) // _EACH * _EACH].reshape(_EACH, -1).max(axis=0)
    known = sort_ascending(columns)[[len(columns) - rank]]  # [no-better]
    cut = lower_by_limit(known, lowest_of_dtype(scores.dtype), limit)[0]  # [cut]
    sample = scores[:: max(d // _SAMPLE, 1)]
    if np.count_nonzero(sample >= cut) * _LARGEST > len(sample):
        few = d >= max(_LONG, _AMONG * rank)
        found = build_bins(scores, _best_candidates(scores, columns, rank, known[0]), depth, scale) if few else None
        return found or sort_scores(scores, 1)  # [everybody]
    who = np.flatnonzero(scores >= cut)  # [who]
    chosen = scores[who]
    return SortedScores(chosen, sort_ascending(chosen), who, d, cut)  # [sort-the-head]


def _best_candidates(scores: NDArray[Any], columns: NDArray[Any], rank: int, known: Any) -> Indices:
    """Return, best first, all candidates above a score, and one for each of the first columns with this best score."""
    wide = len(columns)
    rows = wide * np.arange(_EACH)[:, np.newaxis]
    above, level = rows + np.flatnonzero(columns > known), rows + np.flatnonzero(columns == known)[:rank]
    who = np.concatenate([above.ravel(), np.arange(_EACH * wide, len(scores))])
    who = np.append(who[scores[who] > known], np.max(np.where(scores[level] == known, level, 0), axis=0))  # [best]
    return who[np.argsort(scores[who], kind="stable")[::-1]]


def extend_to_rank(
    rungs: SortedScores | BinnedScores, rank: int, values: NDArray[Any], sign: int
) -> SortedScores | BinnedScores:
    """Return ``rungs`` if they include this rank, counted from 0, and the ladder of all candidates otherwise."""
    return rungs if rank < len(rungs.scores) else sort_scores(values, sign)  # [reaching]


# end-proof-region: head
