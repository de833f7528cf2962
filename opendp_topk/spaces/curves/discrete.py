"""Tight privacy curves of discrete noise on one integer of bounded sensitivity.

Proof: proofs/spaces/curves/discrete.tex
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpfr, mpq, mpz

from ...errors.checks import Number
from ...numerics.arithmetic import Intervals, exp_up, one_minus_exp_up, round_up, to_fraction

# Bits of a weight: 2^-320 is below the weight e^-200 of an integer 20 standard deviations away. The table of weights
# for a scale of 1024 takes almost a second; for wider noise the curve of its rho is nearly as good.
# proof-region: discrete
_DIGITS, _REACH, _LARGEST = 320, 20, 1024


@dataclass(frozen=True)
class DiscreteLaplace:
    """The tight curve of discrete Laplace noise of ``scale`` > 0 on an integer that changes by at most ``shift``."""

    shift: int
    scale: Fraction

    def __call__(self, epsilon: Number) -> float:
        e, b = to_fraction(epsilon), self.scale
        if e * b >= self.shift:
            return 0.0  # [beyond-laplace]
        first = math.floor((self.shift + e * b) / 2) + 1  # [first-laplace]
        kept = _exp_down((self.shift - first + 1) / b) + _exp_down(first / b - e)
        return _round_delta_up(1 - kept / (1 + exp_up(-1 / b)))  # [laplace-curve]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, DiscreteLaplace) and self.shift <= other.shift and self.scale == other.scale


@dataclass(frozen=True)
class DiscreteGaussian:
    """The tight curve of discrete Gaussian noise of ``scale`` > 0 on an integer that changes by at most ``shift``.

    If ``scale`` is above 1024 and ``shift`` is not 0, it is the trivial bound 1. The curve of the rho is nearly tight
    then.
    """

    shift: int
    scale: Fraction

    def __call__(self, epsilon: Number) -> float:
        if self.shift == 0:
            return 0.0  # [unmoved]
        if self.scale > _LARGEST:
            return 1.0  # [too-wide]
        e = to_fraction(epsilon)
        first = math.floor(e * self.scale**2 / self.shift + Fraction(self.shift, 2)) + 1  # [first-gaussian]
        lower, upper = _gaussian_tail_sums(self.scale)
        kept = _tail_sum_at(lower, first) / exp_up(-e)  # [kept]
        return _round_delta_up((_tail_sum_at(upper, first - self.shift) - kept) / lower[0])  # [gaussian-curve]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, DiscreteGaussian) and self.shift <= other.shift and self.scale == other.scale


@functools.lru_cache(maxsize=16)
def _gaussian_tail_sums(scale: Fraction) -> tuple[list[int], list[int]]:
    """Return bounds on the sums of e^(-x^2 / (2 scale^2)) 2^320 over x >= y, y = -n - 1, ..., n + 1; n >= 20 scale."""
    intervals, squares = Intervals(_DIGITS), mpq(2 * scale.numerator**2, scale.denominator**2)
    n = math.ceil(_REACH * scale)
    ends = [intervals.exp(intervals.rational(-(mpz(x) ** 2) / squares)) for x in range(n + 1)]  # [weights]
    lower, upper = [_whole_units(low) for low, _ in ends], [_whole_units(high) + 1 for _, high in ends]  # [units]
    return _suffix_sums(lower, 0), _suffix_sums(upper, math.ceil(scale) * upper[n])  # [rest]


def _suffix_sums(weights: list[int], rest: int) -> list[int]:
    """Return sums over x >= y for y = -n - 1, ..., n + 1; ``rest`` is the sum beyond n at either end."""
    return list(itertools.accumulate([rest, *weights[:0:-1], *weights, rest]))[::-1]  # [sums]


def _tail_sum_at(sums: list[int], y: int) -> int:
    """Return the bound on the sum over x >= y."""
    n = len(sums) // 2 - 1
    return sums[min(max(y, -n - 1), n + 1) + n + 1]  # [place]


def _whole_units(weight: mpfr) -> int:
    """Return the number of whole units 2^-320 in a weight."""
    numerator, denominator = weight.as_integer_ratio()
    return int((numerator << _DIGITS) // denominator)  # [whole-units]


def _exp_down(x: Fraction) -> Fraction:
    """Return a number not above e^-x, for x >= 0."""
    return 1 - one_minus_exp_up(x)  # [exp-down]


def _round_delta_up(value: Fraction) -> float:
    return round_up(min(Fraction(1), value))  # [delta-up]


# end-proof-region: discrete
