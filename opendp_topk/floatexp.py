"""Vectorised exponentials with a proven error bound, from IEEE 754 basic operations alone.

NumPy's own ``exp`` promises no error bound, so no bound rests on it.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from .floatlog import Floats

_LN2_HIGH = 2977044471.0 * 2.0**-32
_LN2_LOW = 1.9082149292705877e-10
_PER_LN2 = 1.4426950408889634
_DEGREE = 14


# proof-region: floatexp
def exp(y: Floats) -> Floats:
    """e^y with a relative error of at most 2^-50, elementwise, for -700 <= y <= 700."""
    n = np.rint(y * _PER_LN2)  # [power]
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW  # [reduce]
    value = np.full_like(r, 1 / factorial(_DEGREE))
    for m in range(_DEGREE - 1, -1, -1):
        value = value * r + 1 / factorial(m)  # [horner]
    return np.asarray(np.ldexp(value, n.astype(np.int32)))  # [scale]


# end-proof-region: floatexp
