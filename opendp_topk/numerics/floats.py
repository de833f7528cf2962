"""Exponentials and logarithms of float64 arrays with proven error bounds, and a check of the processor mode."""

from __future__ import annotations

import functools
from math import factorial

import gmpy2
import numpy as np
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
    below = _approximate_log(lower)
    above = below if upper is lower else _approximate_log(upper)
    return below - _error_slack(below), above + _error_slack(above)  # [slack]


def minus_log1m_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return (a, b) with a <= -ln(1 - lower) and -ln(1 - upper) <= b, for 0 <= lower <= upper <= 2^-6.

    The relative error is at most 2^-47 for arguments of at least 2^-60; below, an absolute 2^-1070 is added.
    """
    return _log1m_series(lower) * (1 - 2.0**-48), _log1m_series(upper) * (1 + 2.0**-48) + 2.0**-1070  # [series-slack]


def _approximate_log(x: Floats) -> Floats:
    regular = (x > 0) & (x < np.inf)
    mantissa, exponent = np.frexp(np.where(regular, x, 1.0))  # [frexp]
    cell = ((mantissa - 0.5) * (2 * _CELLS)).astype(np.int64)
    centre = 0.5 + (cell + 0.5) / (2 * _CELLS)  # [centre]
    t = (mantissa - centre) / centre  # [reduce]
    polynomial = t * (1 - t * (0.5 - t * (1 / 3 - t * 0.25)))  # [taylor]
    value = (exponent * _LN2 + _log_of_centres()[cell]) + polynomial  # [recombine]
    return np.where(regular, value, np.where(x == 0, -np.inf, np.inf))  # [ends]


def _error_slack(value: Floats) -> Floats:
    return np.where(np.isinf(value), 0.0, (np.abs(value) + 1) * 2.0**-50)


def _log1m_series(v: Floats) -> Floats:
    total = np.full_like(v, 1 / 10)
    for n in range(9, 0, -1):
        total = total * v + 1 / n  # [horner]
    return total * v


# end-proof-region: floatlog


@functools.cache
def _log_of_centres() -> Floats:
    with gmpy2.context(precision=53, round=gmpy2.RoundToNearest):
        centres = [gmpy2.mpfr(0.5 + (cell + 0.5) / (2 * _CELLS)) for cell in range(_CELLS)]
        return np.array([float(gmpy2.log(centre)) for centre in centres])


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
_ARGUMENTS = np.array([_LEAST_NORMAL, _LEAST])
_FACTORS = np.array([_HALF, _RAISE])


def require_subnormals() -> None:
    """Raise unless this thread computes with subnormal floats, in Python and in NumPy.

    Raises:
        PlatformError: A product with a subnormal result, or with a subnormal argument, is flushed to zero.
    """
    results = _LEAST_NORMAL * _HALF > 0, _LEAST * _RAISE == _LEAST_NORMAL > 0  # [python-products]
    if not all(results) or np.count_nonzero(_ARGUMENTS * _FACTORS) < len(_FACTORS):  # [numpy-products]
        raise PlatformError(
            "this thread flushes subnormal floats to zero, so a release would not have its output "
            "distribution: nothing was released. A library built with -ffast-math sets this mode in the "
            "thread that loads it. Load it in another thread, or switch the mode off; if it is off, "
            "reinstall opendp_topk, which was compiled in this mode"
        )


# end-proof-region: subnormals
