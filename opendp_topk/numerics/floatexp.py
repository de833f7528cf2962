"""Vectorised exponentials with a proven error bound, from IEEE 754 basic operations alone.

NumPy's own ``exp`` promises no error bound, so no bound rests on it.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

from .floatlog import Floats

_LN2_HIGH = 2977044471.0 * 2.0**-32  # 32 binary digits of ln 2, so that its products with the powers at hand are exact
_LN2_LOW = 1.9082149292705877e-10  # the rest of ln 2, to 53 digits
_PER_LN2 = 1.4426950408889634  # it only chooses the power: any number near 1 / ln 2 would do
_DEGREE = 14  # for |r| <= 0.35 the terms that are left out are below 2^-62


# proof-region: floatexp
def exp(y: Floats) -> Floats:
    """e^y with a relative error of at most 2^-50, elementwise, for -700 <= y <= 700."""
    mantissa, power = parts(y)
    return np.asarray(np.ldexp(mantissa, power))  # [scale]


def parts(y: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """(m, n) with m 2^n = e^y but for a relative error of at most 2^-50, 1/2 < m < 2, for |y| <= 2^19."""
    n = np.rint(y * _PER_LN2)  # [power]
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW  # [reduce]
    value = np.full_like(r, 1 / factorial(_DEGREE))
    for m in range(_DEGREE - 1, -1, -1):
        value = value * r + 1 / factorial(m)  # [horner]
    return value, n.astype(np.int32)


# end-proof-region: floatexp
