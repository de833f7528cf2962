"""Rankings and sets under ceilings, counted exactly and drawn uniformly."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import gmpy2
import numpy as np
from gmpy2 import mpq, mpz

from ...numerics.floats import log_bounds
from .entropy import Entropy, Indices
from .subsets import draw_below, draw_each_below, draw_uniform_subset

_FEW = 64  # up to this many numbers, the logarithm of their product takes less time than the logarithms of an array
_SLACK = 1 + 2.0**-30  # covers the error of a sum of 2^22 terms, and of rounding a number of 64 digits
_UP = gmpy2.context(precision=64, round=gmpy2.RoundUp)  # independent of the caller's own context


# proof-region: ceilings
@dataclass(frozen=True, eq=False)
class Rankings:
    """All rankings under ``ceilings``."""

    ceilings: Indices

    def log_bound(self) -> float:
        """Return an upper bound on the logarithm of the number of rankings."""
        free = self._free_rank_counts()
        if len(free) <= _FEW:
            return float(_UP.log(multiply_by_pairs([mpz(n) for n in free.tolist()]))) * _SLACK  # [log-of-product]
        floats = free.astype(np.float64)
        return float(np.sum(log_bounds(floats, floats)[1])) * _SLACK  # [log-bound]

    def draw_ranks(self, entropy: Entropy) -> tuple[Indices, mpq]:
        """Return one ranking, each equally likely, and its probability; ranks are counted from 0."""
        free = self._free_rank_counts()
        ranks: list[int] = []
        left = _FreeRanks()
        for ceiling, place in zip(self.ceilings.tolist(), draw_each_below(free, entropy).tolist(), strict=True):
            left.extend_to_ceiling(ceiling)  # [more-ranks]
            ranks.append(left.remove_rank(place))  # [take]
        return np.array(ranks, dtype=np.int64), mpq(
            1, multiply_by_pairs([mpz(n) for n in free.tolist()])
        )  # [probability]

    def _free_rank_counts(self) -> Indices:
        """Return the number of free ranks for each place, which does not depend on the ranks taken before."""
        return self.ceilings - np.arange(len(self.ceilings))  # [free]


class _FreeRanks:
    """A list of free ranks: initially all below some ceiling, in order. Only the ranks that moved are stored."""

    def __init__(self) -> None:
        self._ceiling = self._size = 0
        self._moved: dict[int, int] = {}
        self._starts = [0]
        self._offsets = [0]

    def extend_to_ceiling(self, ceiling: int) -> None:
        """Append the ranks up to the ceiling that are not in the list yet."""
        if ceiling > self._ceiling:
            while self._starts and self._starts[-1] >= self._size:
                self._starts.pop()
                self._offsets.pop()
            self._starts.append(self._size)
            self._offsets.append(self._ceiling - self._size)  # [offset]
            self._size += ceiling - self._ceiling
            self._ceiling = ceiling

    def remove_rank(self, place: int) -> int:
        """Remove the rank at a place and move the last rank there."""
        taken, last = self._rank_at(place), self._rank_at(self._size - 1)
        self._size -= 1
        self._moved[place] = last  # [move]
        self._moved.pop(self._size, None)  # [forget]
        return taken

    def _rank_at(self, place: int) -> int:
        found = self._moved.get(place)
        return place + self._offsets[bisect_right(self._starts, place) - 1] if found is None else found  # [unmoved]


def multiply_by_pairs(factors: list[mpz]) -> mpz:
    """Return the product of positive integers, by pairs, so that long numbers are multiplied by long ones."""
    while len(factors) > 1:
        factors = [a * b for a, b in zip(factors[::2], [*factors[1::2], mpz(1)], strict=False)]  # [pairs]
    return factors[0] if factors else gmpy2.mpz(1)


# end-proof-region: ceilings


_LOG_SLACK = 2.0**-30  # more than the rounding error of a logarithm below 2^12


# proof-region: paths
@dataclass(frozen=True, eq=False)
class Paths:
    """All sets under ``ceilings`` n_1 <= ... <= n_k, n_i >= i: the i-th rank is one of the first n_i."""

    ceilings: Indices

    def log_bound(self) -> float:
        """Return an upper bound on the logarithm of the number of sets."""
        return float(_UP.log(self._packed_counts[-1])) + _LOG_SLACK  # [log-bound]

    def draw_ranks(self, entropy: Entropy) -> tuple[Indices, mpq]:
        """Return one set, each equally likely, and its probability; ranks are counted from 0, in ascending order."""
        ends, left = [0, *self.ceilings.tolist()], len(self.ceilings)
        parts = []
        for i in range(left - 1, -1, -1):
            start, end = ends[i : i + 2]
            place = draw_below(self._unpack_count(i + 1, left), entropy)  # [place]
            for t, ways in enumerate(_binomial_coefficients(end - start, left - i)):
                ways *= self._unpack_count(i, left - t)  # [ways]
                if place < ways:
                    break
                place -= ways
            parts.append(start + draw_uniform_subset(end - start, t, entropy))  # [block]
            left -= t
        return np.concatenate(parts[::-1]), mpq(1, self._packed_counts[-1])  # [probability]

    @cached_property
    def _slot_width(self) -> int:
        k, top = len(self.ceilings), int(self.ceilings[-1])
        return int(gmpy2.bincoef(top, min(k, top // 2)).bit_length())  # [width]

    @cached_property
    def _packed_counts(self) -> list[mpz]:
        """``_rows[i]`` packs, for T = i, ..., k, the number of T-subsets of the first n_i ranks that have at least j
        members among the first n_j for all j <= i. A slot has ``_slot_width`` binary digits; n_0 = 0.
        """
        k, found = len(self.ceilings), [mpz(1)]  # [first-row]
        for i, (start, end) in enumerate(pairwise([0, *self.ceilings.tolist()])):
            row = found[-1] * gmpy2.pack(_binomial_coefficients(end - start, k - i), self._slot_width)  # [convolve]
            found.append(gmpy2.f_mod_2exp(row >> self._slot_width, (k - i) * self._slot_width))  # [drop]
        return found

    def _unpack_count(self, i: int, size: int) -> mpz:
        return gmpy2.f_mod_2exp(self._packed_counts[i] >> (size - i) * self._slot_width, self._slot_width)


def _binomial_coefficients(n: int, most: int) -> list[mpz]:
    """Return C(n, t) for t = 0, ..., min(n, most)."""
    found = [mpz(1)]
    for t in range(min(n, most)):
        found.append(found[-1] * (n - t) // (t + 1))  # [binomial]
    return found


# end-proof-region: paths
