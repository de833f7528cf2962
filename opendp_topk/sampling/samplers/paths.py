"""Sets of few ranks under ceilings, counted exactly and drawn uniformly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import gmpy2
import numpy as np
from gmpy2 import mpq, mpz

from .entropy import Entropy, Indices
from .subsets import draw_below, draw_uniform_subset

_SLACK = 2.0**-30  # more than the rounding error of a logarithm below 2^12
_UP = gmpy2.context(precision=64, round=gmpy2.RoundUp)  # independent of the caller's own context


# proof-region: paths
@dataclass(frozen=True, eq=False)
class Paths:
    """All sets under ``ceilings`` n_1 <= ... <= n_k, n_i >= i: the i-th rank is one of the first n_i."""

    ceilings: Indices

    def log_bound(self) -> float:
        """Return an upper bound on the logarithm of the number of sets."""
        return float(_UP.log(self._packed_counts[-1])) + _SLACK  # [log-bound]

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
