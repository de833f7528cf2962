"""The grid on which noise is added to scores: the integers, or the multiples of a declared step for floats.

Floats are rounded to the grid first. The rounding moves scores, so it changes how far neighbours are apart.
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

_LARGE = 2**62  # two integers below it have a sum that 64 bits hold
_INT64 = range(-(2**63), 2**63)


# proof-region: grid
@dataclass(frozen=True)
class Grid:
    """The multiples of ``step``; ``rounds`` says whether scores are floats, which are rounded to it."""

    step: Fraction
    rounds: bool

    def add_noise(self, scores: Array, noise: Array) -> Array:
        """The scores on the grid plus ``noise`` steps: integers, or the float64 numbers nearest to multiples.

        ``noise`` is used up: the sum may take its place.
        Integers are int64 where all of them fit, and Python integers otherwise.
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
        """The number of steps in the multiple nearest to ``score``; halfway, in the one above."""
        (top, bottom), (n, d) = self.step.as_integer_ratio(), score.as_integer_ratio()
        return (2 * n * bottom + d * top) // (2 * d * top)  # [half-up]

    def largest_change(self, distance: Fraction) -> Fraction:
        """How far one score on the grid moves at most, if before rounding it moves by ``distance`` > 0 at most."""
        if not self.rounds:
            return Fraction(math.floor(distance))  # [l-inf-integers]
        return self.step * math.ceil(distance / self.step)  # [l-inf]

    def l1_distance_bound(self, distance: Fraction, size: int | None) -> Fraction:
        """A bound on the L1 distance on the grid, if before rounding it is ``distance`` > 0 at most."""
        if not self.rounds:
            return Fraction(math.floor(distance))  # [l1-integers]
        assert size is not None
        return self.step * (size + math.ceil(distance / self.step) - 1)  # [l1]

    def squared_l2_bound(self, distance: Fraction, size: int | None) -> Fraction:
        """A bound on the square of the L2 distance on the grid, if before rounding it is ``distance`` > 0 at most."""
        if not self.rounds:
            return Fraction(math.floor(distance * distance))  # [l2-integers]
        assert size is not None
        whole = math.ceil((distance / self.step) ** 2) - 1  # [whole]
        return self.step * self.step * (whole + 2 * math.isqrt(whole * size) + size)  # [l2]


def build_grid(input_domain: VectorDomain, granularity: Any, *, sized: bool) -> Grid:
    """The grid for scores of this domain; ``sized`` demands the size of the domain where scores are rounded."""
    if input_domain.element_domain.T is int:
        if granularity is not None:
            raise ParameterError("granularity must be left out: integer scores get integer noise")  # [integers]
        return Grid(Fraction(1), rounds=False)
    if granularity is None:
        raise ParameterError("granularity must be given for float scores: the step of the grid they are rounded to")
    step = printed_fraction(checks.require_scale(granularity, "granularity"))  # [step-as-written]
    if step == 0:
        raise ParameterError("granularity must be > 0")  # [positive]
    if sized and input_domain.size is None:
        raise ParameterError(
            "input_domain must declare its size: rounding to the grid moves every score by up to half a step, so the "
            "loss grows with their number"
        )  # [sized]
    return Grid(step, rounds=True)


def _to_overflow_safe(values: Array) -> Array:
    """int64 where no sum of two can overflow, otherwise Python integers."""
    if values.dtype == np.int64 and values.min() > -_LARGE and values.max() < _LARGE:
        return values  # [no-overflow]
    return values.astype(object)


def narrow_to_int64(values: Array) -> Array:
    """int64 where Python integers fit, all of them; other arrays as they are."""
    fits = values.dtype == object and min(values) in _INT64 and max(values) in _INT64
    return values.astype(np.int64) if fits else values  # [narrow]


def _divide_or_infinity(top: int, bottom: int) -> float:
    try:
        return top / bottom  # [nearest-float]
    except OverflowError:
        return math.inf if top > 0 else -math.inf


# end-proof-region: grid
