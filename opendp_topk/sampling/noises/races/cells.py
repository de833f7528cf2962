"""Factors of densities and survival functions on the cells of a line, and their products with power series.

Proof: proofs/distributions/series.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

Series = list[mpfr]


# proof-region: race_cells
@dataclass(frozen=True)
class Factor:
    """The function (constant + slope t) / (1 + rho t)^power of t in [-1, 1]."""

    constant: mpfr
    slope: mpfr
    rho: mpfr
    power: int

    def multiply_series(self, series: Series) -> Series:
        """Return the product with ``series``, truncated to its degree."""
        if self.constant == 0 and self.slope == 0:
            return [self.slope] * len(series)
        result = [self.constant * c + self.slope * b for b, c in zip([mpfr(0), *series], series, strict=False)]
        for _ in range(self.power):
            last = mpfr(0)
            for n, c in enumerate(result):
                last = result[n] = c - self.rho * last  # [recurrence]
        return result


Cell = tuple[list[Factor], list[Factor]]


def cell_midpoints(edges: list[Fraction]) -> list[tuple[mpfr, mpfr, Fraction]]:
    """Return the middle and the half-width of each cell, and the logarithm of its right end: [0, 1] first."""
    ends = [exp_of_fraction(edge) for edge in edges]
    first = [(mpfr("0.5"), mpfr("0.5"), edges[0])]
    return first + [((b + a) / 2, (b - a) / 2, edge) for a, b, edge in zip(ends, ends[1:], edges[1:], strict=False)]


def exp_of_fraction(value: Fraction) -> mpfr:
    """Return e^value at the precision of the context."""
    return gmpy2.exp(mpfr(mpq(value.numerator, value.denominator)))  # [exponential]


# end-proof-region: race_cells
