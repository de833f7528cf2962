"""How large discrete noise can be: a tail bound for several draws at once.

Proof: proofs/distributions/discrete.tex
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..errors import ParameterError
from ..numerics.arithmetic import exact, scaled_log_up


# proof-region: discrete_law
def largest_noise(scale: Fraction, k: int, alpha: Fraction | float, *, gaussian: bool) -> float:
    """With probability at least 1 - alpha none of k draws is larger than this in size: an integer, or infinity.

    Args:
        scale: The scale of the noise, >= 0.
        k: The number of draws, >= 1.
        alpha: The probability of failure, in (0, 1).
        gaussian: Whether the noise is discrete Gaussian; otherwise it is discrete Laplace.

    Raises:
        ParameterError: An argument is out of range.
    """
    if scale < 0 or k < 1 or not 0 < alpha < 1:
        raise ParameterError("largest_noise needs scale >= 0, k >= 1 and alpha in (0, 1)")  # [check]
    if scale == 0:
        return 0  # [no-noise]
    bound = scaled_log_up(2 * scale * scale if gaussian else scale, 2 * k / exact(alpha))  # [bound]
    if math.isinf(bound):
        return bound  # [no-bound]
    over = math.ceil(bound) - 1  # [over]
    return math.isqrt(over) if gaussian else over  # [size]


# end-proof-region: discrete_law
