"""Vectorised logarithms with proven error bounds, from IEEE 754 basic operations alone.

NumPy's own ``log`` promises no error bound, so it decides nothing here. Everything below uses only +, -, *, /
and comparisons of float64, which are correctly rounded, exact scalings by powers of two, and one table of
correctly rounded constants from MPFR.
"""

from __future__ import annotations

import functools

import gmpy2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FloatBounds = tuple[Floats, Floats]
"""Lower and upper bounds, elementwise."""

_CELLS = 4096  # |t| <= 2^-13 in each: four terms of the series leave less than 2^-66
with gmpy2.context(precision=53, round=gmpy2.RoundToNearest):  # whatever the caller's own context says
    _LN2 = float(gmpy2.log(gmpy2.mpfr(2)))


# proof-region: floatlog
def log_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Bounds (a, b) with a <= ln(lower) and ln(upper) <= b, elementwise, for 0 <= lower <= upper <= inf.

    Each is within 2^-49 (|ln| + 1) of the logarithm. ln 0 is -inf and ln inf is inf.
    """
    below = _log(lower)
    above = below if upper is lower else _log(upper)
    return below - _slack(below), above + _slack(above)  # [slack]


def minus_log1m_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Bounds (a, b) with a <= -ln(1 - lower) and -ln(1 - upper) <= b, for 0 <= lower <= upper <= 2^-6.

    The relative error is at most 2^-47 for arguments of at least 2^-60; below, an absolute 2^-1070 is added.
    """
    return _series(lower) * (1 - 2.0**-48), _series(upper) * (1 + 2.0**-48) + 2.0**-1070  # [series-slack]


def _log(x: Floats) -> Floats:
    regular = (x > 0) & (x < np.inf)
    mantissa, exponent = np.frexp(np.where(regular, x, 1.0))  # [frexp]
    cell = ((mantissa - 0.5) * (2 * _CELLS)).astype(np.int64)
    centre = 0.5 + (cell + 0.5) / (2 * _CELLS)  # [centre]
    t = (mantissa - centre) / centre  # [reduce]
    polynomial = t * (1 - t * (0.5 - t * (1 / 3 - t * 0.25)))  # [taylor]
    value = (exponent * _LN2 + _log_of_centres()[cell]) + polynomial  # [recombine]
    return np.where(regular, value, np.where(x == 0, -np.inf, np.inf))  # [ends]


def _slack(value: Floats) -> Floats:
    return np.where(np.isinf(value), 0.0, (np.abs(value) + 1) * 2.0**-50)


def _series(v: Floats) -> Floats:
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
