"""The width of the privacy loss's range of permute-and-flip: a_PF(r) = r + 2 ln(2 - exp(-r / 2)).

Proof: proofs/measurements/permute_and_flip_range.tex
"""

from __future__ import annotations

from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

_PRECISION = 128  # bits: what the proof allows for rounding is 2^-120 of the result


# proof-region: permute_and_flip_range
def permute_and_flip_range(r: Fraction) -> Fraction:
    """An upper bound of a_PF(r) = r + 2 ln(2 - exp(-r / 2)), r >= 0, within a relative 2^-120 of it."""
    up = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp)
    down = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundDown)
    negative_half = down.add(-mpq(r.numerator, r.denominator) / 2, mpfr(0))  # [half]
    excess = up.minus(down.expm1(negative_half))  # [excess]
    numerator, denominator = up.log1p(excess).as_integer_ratio()  # [logarithm]
    return r + 2 * Fraction(int(numerator), int(denominator))  # [range]


# end-proof-region: permute_and_flip_range
