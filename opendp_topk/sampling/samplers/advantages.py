"""Scores relative to a reference score, in units of the scale: (x_i - x_r) / scale, with outward bounds.

Selection depends on differences of scores only. Differences are exact, or rounded once, before the division, so they
stay accurate near the reference, however large the scores are and however small the scale.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import as_mpq, round_down, round_up
from ...numerics.floats import Floats

_RELATIVE = 2.0**-49  # margin for an advantage and a sum: sixteen times the error of one rounding
_ABSOLUTE = 2.0**-1060  # margin for subnormal numbers, whose errors are absolute
_HUGE = 2.0**1022  # advantages are clipped here, so adding noise does not overflow
_SMALLEST_NORMAL = Fraction(2) ** -1022  # smaller numbers have fewer digits, so their relative error may be large


@dataclass(frozen=True, eq=False)
class ScaledScores:
    """Scores with a scale > 0 and a direction: integers or finite floats of at most 64 bits, or Python integers.

    Scores of fewer than 64 bits are widened by :meth:`take`, so the arguments ``values`` of the other methods are
    int64, uint64, Python integers or float64.
    """

    values: NDArray[Any]
    scale: Fraction
    sign: int

    # proof-region: advantages
    def take(self, where: Any) -> NDArray[Any]:
        """Return some of the scores, in the widest type of their kind."""
        return widen_scores(self.values[where])

    def exact_advantage(self, index: int, reference: Any) -> Fraction:
        return (
            self.sign
            * (Fraction(_to_python_number(self.values[index])) - Fraction(_to_python_number(reference)))
            / self.scale
        )  # [exact]

    def approximate_advantages(self, values: NDArray[Any], reference: Any) -> Floats:
        """Return the advantages of ``values`` (a part of the scores), each within 2^-50 of itself + 2^-1070.

        ``reference`` is one score for all, or an array with one score for each. An advantage above the largest float64
        is infinite.
        """
        if self._float_divisor is not None and values.dtype != object:
            differences = _rounded_differences(values, reference)
            if np.isfinite(differences).all():  # [no-overflow]
                return differences / self._float_divisor  # [divide]
        references = np.broadcast_to(np.asarray(reference, dtype=values.dtype), values.shape)  # [each]
        pairs = zip(values, references, strict=True)
        return np.array(
            [_nearest_float(self.sign * self._scaled_difference(value, origin)) for value, origin in pairs]
        )  # [ratio]

    def may_exceed(self, values: NDArray[Any], bound: Fraction, reference: Any) -> NDArray[np.bool_]:
        """Return a mask of the ``values`` with an advantage above ``bound``; it may include some at or below it."""
        return self.exceedance_test(bound, reference)(values)

    def exceedance_test(self, bound: Fraction | mpq, reference: Any) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
        """Return :meth:`may_exceed` for one bound, as a function of the values."""
        cut = mpq(_to_python_number(reference)) + self._signed_scale * as_mpq(bound)
        if self.values.dtype.kind == "f":
            limit: Any = _round_cut(cut, self.sign)  # [float-cut]
        else:
            limit = int(math.floor(cut) if self.sign > 0 else math.ceil(cut))  # [integer-cut]
        compare: Any = np.greater if self.sign > 0 else np.less
        return lambda values: np.asarray(compare(values, limit), dtype=np.bool_)  # [compare]

    @functools.cached_property
    def _signed_scale(self) -> mpq:
        return self.sign * as_mpq(self.scale)

    @functools.cached_property
    def _float_divisor(self) -> float | None:
        """``sign * scale`` as a float64 that is exact or a normal number; None if no such float64 exists."""
        try:
            nearest = float(self.scale)  # [nearest-scale]
        except OverflowError:
            return None
        normal = Fraction(nearest) == self.scale or self.scale >= _SMALLEST_NORMAL
        return self.sign * nearest if normal else None

    # end-proof-region: advantages

    def _scaled_difference(self, value: Any, reference: Any) -> Fraction:
        return (Fraction(_to_python_number(value)) - Fraction(_to_python_number(reference))) / self.scale


# proof-region: advantage-bounds
def noisy_bounds(advantages: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return bounds on advantage + noise, if ``lower <= noise <= upper``; no bound is NaN."""
    return noisy_lower(advantages, lower), noisy_upper(advantages, upper)  # [both]


def noisy_lower(advantages: Floats, lower: Floats) -> Floats:
    """Return the lower bound of :func:`noisy_bounds`."""
    below = np.minimum(advantages, _HUGE)  # [clip]
    return (below + lower) - ((np.abs(below) + np.abs(lower)) * _RELATIVE + _ABSOLUTE)  # [noisy-lower]


def noisy_upper(advantages: Floats, upper: Floats) -> Floats:
    """Return the upper bound of :func:`noisy_bounds`."""
    above = np.maximum(advantages, -_HUGE)
    return (above + upper) + ((np.abs(above) + np.abs(upper)) * _RELATIVE + _ABSOLUTE)  # [noisy-upper]


def _rounded_differences(values: NDArray[Any], reference: Any) -> Floats:
    if values.dtype == np.float64:
        return np.asarray(values - reference)  # [float-difference]
    raw, origin = values.view(np.uint64), np.asarray(reference).view(np.uint64)
    smaller = -(values < reference).astype(np.int64)  # 0 or -1: all are computed alike, so signs take no time
    magnitude = ((raw - origin) ^ smaller.view(np.uint64)) - smaller.view(np.uint64)  # [modular-difference]
    return np.asarray(np.copysign(magnitude.astype(np.float64), smaller.astype(np.float64)))  # [sign]


# end-proof-region: advantage-bounds


_WIDEST = {"i": np.int64, "u": np.uint64, "f": np.float64, "O": np.object_}


def widen_scores(values: NDArray[Any]) -> NDArray[Any]:
    """Return ``values`` as int64, uint64, float64 or Python integers: the same numbers."""
    return values.astype(_WIDEST[values.dtype.kind], copy=False)  # [widest]


# proof-region: float-cuts
def _round_cut(cut: mpq, sign: int) -> float:
    """Return the largest float64 not above ``cut``, or, if ``sign`` is negative, the smallest not below it."""
    try:
        nearest = int(cut.numerator) / int(cut.denominator)  # [nearest-cut]
    except OverflowError:
        return round_down(_to_fraction(cut)) if sign > 0 else round_up(_to_fraction(cut))
    return math.nextafter(nearest, -sign * math.inf) if sign * mpq(nearest) > sign * cut else nearest  # [step]


# end-proof-region: float-cuts


def _to_fraction(ratio: mpq) -> Fraction:
    return Fraction(int(ratio.numerator), int(ratio.denominator))


def _nearest_float(ratio: Fraction) -> float:
    try:
        return float(ratio)
    except OverflowError:
        positive = ratio > 0
    return np.inf if positive else -np.inf


def _to_python_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
