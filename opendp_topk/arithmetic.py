"""Exact rationals and directed rounding.

Privacy maps are evaluated in exact rational arithmetic and rounded once, upward. A transcendental bound is
evaluated by MPFR, whose results are correctly rounded in the direction asked for. ``*_up`` never returns less
than the exact value, ``*_down`` never more.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from ._check import Number

_DOUBLE = 53
_WIDE = 128
_UP = gmpy2.RoundUp
_DOWN = gmpy2.RoundDown


# proof-region: rounding
def exact(value: Number) -> Fraction:
    """The rational number that ``value`` is: a finite float is a rational already."""
    return Fraction(value)  # [exact]


def round_up(value: Fraction | int) -> float:
    """The smallest float64 that is not below ``value`` (infinity above the largest finite float)."""
    nearest = _nearest(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)  # [round-up]


def round_down(value: Fraction | int) -> float:
    """The largest float64 that is not above ``value``."""
    return -round_up(-value)  # [round-down]


def log_up(value: Fraction | int) -> float:
    """A float64 that is not below ``ln(value)``, for ``value > 0``; correctly rounded but for one ulp."""
    return _double(_log(value, _UP), _UP)  # [log-up]


def scaled_log_up(factor: Fraction, value: Fraction | int) -> float:
    """A float64 that is not below ``factor * ln(value)``, for ``factor >= 0`` and ``value >= 1``."""
    with gmpy2.context(precision=_WIDE, round=_UP):
        product = mpfr(_mpq(factor)) * _log(value, _UP)  # [scaled-log]
    return _double(product, _UP)


# end-proof-region: rounding


def _nearest(value: Fraction | int) -> float:
    """The float64 nearest to ``value``; division of Python integers is correctly rounded."""
    try:
        return float(value)
    except OverflowError:
        overflow = True
    return math.copysign(math.inf, value) if overflow else 0.0


def _log(value: Fraction | int, direction: int) -> mpfr:
    with gmpy2.context(precision=_WIDE, round=direction):
        return gmpy2.log(mpfr(_mpq(Fraction(value))))


def _double(value: mpfr, direction: int) -> float:
    with gmpy2.context(precision=_DOUBLE, round=direction, emin=-1073, emax=1024, subnormalize=True):
        return float(mpfr(value))


def _mpq(value: Fraction) -> mpq:
    return mpq(value.numerator, value.denominator)
