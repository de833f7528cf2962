"""Float64 arrays with proven error bounds: exponentials, logarithms, sums of two numbers, and one step outward.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

import functools
from fractions import Fraction
from math import factorial

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ..errors import PlatformError

# Vectorised logarithms with proven error bounds, from IEEE 754 basic operations alone.
#
# NumPy's own ``log`` has no documented error bound, so it is not used. Everything below uses only +, -, *, /
# and comparisons of float64, which are correctly rounded, exact scalings by powers of two, and one table of
# correctly rounded constants from MPFR.

Floats = NDArray[np.float64]
FloatBounds = tuple[Floats, Floats]
"""Lower and upper bounds, elementwise."""

_CELLS = 4096  # |t| <= 2^-13 in each: four terms of the series leave less than 2^-66
with gmpy2.context(precision=53, round=gmpy2.RoundToNearest):  # independent of the caller's context
    _LN2 = float(gmpy2.log(gmpy2.mpfr(2)))


# proof-region: floatlog
def log_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return (a, b) with a <= ln(lower) and ln(upper) <= b, elementwise, for 0 <= lower <= upper <= inf.

    Each is within 2^-49 (|ln| + 1) of the logarithm. ln 0 is -inf and ln inf is inf.
    """
    below, slack = _approximate_log(lower)
    above, more = (below, slack) if upper is lower else _approximate_log(upper)
    return below - slack, above + more  # [slack]


def minus_log1m_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return (a, b) with a <= -ln(1 - lower) and -ln(1 - upper) <= b, for 0 <= lower <= upper <= 2^-6.

    The relative error is at most 2^-47 for arguments of at least 2^-60; below, an absolute 2^-1070 is added.
    """
    below = _log1m_series(lower)
    above = below if upper is lower else _log1m_series(upper)
    return below * (1 - 2.0**-48), above * (1 + 2.0**-48) + 2.0**-1070  # [series-slack]


def _approximate_log(x: Floats) -> FloatBounds:
    """Return approximate logarithms and the slack that turns each into bounds."""
    regular = (x > 0) & (x < np.inf)
    mantissa, exponent = np.frexp(np.where(regular, x, 1.0))  # [frexp]
    cell = ((mantissa - 0.5) * (2 * _CELLS)).astype(np.int64)
    centre = 0.5 + (cell + 0.5) / (2 * _CELLS)  # [centre]
    t = (mantissa - centre) / centre  # [reduce]
    polynomial = t * (1 - t * (0.5 - t * (1 / 3 - t * 0.25)))  # [taylor]
    value = (exponent * _LN2 + _log_of_centres()[cell]) + polynomial  # [recombine]
    slack = np.where(regular, (np.abs(value) + 1) * 2.0**-50, 0.0)  # [margin]
    return np.where(regular, value, np.where(x == 0, -np.inf, np.inf)), slack  # [ends]


def _log1m_series(v: Floats) -> Floats:
    total = np.full_like(v, 1 / 10)
    for n in range(9, 0, -1):
        total *= v
        total += 1 / n  # [horner]
    return total * v


@functools.cache
def _log_of_centres() -> Floats:
    """Return the logarithms of the centres n / 16384 of all cells, n = 8193, 8195, ..., 16383.

    They are sums of ln(16384 / 16383) and of the steps ln((n + 2) / n), each of which is 2 artanh(1 / m) for some m.
    """
    m = np.append(32767, np.arange(16382, 8192, -2, dtype=np.int64))  # [steps]
    high, rest = np.divmod(2**45, m)  # [high]
    low = (rest << 44) // m + (2.0**89 / m**3 * (1 / 3 + 0.2 / m**2)).astype(np.int64)  # [low]
    return -(np.cumsum(high) * 2.0**-44 + np.cumsum(low) * 2.0**-88)[::-1]  # [sums]


# end-proof-region: floatlog


# Vectorised exponentials with a proven error bound, from IEEE 754 basic operations alone.
#
# NumPy's own ``exp`` has no documented error bound, so no bound here depends on it.

_LN2_HIGH = 2977044471.0 * 2.0**-32  # 32 binary digits of ln 2, so that its products with the powers are exact
_LN2_LOW = 1.9082149292705877e-10  # the rest of ln 2, to 53 digits
_PER_LN2 = 1.4426950408889634  # only used to choose the power, so any number near 1 / ln 2 is valid
_DEGREE = 14  # for |r| <= 0.35 the omitted terms are below 2^-62


# proof-region: floatexp
def exp(y: Floats) -> Floats:
    """Return e^y with a relative error of at most 2^-50, elementwise, for -700 <= y <= 700."""
    mantissa, power = exp_mantissa_power(y)
    return np.asarray(np.ldexp(mantissa, power))  # [scale]


def exp_mantissa_power(y: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Return (m, n) with m 2^n = e^y up to a relative error of 2^-50 and 1/2 < m < 2, for |y| <= 2^19."""
    n = np.rint(y * _PER_LN2)  # [power]
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW  # [reduce]
    value = np.full_like(r, 1 / factorial(_DEGREE))
    for m in range(_DEGREE - 1, -1, -1):
        value = value * r + 1 / factorial(m)  # [horner]
    return value, n.astype(np.int32)


# end-proof-region: floatexp


# Refusal of a processor mode that flushes small floats to zero.
#
# A thread can flush floats below 2^-1022 to zero, as results or as arguments. Libraries built with -ffast-math enable
# this mode in the thread that loads them. The bounds on floats here require gradual underflow.

# proof-region: subnormals
_LEAST_NORMAL = 2.0**-1022  # of float64
_LEAST = 2.0**-1074  # the least subnormal number
_HALF = 0.5  # times the least normal number: a subnormal result
_RAISE = 2.0**52  # times the least subnormal number: the least normal one
_NUMPY_LEAST_NORMAL = np.float64(_LEAST_NORMAL)
_NUMPY_LEAST = np.float64(_LEAST)


def require_subnormals() -> None:
    """Raise unless this thread computes with subnormal floats, in Python and in NumPy.

    Raises:
        PlatformError: A product with a subnormal result, or with a subnormal argument, is flushed to zero.
    """
    python = _LEAST_NORMAL * _HALF > 0 and _LEAST * _RAISE == _LEAST_NORMAL > 0  # [python-products]
    if not (python and _NUMPY_LEAST_NORMAL * _HALF > 0 and _NUMPY_LEAST * _RAISE > 0):  # [numpy-products]
        raise PlatformError(
            "this thread flushes subnormal floats to zero, so a release would not have its output "
            "distribution: nothing was released. A library built with -ffast-math sets this mode in the "
            "thread that loads it. Load it in another thread, or switch the mode off; if it is off, "
            "reinstall opendp_topk, which was compiled in this mode"
        )


# end-proof-region: subnormals


Pair = tuple[Floats, Floats]

_CELLS_PER_UNIT = 4096  # |z| <= 2^-12 in each, so the error after six terms of the series is below 2^-86
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
    cell = np.rint(m * _CELLS_PER_UNIT).astype(np.int64) - _FIRST  # [cell]
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
    inverses = [
        round(Fraction(2**15 * _CELLS_PER_UNIT, cell)) / 2**15 for cell in range(_FIRST, _LAST + 1)
    ]  # [inverse]
    parts = [_split_constant(_AT.minus(_AT.log(inverse))) for inverse in inverses]
    return np.array(inverses), np.array([part[0] for part in parts]), np.array([part[1] for part in parts])  # [table]


_AT = gmpy2.context(precision=160, round=gmpy2.RoundToNearest)
_LOG_2 = _split_constant(_AT.log(2))  # [log-2]
# end-proof-region: pairs


# proof-region: outward_floats
def next_below(x: Floats) -> Floats:
    """Return the float64 numbers before these."""
    return np.nextafter(x, -np.inf)  # [down]


def next_above(x: Floats) -> Floats:
    """Return the float64 numbers after these."""
    return np.nextafter(x, np.inf)  # [up]


# end-proof-region: outward_floats
