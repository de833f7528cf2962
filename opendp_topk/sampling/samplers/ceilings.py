"""Rankings under ceilings, counted and drawn uniformly.

Ceilings n_1 <= ... <= n_k bound the places: the i-th rank is one of the first n_i, n_i >= i. A ranking is a sequence of
distinct ranks under them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import gmpy2
import numpy as np
from gmpy2 import mpq, mpz

from ...numerics.floats import log_bounds
from .entropy import Entropy, Indices
from .subsets import draw_each_below

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
