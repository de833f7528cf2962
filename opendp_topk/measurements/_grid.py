"""The grid on which noise is added to scores: the integers or, for floats, the multiples of a declared step.

Floats are first rounded to the grid. Rounding moves scores, so it changes the distance between neighbouring datasets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, checks
from ..numerics.arithmetic import printed_fraction
from ..spaces.domains import VectorDomain

Array = NDArray[Any]

_LARGE = 2**62  # the sum of two integers below it fits in int64
_INT64 = range(-(2**63), 2**63)


# proof-region: grid
@dataclass(frozen=True)
class Grid:
    """The multiples of ``step``. If ``rounds`` is true, scores are floats and are rounded to the grid."""

    step: Fraction
    rounds: bool

    def add_noise(self, scores: Array, noise: Array) -> Array:
        """Return the scores on the grid plus ``noise`` steps.

        Integer scores give int64 if all sums fit, otherwise Python integers. Float scores give the float64 nearest to
        each multiple of the step. The result may overwrite ``noise``.
        """
        if not self.rounds:
            terms = _to_overflow_safe(scores), _to_overflow_safe(noise)
            own = noise if terms[1] is noise and terms[0].dtype == noise.dtype else None
            return narrow_to_int64(np.add(*terms, out=own))  # [sum]
        top, bottom = self.step.as_integer_ratio()
        total = [
            self.nearest_step_count(x) + z for x, z in zip(scores.tolist(), noise.tolist(), strict=True)
        ]  # [sum-of-steps]
        return np.array([_divide_or_infinity(n * top, bottom) for n in total], dtype=np.float64)  # [release]

    def nearest_step_count(self, score: float) -> int:
        """Return the number of steps in the multiple nearest to ``score``, rounding half up."""
        (top, bottom), (n, d) = self.step.as_integer_ratio(), score.as_integer_ratio()
        return (2 * n * bottom + d * top) // (2 * d * top)  # [half-up]

    def largest_change(self, distance: Fraction) -> Fraction:
        """Return a bound on the change of one score on the grid, for at most ``distance`` > 0 before rounding."""
        if not self.rounds:
            return Fraction(math.floor(distance))  # [l-inf-integers]
        return self.step * math.ceil(distance / self.step)  # [l-inf]

    def l1_distance_bound(self, distance: Fraction, size: int | None) -> Fraction:
        """Return a bound on the L1 distance on the grid, for at most ``distance`` > 0 before rounding."""
        if not self.rounds:
            return Fraction(math.floor(distance))  # [l1-integers]
        assert size is not None
        return self.step * (size + math.ceil(distance / self.step) - 1)  # [l1]

    def squared_l2_bound(self, distance: Fraction, size: int | None) -> Fraction:
        """Return a bound on the squared L2 distance on the grid, for at most ``distance`` > 0 before rounding."""
        if not self.rounds:
            return Fraction(math.floor(distance * distance))  # [l2-integers]
        assert size is not None
        whole = math.ceil((distance / self.step) ** 2) - 1  # [whole]
        return self.step * self.step * (whole + 2 * math.isqrt(whole * size) + size)  # [l2]


def build_grid(input_domain: VectorDomain, granularity: Any, *, sized: bool) -> Grid:
    """Return the grid for scores of this domain.

    If ``sized`` is true and scores are rounded, the domain must declare its size.
    """
    if input_domain.element_domain.T is int:
        if granularity is not None:
            raise ParameterError("granularity must be omitted: integer scores get integer noise")  # [integers]
        return Grid(Fraction(1), rounds=False)
    if granularity is None:
        raise ParameterError("granularity must be given for float scores: the step to which they are rounded")
    step = printed_fraction(checks.require_scale(granularity, "granularity"))  # [step-as-written]
    if step == 0:
        raise ParameterError("granularity must be > 0")  # [positive]
    if sized and input_domain.size is None:
        raise ParameterError(
            "input_domain must declare its size: rounding to the grid changes every score by up to half a "
            "step, so the loss grows with the number of scores"
        )  # [sized]
    return Grid(step, rounds=True)


def _to_overflow_safe(values: Array) -> Array:
    """Return ``values`` as int64 if no sum of two can overflow, otherwise as Python integers."""
    if values.dtype == np.int64 and values.min() > -_LARGE and values.max() < _LARGE:
        return values  # [no-overflow]
    return values.astype(object)


def narrow_to_int64(values: Array) -> Array:
    """Return an array of Python integers as int64 if all of them fit; return other arrays unchanged."""
    fits = values.dtype == object and min(values) in _INT64 and max(values) in _INT64
    return values.astype(np.int64) if fits else values  # [narrow]


def _divide_or_infinity(top: int, bottom: int) -> float:
    try:
        return top / bottom  # [nearest-float]
    except OverflowError:
        return math.inf if top > 0 else -math.inf


# end-proof-region: grid
