"""The probability that a slot with a small score is ranked above the stop symbol, and the threshold for a delta.

Proof: proofs/measurements/unknown_domain_top_k.tex
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import Intervals, as_mpq, exp_up, one_minus_exp_up, round_up, to_fraction
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import is_standard

_FARTHEST = Fraction(800)  # in scales: beyond it the probability is below every positive float64
_PRECISION = 128  # binary digits beyond those that cancel


# proof-region: stop
def released_before_stop(noise: Noise, slots: int, lead: Fraction) -> Fraction:
    """Return an upper bound of the probability that at least one of ``slots`` equal scores beats the stop symbol.

    Args:
        noise: Gumbel or exponential noise.
        slots: The number of equal scores, >= 1.
        lead: The score of the stop symbol minus that of a slot, in units of the scale; it may be negative.
    """
    if lead < 0:
        weight = 1 - one_minus_exp_up(-lead)  # [behind]
        return slots / (slots + weight) if noise.is_max_stable else 1 - weight / (slots + 1)  # [behind-delta]
    if noise.is_max_stable:
        odds = slots * exp_up(-lead)
        return odds / (1 + odds)  # [gumbel]
    return _exponential_win_bound(slots, min(lead, _FARTHEST))  # [exponential]


def _exponential_win_bound(slots: int, lead: Fraction) -> Fraction:
    """Return 1 - (1 - (1 - x)^(n+1)) / ((n+1) x) for n slots at x = e^-lead, rounded up."""
    if lead == 0:
        return Fraction(slots, slots + 1)  # [even]
    at = Intervals(_PRECISION + 3 * int(lead) + 2 * slots.bit_length())
    one = at.rational(1)
    x = at.exp(at.rational(as_mpq(-lead)))
    power = at.exp(at.multiply(at.rational(slots + 1), at.log1p(at.negative(x))))  # [power]
    ahead = at.divide(at.add(one, at.negative(power)), at.multiply(at.rational(slots + 1), x))
    numerator, denominator = at.add(one, at.negative(ahead))[1].as_integer_ratio()  # [upper-end]
    return max(Fraction(0), min(Fraction(1), Fraction(int(numerator), int(denominator))))


def is_within_delta(noise: Noise, slots: int, lead: Fraction, delta: Fraction) -> bool:
    """Return whether :func:`released_before_stop`, rounded up to a float64 as in maps, is at most ``delta``."""
    return to_fraction(round_up(released_before_stop(noise, slots, lead))) <= delta  # [keeps]


@functools.lru_cache(maxsize=256)
def least_lead(noise: Noise, slots: int, delta: Fraction) -> float:
    """Return the smallest float64 >= 0, or one close to it, that satisfies ``delta`` as lead of the stop symbol.

    Raises:
        ParameterError: delta is too small: no lead was found.
    """
    low, high = 0.0, 1.0
    if is_within_delta(noise, slots, Fraction(0), delta):
        return low
    while not is_within_delta(noise, slots, Fraction(high), delta):
        low, high = high, 2 * high
        if high > 2 * _FARTHEST:
            raise ParameterError("delta is too small: no threshold satisfies it")
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if is_within_delta(noise, slots, Fraction(middle), delta) else (middle, high)
    return high


def require_stop_noise(noise: Any) -> Noise:
    """Return ``noise`` if it is Gumbel or exponential noise, for which the probabilities are known."""
    if isinstance(noise, Noise) and is_standard(noise) and (noise.is_max_stable or noise.is_memoryless):
        return noise
    raise ParameterError("noise must be Gumbel() or Exponential()")


def stop_threshold(noise: Noise, slots: int, most: Fraction, tau: Fraction, delta: Any, threshold: Any) -> Fraction:
    """Return ``threshold`` or, if ``delta`` is given, about the smallest one that satisfies it.

    The scores of the ``slots`` are at most ``most``.
    """
    if (delta is None) == (threshold is None):
        raise ParameterError("give either delta or threshold, but not both")
    if delta is None:
        return to_fraction(checks.require_scale(threshold, "threshold"))  # [given]
    kept = to_fraction(checks.require_probability(delta, "delta"))
    level = _float_above(most + tau * to_fraction(least_lead(noise, slots, kept)))  # [least]
    while tau and not is_within_delta(noise, slots, (level - most) / tau, kept):  # [kept]
        level = _float_above(level + tau / 2**40)
    return level


def _float_above(level: Fraction) -> Fraction:
    rounded = round_up(level)
    return level if math.isinf(rounded) else to_fraction(rounded)  # [threshold-up]


# end-proof-region: stop


def threshold_as_float(level: Fraction) -> Number:
    """Return ``level`` as a float if it is a float64, otherwise unchanged."""
    return float(level) if level < 2**1000 and to_fraction(float(level)) == level else level
