"""How large discrete noise can be, exactly: a bound for several independent draws at once.

Proof: proofs/distributions/discrete.tex
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from ..errors import ParameterError
from ..numerics.arithmetic import exact, log1p_down, one_minus_exp_down, one_minus_exp_up, scaled_log_up
from .gaussian_tail import gaussian_beyond

_CLOSE = 2**20  # integers to a scale: of wider noise the least size is not searched for exactly, which takes long


# proof-region: discrete_law
def largest_noise(scale: Fraction, k: int, alpha: Fraction | float, *, gaussian: bool) -> float:
    """The least integer that none of k independent draws exceeds in size, but with a probability of at most alpha.

    It is infinite where it is beyond all float64. It may be one too large where the probability is nearly alpha, and by
    a millionth of the scale where that is above a million.

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
    each = _each(exact(alpha), k)
    ratio = 0 if gaussian else 1 - one_minus_exp_up(1 / scale)  # [ratio]
    bound = scaled_log_up(2 * scale * scale if gaussian else scale, 2 / ((1 + ratio) * each))  # [bound]
    if math.isinf(bound):
        return bound  # [no-bound]
    over = math.ceil(bound) - 1  # [over]
    return _least_gaussian(scale, each, math.isqrt(over)) if gaussian else over  # [size]


def _each(alpha: Fraction, k: int) -> Fraction:
    """A number > 0, not above the probability of one of ``k`` equal independent events of which one has ``alpha``."""
    return alpha if k == 1 else one_minus_exp_down(log1p_down(alpha / (1 - alpha)) / k)  # [each]


def _least_gaussian(scale: Fraction, each: Fraction, surely: int) -> int:
    """A size, up to ``surely``, beyond which a draw is with a probability of at most ``each``, and nearly the least."""
    near, close = _near(scale, each), max(1, int(scale / _CLOSE))
    places, low, high = [near - close, near, near + close], -1, surely
    while high - low > close:
        middle = min(max(places.pop(), low + 1), high - 1) if places else (low + high) // 2
        if 2 * gaussian_beyond(scale, middle + 1) <= each:
            high = middle  # [enough]
        else:
            low = middle
    return high


def _near(scale: Fraction, each: Fraction) -> int:
    """About the size beyond which normal noise is with a probability of ``each``: where a search begins."""
    share = float(each) / 2
    return int(exact(-NormalDist().inv_cdf(share)) * scale) if share > 0 else 0


# end-proof-region: discrete_law
