"""How likely discrete Gaussian noise reaches a number, rounded up.

Proof: proofs/distributions/gaussian_tail.tex
"""

from __future__ import annotations

import functools
from fractions import Fraction

from ...numerics.arithmetic import exact, exp_up, one_minus_exp_up, round_up

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
def gaussian_beyond(scale: Fraction, least: int) -> Fraction:
    """A float64, at most 1/2, that is not below P(Z >= least), for discrete Gaussian noise Z and least >= 1.

    Args:
        scale: P(z) is proportional to exp(-z^2 / (2 scale^2)), scale > 0.
        least: An integer >= 1.
    """
    block = max(1, int(scale / _FINE))
    if block > 1 and least < scale:
        return Fraction(1, 2)  # [symmetric]
    first = exp_up(-Fraction(least * least) / (2 * scale * scale))  # [first]
    found = first * _in_proportion(scale, least, block) / _all(scale)  # [quotient]
    return min(Fraction(1, 2), exact(round_up(found)))  # [tail-up]


def _in_proportion(scale: Fraction, least: int, block: int) -> Fraction:
    """The sum of all weights from ``least`` on, in proportion to the first, or more."""
    step, square = Fraction(block), 2 * scale * scale
    ratio, shrink = (
        _units(exp_up(-(2 * least * step + step * step) / square)),
        _units(exp_up(-2 * step * step / square)),
    )
    weight, total = 1 << _UNIT, 0
    while weight >> (_UNIT - _GONE):
        total += weight
        weight, ratio = _times(weight, ratio), _times(ratio, shrink)  # [next]
    rest = Fraction(weight, 1 << _UNIT) / (1 - Fraction(ratio, 1 << _UNIT))  # [rest]
    return block * (Fraction(total, 1 << _UNIT) + rest) - Fraction(block - 1, 2)  # [blocks]


def _all(scale: Fraction) -> Fraction:
    """The sum of all weights, or less."""
    if scale >= _SMALL:
        return scale * _ROOT  # [integral]
    ends = range(1, int(_WIDE * scale) + 2)
    return 1 + 2 * sum(
        (1 - one_minus_exp_up(Fraction(z * z) / (2 * scale * scale)) for z in ends), Fraction(0)
    )  # [all]


def _units(value: Fraction) -> int:
    return -((-value.numerator << _UNIT) // value.denominator)  # [units-up]


def _times(one: int, other: int) -> int:
    return -(-one * other >> _UNIT)  # [product-up]


# end-proof-region: gaussian_tail
