"""Numbers as sums of two float64 numbers (about 100 binary digits), with proven bounds for their operations.

A pair is two arrays: rounded values and their errors. The code uses only single operations of IEEE 754, exact scalings
by powers of two, and one table of constants from MPFR.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq

from .floats import Floats

Pair = tuple[Floats, Floats]

_CELLS = 4096  # cells per unit: |z| <= 2^-12 in each, so the error after six terms of the series is below 2^-86
_FIRST, _LAST = 3072, 6144  # the cells around 3/4 and around 3/2; numbers are scaled to the range between them
_SPLITTER = 2.0**27 + 1  # Dekker's constant
_FRONT = 2.0**26  # the front of a number has 26 binary digits after the point
_UNIT = 2**42  # the first parts of logarithms are multiples of 1 / _UNIT, so they can be added exactly


# proof-region: pairs
def two_sum(a: Floats, b: Floats) -> Pair:
    """Return the sum rounded to nearest and its exact error; NaN if the sum overflows."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)  # [two-sum]


def two_product(a: Floats, b: Floats) -> Pair:
    """Return the product rounded to nearest and its exact error, if nothing over- or underflows."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split_halves(a), _split_halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)  # [two-product]


def _split_halves(a: Floats) -> Pair:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high  # [halves]


def nearest_pair(value: Fraction) -> Pair:
    """Return the float64 nearest to ``value``, and the float64 nearest to the remainder."""
    first = float(value)
    return np.array(first), np.array(float(value - Fraction(first)))  # [nearest]


def log(x: Pair) -> Pair:
    """Return the logarithm of x = x[0] + x[1], elementwise, for 2^-100 <= x[0] <= 2^100 and |x[1]| <= 2^-52 x[0].

    Let s be the first part of the result. The sum of both parts is within 2^-72 of the logarithm, and also within
    2^-46 s^2 + 2^-100. The second part is at most 2^-24.
    """
    mantissa, power = np.frexp(x[0])  # [frexp]
    small = mantissa < 0.75
    m = np.where(small, 2 * mantissa, mantissa)
    exponent = power - small  # [scale]
    rest = np.ldexp(x[1], -exponent)
    cell = np.rint(m * _CELLS).astype(np.int64) - _FIRST  # [cell]
    inverse, first, second = (column[cell] for column in _logs_of_inverses())
    front = np.rint(m * _FRONT) / _FRONT
    z, left = two_sum(front * inverse - 1, (m - front) * inverse)  # [reduce]
    left = left + rest * inverse
    curve = z * z * (0.5 - z * (1 / 3 - z * (0.25 - z * (0.2 - z * (1 / 6)))))  # [series]
    left = (left - left * z) - curve  # [remainder]
    high, low = _LOG_2
    total, lost = two_sum(exponent * high + first, z)  # [leading]
    return total, lost + (exponent * low + second + left)  # [trailing]


def _split_constant(value: mpfr) -> tuple[float, float]:
    """Return the multiple of 1 / _UNIT nearest to ``value``, and the float64 nearest to the remainder."""
    numerator, denominator = value.as_integer_ratio()
    exact = mpq(numerator, denominator)
    first = mpq(round(exact * _UNIT), _UNIT)
    return float(first), float(exact - first)  # [parted]


@functools.cache
def _logs_of_inverses() -> tuple[Floats, Floats, Floats]:
    """Return for each cell a short number near the inverse of its centre, and minus its logarithm in two parts."""
    inverses = [round(Fraction(2**15 * _CELLS, cell)) / 2**15 for cell in range(_FIRST, _LAST + 1)]  # [inverse]
    parts = [_split_constant(_AT.minus(_AT.log(inverse))) for inverse in inverses]
    return np.array(inverses), np.array([part[0] for part in parts]), np.array([part[1] for part in parts])  # [table]


_AT = gmpy2.context(precision=160, round=gmpy2.RoundToNearest)
_LOG_2 = _split_constant(_AT.log(2))  # [log-2]
# end-proof-region: pairs
