"""Outputs under ceilings, counted exactly and drawn uniformly.

Ceilings n_1 <= ... <= n_k bound the places: the i-th rank is one of the first n_i. A ranking is a sequence of
distinct ranks; a set is an increasing one. With n_i >= i there is at least one of each.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import pairwise
from math import prod

import gmpy2
import numpy as np
from gmpy2 import mpz

from .entropy import Entropy, Indices
from .subsets import below, choose


# proof-region: ceilings
def count(ceilings: Sequence[int], ordered: bool) -> int | mpz:
    """The number of rankings, or sets, under ``ceilings``, which ascend and have n_i >= i."""
    if ordered:
        return prod(ceiling - i for i, ceiling in enumerate(ceilings))  # [product]
    return _Paths(ceilings).rows[-1]  # [paths]


def draw(ceilings: Sequence[int], ordered: bool, entropy: Entropy) -> Indices:
    """One of them, each equally likely: ranks counted from 0, a set in ascending order."""
    return _ranking(ceilings, entropy) if ordered else _Paths(ceilings).draw(entropy)


def _ranking(ceilings: Sequence[int], entropy: Entropy) -> Indices:
    ranks: list[int] = []
    taken: list[int] = []
    for i, ceiling in enumerate(ceilings):
        rank = below(ceiling - i, entropy)  # [free-place]
        for other in taken:
            if other > rank:
                break
            rank += 1  # [skip-taken]
        insort(taken, rank)
        ranks.append(rank)
    return np.array(ranks, dtype=np.int64)


class _Paths:
    """``rows[i]`` packs, for T = i, ..., k, the number of T-subsets of the first n_i ranks that have at least j
    members among the first n_j for all j <= i. A slot has ``width`` binary digits; n_0 = 0.
    """

    def __init__(self, ceilings: Sequence[int]) -> None:
        self._ends = [0, *ceilings]
        self._k = k = len(ceilings)
        top = ceilings[-1]
        self._width = gmpy2.bincoef(top, min(k, top // 2)).bit_length()  # [width]
        self.rows = [mpz(1)]  # [first-row]
        for i, (start, end) in enumerate(pairwise(self._ends)):
            row = self.rows[-1] * gmpy2.pack(_binomials(end - start, k - i), self._width)  # [convolve]
            self.rows.append(gmpy2.f_mod_2exp(row >> self._width, (k - i) * self._width))  # [drop]

    def draw(self, entropy: Entropy) -> Indices:
        parts = []
        left = self._k
        for i in range(self._k - 1, -1, -1):
            start, end = self._ends[i : i + 2]
            place = below(self._slot(i + 1, left), entropy)  # [place]
            for t, ways in enumerate(_binomials(end - start, left - i)):
                ways *= self._slot(i, left - t)  # [ways]
                if place < ways:
                    break
                place -= ways
            parts.append(start + choose(end - start, t, entropy))  # [block]
            left -= t
        return np.concatenate(parts[::-1])

    def _slot(self, i: int, size: int) -> mpz:
        return gmpy2.f_mod_2exp(self.rows[i] >> (size - i) * self._width, self._width)


def _binomials(n: int, most: int) -> list[mpz]:
    """C(n, t) for t = 0, ..., min(n, most)."""
    found = [mpz(1)]
    for t in range(min(n, most)):
        found.append(found[-1] * (n - t) // (t + 1))  # [binomial]
    return found


# end-proof-region: ceilings
