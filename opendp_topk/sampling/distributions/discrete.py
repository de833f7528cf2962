"""Distributions and tails of noise on integers, and bounds on unions of events."""

from __future__ import annotations

import functools
import itertools
import math
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

# How likely discrete Gaussian noise reaches a number, rounded up.
#
# Proof: proofs/distributions/gaussian_tail.tex

# Integers to a scale that are summed one by one. Where there are more, equal blocks of them are bounded by their ends,
# which exceeds the sum by a part of (z / scale)^2 2^-26 / 12 at most, for integers around z.
_FINE = 4096
_SMALL = 2  # scales below it have a sum of all weights that is more than the integral, by 10^-8 and not by 10^-34
_WIDE = 40  # in scales: beyond it weights are below 2^-1155, which is what they are taken for
_UNIT = 128  # binary digits of a weight, in proportion to the first one
_GONE = 64  # binary digits: what is smaller, in proportion to the first weight, is bounded at once
_ROOT = Fraction(25066282746310005, 10**16)  # the root of 2 pi, cut off: 2.5066282746310005024...


# proof-region: gaussian_tail
@functools.lru_cache(maxsize=256)
def gaussian_tail_bound(scale: Fraction, least: int) -> Fraction:
    """A float64, at most 1/2, that is not below P(Z >= least), for discrete Gaussian noise Z and least >= 1.

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
    """The sum of all weights from ``least`` on, in proportion to the first, or more."""
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
    """The sum of all weights, or less."""
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


# How large discrete noise can be, and how far draws of it lie apart: bounds for several independent draws at once.
#
# Proof: proofs/distributions/discrete.tex

_CLOSE = 2**20  # integers to a scale: of wider noise the least size is not searched for exactly, which takes long
_WINDOWS = 48  # about half the number of blocks that are told apart: a range is too large by about a part of 1 / 100
_PRECISION = 128  # binary digits beyond those of alpha and of the number of draws


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
    each = _per_draw_probability(to_fraction(alpha), k)
    ratio = 0 if gaussian else 1 - one_minus_exp_up(1 / scale)  # [ratio]
    bound = scaled_log_up(2 * scale * scale if gaussian else scale, 2 / ((1 + ratio) * each))  # [bound]
    if math.isinf(bound):
        return bound  # [no-bound]
    over = math.ceil(bound) - 1  # [over]
    return _least_gaussian(scale, each, math.isqrt(over)) if gaussian else over  # [size]


def largest_fall(scale: Fraction, alpha: Fraction | float, *, gaussian: bool) -> float:
    """The least integer >= 0 below whose negative one draw is, but with a probability of at most alpha.

    It may be too large as :func:`largest_noise` may, whose arguments and errors it has.
    """
    both = 2 * to_fraction(alpha)
    if both >= 1 and alpha < 1:
        return 0  # [no-fall]
    return largest_noise(scale, 1, both, gaussian=gaussian)  # [one-side]


def _per_draw_probability(alpha: Fraction, k: int) -> Fraction:
    """A number > 0, not above the probability of one of ``k`` equal independent events of which one has ``alpha``."""
    return alpha if k == 1 else one_minus_exp_down(log1p_down(alpha / (1 - alpha)) / k)  # [each]


def _least_gaussian(scale: Fraction, each: Fraction, surely: int) -> int:
    """A size, up to ``surely``, beyond which a draw is with a probability of at most ``each``, and nearly the least."""
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
    """About the size beyond which normal noise is with a probability of ``each``: where a search begins."""
    share = float(each) / 2
    return int(to_fraction(-NormalDist().inv_cdf(share)) * scale) if share > 0 else 0


# end-proof-region: discrete_law


# proof-region: discrete_range
@functools.lru_cache(maxsize=256)
def largest_range(scale: Fraction, k: int, alpha: Fraction | float, *, gaussian: bool) -> float:
    """A number by which the largest of k independent draws exceeds the smallest but with a probability <= alpha.

    At most twice what :func:`largest_noise` gives. For 20 or more draws it is about the least, too large by a
    fiftieth; of a few it is larger, since 0 is counted among the draws.

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
    if math.isinf(surely):
        return surely
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
    """A lower bound on the probability that all draws and 0 lie in a window of ``count`` blocks."""
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
    """p^k, for 0 <= p < 1."""
    return at.exp(at.multiply(at.rational(k), at.log1p(at.rational(as_mpq(p - 1))))) if p else at.rational(0)  # [power]


def _tail_bound(scale: Fraction, least: int, gaussian: bool) -> Fraction:
    """A number, at most 1/2, that is not below the probability that a draw is at least ``least`` >= 1."""
    if gaussian:
        return gaussian_tail_bound(scale, least)  # [gaussian-tail]
    ratio = 1 - one_minus_exp_up(1 / scale)
    return min(Fraction(1, 2), exp_up(-least / scale) / (1 + ratio))  # [laplace-tail]


# end-proof-region: discrete_range
