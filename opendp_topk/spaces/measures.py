"""Privacy measures: divergences between the output distributions on two neighbouring inputs.

L(y) = ln P'(y) / P(y) is the privacy loss of an outcome y. Measures are frozen values. A privacy map returns a distance
of its output measure.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic

from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import round_up, to_fraction
from .curves.closed_forms import ApproximateDP
from .curves.curve import PrivacyCurve
from .type_parameters import Distance as Distance
from .type_parameters import Released as Released


class Measure(ABC, Generic[Distance]):
    """A divergence between output distributions.

    ``symbol`` is the usual letter for its distances. ``survives_mixing`` is true if mixtures of pairs of distributions,
    with the same weights on both sides, are at no larger distance than the pairs.
    """

    symbol: str
    survives_mixing: bool = False

    @abstractmethod
    def distance(self, value: Any, name: str) -> Distance:
        """Return ``value`` as a distance of this measure; numbers are rounded up to float64, privacy curves are not.

        Raises:
            ParameterError: ``value`` is negative, NaN, of another type, or has a delta above 1.
        """

    @abstractmethod
    def exact(self, value: Any, name: str) -> Any:
        """Return :meth:`distance` without rounding: each number is a ``Fraction`` or infinity; curves are unchanged."""

    @abstractmethod
    def at_most(self, loss: Any, budget: Any) -> bool:
        """Whether ``loss`` is within ``budget``. Numbers are compared exactly, curves as in :class:`PrivacyProfile`."""

    @property
    @abstractmethod
    def infinite(self) -> Distance:
        """The distance that gives no privacy guarantee."""


# A loss above the budget at one of these epsilons is not within it. If there is no such epsilon, this is unknown.
_PROBES = (0.0, *(2.0**power for power in range(-10, 11)))


# proof-region: profile
@dataclass(frozen=True)
class PrivacyProfile(Measure[PrivacyCurve]):
    """The privacy profile: (epsilon, delta)-differential privacy at every epsilon; distances are privacy curves.

    A curve is a bound for every epsilon >= 0 and every event A: P'(A) <= e^epsilon P(A) + curve.delta(epsilon), and
    the same with P and P' exchanged. A number epsilon is read as the curve of epsilon-DP, and a pair (epsilon, delta)
    as the curve that (epsilon, delta)-DP implies. OpenDP calls this measure the smoothed max-divergence.
    """

    symbol = "delta(epsilon)"
    survives_mixing = True  # [curves-mix]

    def distance(self, value: Any, name: str) -> PrivacyCurve:
        if isinstance(value, PrivacyCurve):
            return value
        if not isinstance(value, tuple):
            return PrivacyCurve(ApproximateDP(checks.require_distance(value, name)))  # [pure]
        if len(value) != 2:
            raise ParameterError(f"{name} must be a curve, a number epsilon or a pair (epsilon, delta)")
        delta = checks.require_distance(value[1], f"delta of {name}")
        if delta > 1:
            raise ParameterError(f"delta of {name} must be at most 1")
        return PrivacyCurve(ApproximateDP(checks.require_distance(value[0], name), delta))  # [pair]

    def exact(self, value: Any, name: str) -> PrivacyCurve:
        return self.distance(value, name)

    def at_most(self, loss: Any, budget: Any) -> bool:
        """Whether ``loss`` is within ``budget``. True is proved; a loss that is just within can give False.

        Raises:
            ParameterError: ``budget`` is a curve that can be neither shown to be met nor to be exceeded, or ``loss`` or
                ``budget`` is not a distance of this measure.
        """
        given, allowed = self.distance(loss, "loss"), self.distance(budget, "d_out")
        if all(_curve_implies(given, bound) for bound in allowed.bounds):
            return True  # [implied]
        if all(isinstance(bound, ApproximateDP) for bound in allowed.bounds):
            return False
        if any(given.delta(epsilon) > allowed.delta(epsilon) for epsilon in _PROBES):
            return False
        raise ParameterError("d_out must be a pair (epsilon, delta): this curve cannot be compared with the loss")

    @property
    def infinite(self) -> PrivacyCurve:
        return PrivacyCurve(ApproximateDP(float("inf")))


def _curve_implies(given: PrivacyCurve, bound: Any) -> bool:
    """Whether ``given`` is known to imply ``bound``."""
    if isinstance(bound, ApproximateDP):
        return given.is_within(bound.epsilon, bound.delta)  # [at-the-pair]
    return any(own == bound or (hasattr(own, "implies") and own.implies(bound)) for own in given.bounds)  # [same-kind]


# end-proof-region: profile


# proof-region: distances
def _exact_distance(value: Any, name: str) -> Number:
    """Return a number >= 0 as an exact ``Fraction``, or infinity."""
    number = checks.require_distance(value, name)
    return number if type(number) is Fraction or number == math.inf else to_fraction(number)  # [rational]


def _float_upper_bound(number: Number) -> float:
    """Return the smallest float64 that is not below a rational or infinity."""
    return number if isinstance(number, float) else round_up(number)  # [loss-up]


class _ScalarMeasure(Measure[float]):
    """A measure whose distances are single numbers."""

    def distance(self, value: Any, name: str) -> float:
        return _float_upper_bound(self.exact(value, name))

    def exact(self, value: Any, name: str) -> Number:
        return _exact_distance(value, name)

    def at_most(self, loss: Any, budget: Any) -> bool:
        return bool(
            checks.require_distance(loss, "loss") <= checks.require_distance(budget, "d_out")
        )  # [exact-comparison]

    @property
    def infinite(self) -> float:
        return float("inf")


@dataclass(frozen=True)
class MaxDivergence(_ScalarMeasure):
    """Pure differential privacy: distance epsilon means |L(y)| <= epsilon for every outcome y."""

    symbol = "epsilon"
    survives_mixing = True  # [pure-mixes]


@dataclass(frozen=True)
class RangeDivergence(_ScalarMeasure):
    """Bounded range: distance a means max L - min L <= a over the outcomes.

    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition"
    (2019). A mechanism with range a is a-differentially private and a^2/8-zCDP.
    """

    symbol = "range"


@dataclass(frozen=True)
class ZeroConcentratedDivergence(_ScalarMeasure):
    """Zero-concentrated differential privacy: distance rho means D_alpha <= alpha * rho for all alpha > 1.

    Bun and Steinke, "Concentrated Differential Privacy" (2016).
    """

    symbol = "rho"
    survives_mixing = True  # [concentrated-mixes]


@dataclass(frozen=True)
class Approximate(Measure[tuple[float, float]]):
    """``measure`` except on an event of probability delta; distances are pairs (distance, delta).

    ``Approximate(MaxDivergence())`` is the usual (epsilon, delta)-differential privacy.
    """

    measure: Measure

    def __post_init__(self) -> None:
        checks.require_instance("measure", self.measure, Measure, "a measure such as MaxDivergence()")

    @property
    def symbol(self) -> str:  # type: ignore[override]
        return f"({self.measure.symbol}, delta)"

    @property
    def survives_mixing(self) -> bool:  # type: ignore[override]
        return self.measure.survives_mixing  # [mixes-with-delta]

    def distance(self, value: Any, name: str) -> tuple[Any, float]:
        inner, delta = self.exact(value, name)
        return self.measure.distance(inner, name), _float_upper_bound(delta)

    def exact(self, value: Any, name: str) -> tuple[Any, Number]:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ParameterError(f"{name} must be a pair ({self.measure.symbol}, delta), not {type(value).__name__}")
        delta = _exact_distance(value[1], f"delta of {name}")
        if delta > 1:
            raise ParameterError(f"delta of {name} must be at most 1")
        return self.measure.exact(value[0], name), delta

    def at_most(self, loss: Any, budget: Any) -> bool:
        self.distance(budget, "d_out")
        return self.measure.at_most(loss[0], budget[0]) and bool(loss[1] <= budget[1])  # [exact-comparison]

    @property
    def infinite(self) -> tuple[Any, float]:
        return self.measure.infinite, 1.0


# end-proof-region: distances


# proof-region: bounds_range
def bounds_range(measure: Measure) -> bool:
    """Whether ``measure`` is ``RangeDivergence()``, or ``Approximate`` of it."""
    return isinstance(measure, RangeDivergence) or (
        isinstance(measure, Approximate) and bounds_range(measure.measure)
    )  # [bounds-range]


# end-proof-region: bounds_range


# proof-region: is_concentrated
def is_concentrated(measure: Measure) -> bool:
    """Whether ``measure`` is ``ZeroConcentratedDivergence()``, under which the losses of small steps add up slowly."""
    return isinstance(measure, ZeroConcentratedDivergence)  # [is-concentrated]


# end-proof-region: is_concentrated


# proof-region: parts
def is_pure(measure: Measure) -> bool:
    """Whether ``measure`` is ``MaxDivergence()``, which depends on the largest privacy loss only."""
    return isinstance(measure, MaxDivergence)  # [is-pure]


def without_delta(measure: Measure) -> Measure:
    """Return the inner measure of ``Approximate``, and any other measure unchanged."""
    return measure.measure if isinstance(measure, Approximate) else measure  # [without-delta]


def split_delta(measure: Measure, distance: Any) -> tuple[Any, Any]:
    """Split a distance of ``measure`` into one of :func:`without_delta` and a delta, 0 if ``measure`` has none."""
    return (distance[0], distance[1]) if isinstance(measure, Approximate) else (distance, 0)  # [apart]


def join_delta(measure: Measure, distance: Any, delta: Any) -> Any:
    """Return a distance of ``measure``: a pair with delta capped at 1 for ``Approximate``, else ``distance``."""
    return (distance, min(delta, 1)) if isinstance(measure, Approximate) else distance  # [delta-cap]


def has_delta(measure: Measure) -> bool:
    """Whether the distances of ``measure`` have a delta: pairs and privacy curves."""
    return isinstance(measure, Approximate | PrivacyProfile)  # [has-delta]


# end-proof-region: parts
