"""Refusal of a mode of the processor in which small floats vanish.

A thread can flush floats below 2^-1022 to zero, as results or as arguments. Libraries built with -ffast-math switch
this on in the thread that loads them. Bounds on floats here rest on gradual underflow, which the mode takes away.
"""

from __future__ import annotations

import numpy as np

from ..errors import SubnormalError

# proof-region: subnormals
_LEAST_NORMAL = 2.0**-1022  # of float64
_LEAST = 2.0**-1074  # the least subnormal number
_HALF = 0.5  # makes a subnormal result of the least normal number
_RAISE = 2.0**52  # makes the least normal number of the least subnormal one
_ARGUMENTS = np.array([_LEAST_NORMAL, _LEAST])
_FACTORS = np.array([_HALF, _RAISE])


def require_subnormals() -> None:
    """Raise unless this thread computes with subnormal floats, in Python and in NumPy.

    Raises:
        SubnormalError: A product with a subnormal result, or with a subnormal argument, is flushed to zero.
    """
    results = _LEAST_NORMAL * _HALF > 0, _LEAST * _RAISE == _LEAST_NORMAL > 0  # [python-products]
    if not all(results) or np.count_nonzero(_ARGUMENTS * _FACTORS) < len(_FACTORS):  # [numpy-products]
        raise SubnormalError(
            "this thread flushes subnormal floats to zero, so that a release would not have its law: nothing was "
            "released. A library built with -ffast-math sets this mode in the thread that loads it. Load it in another "
            "thread, or switch the mode off; if it is off, reinstall opendp_topk, which was compiled while it was on"
        )


# end-proof-region: subnormals
