"""The privacy loss of a measurement under every measure, with or without a delta, and its zCDP and Renyi bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import ParameterTypeError
from ..errors.checks import Number
from ..numerics.arithmetic import (
    log1p_down,
    one_minus_exp_down,
    one_minus_exp_up,
    round_up,
    scaled_log_up,
    shortened_up,
    to_fraction,
)
from .curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, PlusDelta, UpToDelta, ZCDPBound
from .curves.composed import Composed
from .curves.curve import PrivacyCurve
from .measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
    without_delta,
)

# Tight rho of zCDP for a bounded privacy loss, a bounded range and a pair that a Laplace pair dominates.
#
# Proof: proofs/spaces/concentrated.tex

# zeta(2 j) / pi^(2 j) for j = 1, ..., 5 (Euler).
_ZETA = (Fraction(1, 6), Fraction(1, 90), Fraction(1, 945), Fraction(1, 9450), Fraction(1, 93555))
# Up to this argument power series are used, because a difference of logarithms would lose digits. The relative error
# of the truncated series is below 2^-100.
_SMALL = Fraction(1, 512)
_POWERS = 12


# proof-region: concentrated
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Return an upper bound on epsilon tanh(epsilon / 2), the rho of epsilon-DP mechanisms, for epsilon >= 0."""
    once = one_minus_exp_up(epsilon)
    return epsilon * once / (2 - once)  # [tanh]


def rho_of_range(a: Fraction) -> Fraction:
    """Return an upper bound on z - 1 - ln z, z = a / (1 - e^-a): the rho of mechanisms of range ``a`` >= 0."""
    if a <= _SMALL:
        terms = ((2 + Fraction(1, j)) * zeta * (a * a / 4) ** j for j, zeta in enumerate(_ZETA, 1))
        return _alternating_sum(terms)  # [range-series]
    excess = min(a, a / one_minus_exp_down(a) - 1)  # [excess]
    return excess - log1p_down(excess)  # [range-rho]


def rho_of_laplace(loss: Fraction) -> Fraction:
    """Return an upper bound on E + e^-E - 1: the rho of Laplace-dominated pairs with E = ``loss`` >= 0."""
    if loss <= _SMALL:
        powers = (loss**n / math.factorial(n) for n in range(2, _POWERS + 1))
        return _alternating_sum(powers)  # [laplace-series]
    return loss - one_minus_exp_down(loss)  # [laplace-rho]


def rho_of_discrete_laplace(loss: Fraction, step: Fraction) -> Fraction:
    """Return an upper bound on E - (h / sinh h) (1 - e^-E), the rho of discrete Laplace noise.

    ``step`` is h > 0, the inverse of the scale of the noise, and ``loss`` is E >= 0: the value changes by E / h.
    """
    return min(loss, rho_of_laplace(loss) + _one_minus_sinh_ratio(step) * one_minus_exp_up(loss))  # [discrete-rho]


def _one_minus_sinh_ratio(h: Fraction) -> Fraction:
    """Return an upper bound on 1 - h / sinh h, for h > 0."""
    if h <= _SMALL:
        terms = ((2 - Fraction(4, 4**j)) * zeta * (h * h) ** j for j, zeta in enumerate(_ZETA, 1))
        return _alternating_sum(terms)  # [flat-series]
    return 1 - 2 * h * (1 - one_minus_exp_up(h)) / one_minus_exp_up(2 * h)  # [flat]


def _alternating_sum(terms: Iterable[Fraction]) -> Fraction:
    """Return the alternating sum of an odd number of terms, the first one positive."""
    return sum((-term if n % 2 else term for n, term in enumerate(terms)), Fraction(0))  # [alternating]


# end-proof-region: concentrated


# Bounds on the Renyi divergence of one order for bounded losses, bounded ranges and Laplace-dominated pairs, and the
# conversion of such a bound to (epsilon, delta).
#
# Proof: proofs/spaces/renyi.tex

_MUCH = Fraction(10**300)  # larger epsilons do not change the order
_DIGITS = 24  # bits of an order: a nearby order is nearly as good, and sums of its multiples stay short


# proof-region: renyi
def renyi_of_pure(order: Fraction, epsilon: Fraction) -> Fraction:
    """Return an upper bound on the Renyi divergence of order > 1 of epsilon-DP mechanisms, epsilon >= 0."""
    rest = 2 - one_minus_exp_down((2 * order - 1) * epsilon)
    odds = (1 - one_minus_exp_up(epsilon)) * one_minus_exp_down(2 * (order - 1) * epsilon) / rest
    return epsilon - log1p_down(odds) / (order - 1)  # [renyi-pure]


def renyi_of_range(order: Fraction, a: Fraction) -> Fraction:
    """Return an upper bound on the Renyi divergence of order > 1 of mechanisms of range ``a`` > 0."""
    below, whole = one_minus_exp_down((order - 1) * a), one_minus_exp_up(order * a)
    first = order * below / ((order - 1) * whole) - 1
    second = order * one_minus_exp_down(a) / whole - 1
    return a - log1p_down(max(first, Fraction(0))) - log1p_down(max(second, Fraction(0))) / (order - 1)  # [renyi-range]


def renyi_of_laplace(order: Fraction, loss: Fraction) -> Fraction:
    """Return an upper bound on the Renyi divergence of order > 1 of Laplace-dominated pairs, ``loss`` >= 0."""
    part = (order - 1) * one_minus_exp_down((2 * order - 1) * loss) / (2 * order - 1)
    return loss - log1p_down(part / (1 - part)) / (order - 1)  # [renyi-laplace]


def conversion_overhead(order: Fraction, delta: Fraction) -> Fraction:
    """Return an upper bound on epsilon minus the Renyi divergence of order > 1, in the conversion at ``delta`` > 0."""
    beta = order - 1
    return (to_fraction(scaled_log_up(Fraction(1), 1 / delta)) - log1p_down(beta)) / beta - log1p_down(
        1 / beta
    )  # [overhead]


# end-proof-region: renyi


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return approximately the order at which (epsilon, delta) allows the largest rho.

    Every order is valid, so floats are precise enough.
    """
    e, logs = float(min(epsilon, _MUCH)), float(scaled_log_up(Fraction(1), 1 / delta))
    low, high = -50.0, 600.0
    for _ in range(80):
        middle = (low + high) / 2
        beta = math.exp(middle)
        if (2 + 1 / beta) * (logs - math.log1p(beta)) > beta * (e + math.log1p(1 / beta)):
            low = middle
        else:
            high = middle
    part, power = math.frexp(math.exp(low))
    return 1 + Fraction(round(part * 2**_DIGITS)) * Fraction(2) ** (power - _DIGITS)


# The exact privacy loss of a release at one input distance, and its conversion to a distance of each measure.
#
# Proof: proofs/spaces/costs.tex


# proof-region: costs
@dataclass(frozen=True)
class Cost:
    """Exact bounds on the privacy loss of one pair of output distributions; None if a quantity has no known bound.

    ``pure`` bounds epsilon, ``width`` the range and ``rho`` the rho of zCDP. ``steps`` is a pair (n, a): the release is
    a function of at most n adaptive steps, each of range at most a, whatever was released before. ``joined`` is a pair
    (n, E): the release is a function of at most n adaptive steps whose output distributions P and P' satisfy, for every
    t in [0, E] and some distribution R, R(A) <= e^t P(A) and R(A) <= e^(E - t) P'(A) for all events A. Such steps are
    dominated by a :class:`LaplacePair` of loss E. For n > 1 they are the n steps of ``steps``, each (rho / n)-zCDP.
    """

    pure: Fraction | None = None
    width: Fraction | None = None
    rho: Fraction | None = None
    steps: tuple[int, Fraction] | None = None
    joined: tuple[int, Fraction] | None = None

    @staticmethod
    def from_bounded_range(pure: Fraction, width: Fraction) -> Cost:
        """Return the cost of a mechanism with this epsilon and this range."""
        return Cost(pure, width, min(rho_of_pure(pure), rho_of_range(width)))  # [bounded]

    @staticmethod
    def from_laplace_dominated(pure: Fraction, width: Fraction) -> Cost:
        """Return the cost of a Laplace-dominated mechanism with this range; ``pure`` is its epsilon."""
        return Cost(pure, width, min(rho_of_laplace(pure), rho_of_range(width)), joined=(1, pure))  # [linear]

    def to_distance(self, measure: Measure) -> Any:
        """Return the cost as a distance of ``measure``; infinite if no bound under ``measure`` is known."""
        for kind, read in _READINGS:
            if isinstance(measure, kind):
                return read(self)  # [read]
        return measure.infinite


FREE = Cost.from_bounded_range(Fraction(0), Fraction(0))


def _privacy_curve(cost: Cost) -> PrivacyCurve:
    """Return all known bounds as one privacy curve. They are exact, but a rho with many bits is rounded up."""
    count, each = cost.steps or (1, _exact_or_infinite(cost.width))
    known = (
        ApproximateDP(_exact_or_infinite(cost.pure)),
        ZCDPBound(_shortened_or_infinite(cost.rho)),
        AdaptiveRangeBound(count, each),
    )
    if cost.joined is None:
        return PrivacyCurve(*known)  # [all-bounds]
    count, loss = cost.joined
    laplace = LaplacePair(count * loss)
    if count < 2 or cost.rho is None:
        return PrivacyCurve(*known, laplace)  # [laplace-bound]
    once = PrivacyCurve(
        ApproximateDP(loss),
        ZCDPBound(_shortened_or_infinite(cost.rho / count)),
        AdaptiveRangeBound(1, each),
        LaplacePair(loss),
    )
    return PrivacyCurve(*known, laplace, Composed(((once, count),)))  # [composed-steps]


def _shortened_or_infinite(value: Fraction | None) -> Number:
    return math.inf if value is None else shortened_up(value)  # [up]


def _exact_or_infinite(value: Fraction | None) -> Number:
    return math.inf if value is None else value  # [exact]


_READINGS: tuple[tuple[type[Measure], Callable[[Cost], Any]], ...] = (
    (MaxDivergence, lambda cost: _shortened_or_infinite(cost.pure)),  # [pure]
    (RangeDivergence, lambda cost: _shortened_or_infinite(cost.width)),  # [width]
    (ZeroConcentratedDivergence, lambda cost: _shortened_or_infinite(cost.rho)),  # [rho]
    (PrivacyProfile, _privacy_curve),
)
SCALAR = (MaxDivergence, RangeDivergence, ZeroConcentratedDivergence)


def require_measure(measure: Any, *kinds: type[Measure], note: str = "") -> None:
    """Raise unless ``measure`` is one of ``kinds``; ``note`` ends the message."""
    if not isinstance(measure, kinds):  # [one-of]
        *others, last = [f"{kind.__name__}()" for kind in kinds]
        named = f"{', '.join(others)} or {last}" if others else last
        raise ParameterTypeError(f"output_measure must be {named}{note}")


# end-proof-region: costs


# A cost that is valid except for a delta, as a distance of the measures with a delta.
#
# Proof: proofs/measurements/with_delta.tex

# proof-region: with_delta
STRICT: tuple[Measure, ...] = (
    Approximate(MaxDivergence()),
    Approximate(ZeroConcentratedDivergence()),
    PrivacyProfile(),
)
NOT_STRICT: tuple[Measure, ...] = (Approximate(MaxDivergence()), PrivacyProfile())  # [not-strict]


def with_delta(measure: Measure, cost: Cost, delta: Fraction, *, strict: bool) -> Any:
    """Return a cost that is valid up to ``delta`` as a distance of ``measure``, one of :data:`STRICT`.

    If ``strict``, the cost is valid except on an event of probability ``delta``. Otherwise its privacy curves are valid
    with ``delta`` added. This implies nothing under ``Approximate(ZeroConcentratedDivergence())``, which the caller has
    to exclude. ``delta`` is rounded up once.
    """
    inner = without_delta(measure)
    read = cost.to_distance(inner)
    if inner is not measure:
        return read, round_up(delta)  # [pair]
    return curve_with_delta(read, delta, strict=strict)


def curve_with_delta(curve: PrivacyCurve, delta: Fraction, *, strict: bool) -> PrivacyCurve:
    """Return ``curve`` with ``delta``, as in :func:`with_delta`."""
    more = UpToDelta if strict else PlusDelta  # [curve]
    return PrivacyCurve(*(more(bound, round_up(delta)) for bound in curve.bounds))


# end-proof-region: with_delta


def require_with_delta(measure: Any, allowed: tuple[Measure, ...], note: str = "") -> None:
    """Raise unless ``measure`` is one of ``allowed``; ``note`` ends the message."""
    if not isinstance(measure, Measure) or measure not in allowed:
        *others, last = map(repr, allowed)
        raise ParameterTypeError(f"output_measure must be {', '.join(others)} or {last}{note}")
