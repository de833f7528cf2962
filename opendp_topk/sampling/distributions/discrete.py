"""Tail probabilities, quantiles and ranges of discrete noise."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from fractions import Fraction
from statistics import NormalDist

from ...errors import ParameterError
from ...numerics.arithmetic import (
    Interval,
    Intervals,
    as_mpq,
    exp_up,
    log1p_down,
    one_minus_exp_down,
    one_minus_exp_up,
    round_up,
    scaled_log_up,
    to_fraction,
)

# Tail probabilities of discrete Gaussian noise, rounded up.
#
# Proof: proofs/distributions/gaussian_tail.tex

# Integers per scale that are summed one by one. If there are more, each of equal blocks of them is bounded by the chord
# between its ends. For integers around z the relative excess over the sum is about (z / scale)^2 2^-24 / 12.
_FINE = 4096
_SMALL = 2  # for smaller scales all weights are summed: they exceed the integral by 10^-34 at scale 2, 10^-8 at scale 1
_WIDE = 40  # in scales: larger integers have weights below 2^-1154, which are omitted
_UNIT = 128  # bits of a weight, relative to the first one
_GONE = 64  # bits: smaller weights, relative to the first one, are bounded together
_ROOT = Fraction(25066282746310005, 10**16)  # the square root of 2 pi, rounded down: 2.5066282746310005024...


# proof-region: gaussian_tail
@functools.lru_cache(maxsize=256)
def gaussian_tail_bound(scale: Fraction, least: int) -> Fraction:
    """Return an upper bound, at most 1/2, on P(Z >= least) for discrete Gaussian noise Z and least >= 1.

    The bound is a float64, as a ``Fraction``.

    Args:
        scale: P(z) is proportional to exp(-z^2 / (2 scale^2)), scale > 0.
        least: An integer >= 1.
    """
    block = max(1, int(scale / _FINE))
    if block > 1 and least < scale:
        return Fraction(1, 2)  # [symmetric]
    first = exp_up(-Fraction(least * least) / (2 * scale * scale))  # [first]
    found = first * _relative_tail_sum(scale, least, block) / _total_weight(scale)  # [quotient]
    return min(Fraction(1, 2), to_fraction(round_up(found)))  # [tail-up]


def _relative_tail_sum(scale: Fraction, least: int, block: int) -> Fraction:
    """Return an upper bound on the sum of all weights from ``least`` on, relative to the first."""
    step, square = Fraction(block), 2 * scale * scale
    ratio, shrink = (
        _ceil_units(exp_up(-(2 * least * step + step * step) / square)),
        _ceil_units(exp_up(-2 * step * step / square)),
    )
    weight, total = 1 << _UNIT, 0
    while weight >> (_UNIT - _GONE):
        total += weight
        weight, ratio = _multiply_up(weight, ratio), _multiply_up(ratio, shrink)  # [next]
    rest = Fraction(weight, 1 << _UNIT) / (1 - Fraction(ratio, 1 << _UNIT))  # [rest]
    return block * (Fraction(total, 1 << _UNIT) + rest) - Fraction(block - 1, 2)  # [blocks]


def _total_weight(scale: Fraction) -> Fraction:
    """Return a lower bound on the sum of all weights."""
    if scale >= _SMALL:
        return scale * _ROOT  # [integral]
    ends = range(1, int(_WIDE * scale) + 2)
    return 1 + 2 * sum(
        (1 - one_minus_exp_up(Fraction(z * z) / (2 * scale * scale)) for z in ends), Fraction(0)
    )  # [all]


def _ceil_units(value: Fraction) -> int:
    return -((-value.numerator << _UNIT) // value.denominator)  # [units-up]


def _multiply_up(one: int, other: int) -> int:
    return -(-one * other >> _UNIT)  # [product-up]


# end-proof-region: gaussian_tail


# Largest absolute values and ranges of several independent draws of discrete noise.
#
# Proof: proofs/distributions/discrete.tex

_CLOSE = 2**20  # integers per scale: for wider noise the exact search would be slow, so the result is approximate
_WINDOWS = 48  # half the number of blocks: a range is too large by about 1 / 100
_PRECISION = 128  # bits beyond those of the number of draws


# proof-region: discrete_law
def largest_noise(scale: Fraction, k: int, alpha: Fraction | float, *, gaussian: bool) -> float:
    """Return the smallest integer that the largest absolute value of k draws exceeds with probability at most alpha.

    It may be too large: by one if the probability is nearly alpha, and by a millionth of the scale if that is above a
    million. It is infinity if a bound overflows float64: for Laplace noise beyond 10^308, for Gaussian noise beyond
    about 10^154.

    Args:
        scale: The scale of the noise, >= 0.
        k: The number of draws, >= 1.
        alpha: The probability of failure, in (0, 1).
        gaussian: Whether the noise is discrete Gaussian; otherwise it is discrete Laplace.

    Raises:
        ParameterError: An argument is out of range.
    """
    if scale < 0 or k < 1 or not 0 < alpha < 1:
        raise ParameterError("largest_noise requires scale >= 0, k >= 1 and alpha in (0, 1)")  # [check]
    if scale == 0:
        return 0  # [no-noise]
    each = _per_draw_probability(to_fraction(alpha), k)
    ratio = 0 if gaussian else 1 - one_minus_exp_up(1 / scale)  # [ratio]
    bound = scaled_log_up(2 * scale * scale if gaussian else scale, 2 / ((1 + ratio) * each))  # [bound]
    if math.isinf(bound):
        return bound  # [no-bound]
    over = math.ceil(bound) - 1  # [over]
    return _least_gaussian(scale, each, math.isqrt(over)) if gaussian else over  # [size]


def largest_fall(scale: Fraction, alpha: Fraction | float, *, gaussian: bool) -> float:
    """Return the smallest integer n >= 0 such that one draw is below -n with probability at most alpha.

    The arguments, errors and accuracy are those of :func:`largest_noise` for k = 1, except that the result is 0 for
    1/2 <= alpha < 1: the noise is symmetric.
    """
    both = 2 * to_fraction(alpha)
    if both >= 1 and alpha < 1 and scale >= 0:
        return 0  # [no-fall]
    return largest_noise(scale, 1, both, gaussian=gaussian)  # [one-side]


def _per_draw_probability(alpha: Fraction, k: int) -> Fraction:
    """Return a probability > 0 for each of ``k`` independent events.

    The probability that at least one of them occurs is at most ``alpha``.
    """
    return alpha if k == 1 else one_minus_exp_down(log1p_down(alpha / (1 - alpha)) / k)  # [each]


def _least_gaussian(scale: Fraction, each: Fraction, surely: int) -> int:
    """Return about the smallest size, at most ``surely``, that a draw exceeds with probability at most ``each``."""
    near, close = _estimate_quantile(scale, each), max(1, int(scale / _CLOSE))
    places, low, high = [near - close, near, near + close], -1, surely
    while high - low > close:
        middle = min(max(places.pop(), low + 1), high - 1) if places else (low + high) // 2
        if 2 * gaussian_tail_bound(scale, middle + 1) <= each:
            high = middle  # [enough]
        else:
            low = middle
    return high


def _estimate_quantile(scale: Fraction, each: Fraction) -> int:
    """Return about the size that normal noise exceeds with probability ``each``, as the start of a search."""
    share = float(each) / 2
    return int(to_fraction(-NormalDist().inv_cdf(share)) * scale) if share > 0 else 0


# end-proof-region: discrete_law


# proof-region: discrete_range
@functools.lru_cache(maxsize=256)
def largest_range(scale: Fraction, k: int, alpha: Fraction | float, *, gaussian: bool) -> float:
    """Return a number that the largest minus the smallest of k draws exceeds with probability at most alpha.

    It is at most twice the value of :func:`largest_noise`. For 20 or more draws it is about 2 % above the smallest such
    number. For fewer draws it is larger, because 0 is included among them. It is infinity beyond the largest float64.

    Args:
        scale: The scale of the noise, >= 0.
        k: The number of draws, >= 1.
        alpha: The probability of failure, in (0, 1).
        gaussian: Whether the noise is discrete Gaussian; otherwise it is discrete Laplace.

    Raises:
        ParameterError: An argument is out of range.
    """
    surely = 2 * largest_noise(scale, k, alpha, gaussian=gaussian)  # [surely]
    if k == 1 or surely == 0:
        return 0  # [one-draw]
    if surely > sys.float_info.max:
        return math.inf  # [too-large]
    block = max(1, int(surely) // (2 * _WINDOWS))
    low, high = 0, int(surely) // block  # [widths]
    while high - low > 1:
        middle = (low + high) // 2
        if _window_probability(scale, k, block, middle, gaussian) >= 1 - to_fraction(alpha):
            high = middle  # [likely]
        else:
            low = middle
    found = _window_probability(scale, k, block, high, gaussian) >= 1 - to_fraction(alpha)
    return min(surely, high * block) if found else surely  # [least]


def _window_probability(scale: Fraction, k: int, block: int, count: int, gaussian: bool) -> Fraction:
    """Return a lower bound on the probability that all draws and 0 are within a window of ``count`` blocks."""
    tails = [_tail_bound(scale, place * block + 1, gaussian) for place in range(count + 1)]
    tails = list(itertools.accumulate(reversed(tails), max))[::-1]  # [falling]
    at = Intervals(_PRECISION + k.bit_length())
    total = at.rational(0)
    for left, right in zip(tails, reversed(tails), strict=True):
        total = at.add(total, _power_interval(at, 1 - left - right, k))  # [windows]
    for left, right in zip(tails, reversed(tails[:-1]), strict=False):
        total = at.add(total, at.negative(_power_interval(at, 1 - left - right, k)))  # [both-windows]
    numerator, denominator = total[0].as_integer_ratio()  # [lower-end]
    return Fraction(int(numerator), int(denominator))


def _power_interval(at: Intervals, p: Fraction, k: int) -> Interval:
    """Return p^k, for 0 <= p < 1."""
    return at.exp(at.multiply(at.rational(k), at.log1p(at.rational(as_mpq(p - 1))))) if p else at.rational(0)  # [power]


def _tail_bound(scale: Fraction, least: int, gaussian: bool) -> Fraction:
    """Return an upper bound, at most 1/2, on the probability that a draw is at least ``least`` >= 1."""
    if gaussian:
        return gaussian_tail_bound(scale, least)  # [gaussian-tail]
    ratio = 1 - one_minus_exp_up(1 / scale)
    return min(Fraction(1, 2), exp_up(-least / scale) / (1 + ratio))  # [laplace-tail]


# end-proof-region: discrete_range
