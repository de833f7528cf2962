"""Exact epsilons, rhos, Renyi bounds and step counts that a privacy curve implies, and curves as JSON.

Proof: proofs/spaces/stated.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any

from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from .costs import renyi_of_laplace, renyi_of_pure, renyi_of_range, rho_of_laplace, rho_of_pure, rho_of_range
from .curves.closed_forms import (
    AdaptiveRangeBound,
    ApproximateDP,
    ArrivalTimes,
    DiscreteGaussian,
    DiscreteLaplace,
    LaplacePair,
    NormalPair,
    PlusDelta,
    UpToDelta,
    ZCDPBound,
)
from .curves.composed import Composed, Largest
from .curves.curve import PrivacyCurve

Least = Fraction | float  # a number, or infinity if no bound is known

_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(ApproximateDP, ZCDPBound, LaplacePair, AdaptiveRangeBound, DiscreteLaplace, DiscreteGaussian),
        *(NormalPair, ArrivalTimes, Composed, Largest, UpToDelta, PlusDelta),
    )
}


# proof-region: stated
def with_exact_parameters(curve: PrivacyCurve) -> PrivacyCurve:
    """Return ``curve`` with exact parameters of its bounds: finite floats become rationals."""
    return PrivacyCurve(*map(_exact_parameters, curve.bounds))


def serializable_curve(curve: PrivacyCurve) -> PrivacyCurve | None:
    """Return the curve of all bounds that :func:`to_json` can serialize, with exact parameters; None without any."""
    bounds = [_exact_parameters(bound) for bound in curve.bounds if type(bound).__name__ in _KINDS]
    return PrivacyCurve(*bounds) if bounds else None  # [of-known-kinds]


def _exact_parameters(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_exact_parameters, value))
    if isinstance(value, PrivacyCurve):
        return PrivacyCurve(*map(_exact_parameters, value.bounds))
    if type(value).__name__ in _KINDS:
        return type(value)(*(_exact_parameters(getattr(value, one.name)) for one in fields(value)))
    if not isinstance(value, float) or value == math.inf:
        return value
    return to_fraction(value)  # [exact]


def pure_of(curve: PrivacyCurve) -> Least:
    """Return an epsilon that bounds all privacy losses; infinity if none is known."""
    return min(_pure_of_bound(bound) for bound in curve.bounds)  # [least-pure]


def _pure_of_bound(bound: Any) -> Least:
    if isinstance(bound, UpToDelta | PlusDelta | ApproximateDP) and bound.delta != 0:
        return math.inf  # [no-delta]
    for kind, loss in _PURE:
        if isinstance(bound, kind):
            return loss(bound)
    if isinstance(bound, ZCDPBound | DiscreteGaussian | NormalPair | ArrivalTimes):
        return math.inf
    return PrivacyCurve(bound).epsilon(0)  # [read]


_PURE: tuple[tuple[Any, Callable[[Any], Least]], ...] = (
    (ApproximateDP, lambda bound: _apply_exact(bound.epsilon)),  # [pure-pair]
    (LaplacePair, lambda bound: _apply_exact(bound.loss)),  # [pure-joined]
    (AdaptiveRangeBound, lambda bound: _multiply_exact(bound.k, _apply_exact(bound.a))),  # [pure-range]
    (DiscreteLaplace, lambda bound: Fraction(bound.shift) / bound.scale),  # [pure-discrete]
    (Composed, lambda bound: _sum_over_parts(pure_of, bound)),  # [pure-composed]
    (UpToDelta | PlusDelta, lambda bound: _pure_of_bound(bound.bound)),  # [pure-inner]
    (Largest, lambda bound: max(map(pure_of, bound.curves))),  # [pure-largest]
)


def rho_of(curve: PrivacyCurve) -> Least:
    """Return a rho of zCDP; infinity if none is known."""
    pure = pure_of(curve)
    known = [math.inf if pure == math.inf else rho_of_pure(Fraction(pure))]  # [rho-pure]
    return min(*known, *(_rho_of_bound(bound) for bound in curve.bounds))  # [least-rho]


def _rho_of_bound(bound: Any) -> Least:
    for kind, rho in _RHO:
        if isinstance(bound, kind):
            return rho(bound)
    return math.inf


_RHO: tuple[tuple[Any, Callable[[Any], Least]], ...] = (
    (ZCDPBound, lambda bound: _apply_exact(bound.rho)),  # [rho]
    (LaplacePair, lambda bound: _apply_exact(bound.loss, rho_of_laplace)),  # [rho-joined]
    (AdaptiveRangeBound, lambda bound: _multiply_exact(bound.k, _apply_exact(bound.a, rho_of_range))),  # [rho-range]
    (Composed, lambda bound: _sum_over_parts(rho_of, bound)),  # [rho-composed]
    (Largest, lambda bound: max(map(rho_of, bound.curves))),  # [rho-largest]
)


def renyi_of(curve: PrivacyCurve, order: Fraction) -> Least:
    """Return a bound on the Renyi divergences of this order > 1, in both directions; infinity if none is known."""
    pure, rho = pure_of(curve), rho_of(curve)
    if rho in (0, math.inf):
        return rho  # [renyi-none]
    known = [] if pure == math.inf else [renyi_of_pure(order, Fraction(pure))]  # [renyi-pure]
    return min(
        order * Fraction(rho), *known, *(_renyi_of_bound(bound, order) for bound in curve.bounds)
    )  # [least-renyi]


def _renyi_of_bound(bound: Any, order: Fraction) -> Least:
    if isinstance(bound, LaplacePair):
        return _apply_exact(bound.loss, lambda loss: renyi_of_laplace(order, loss))  # [renyi-joined]
    if isinstance(bound, AdaptiveRangeBound) and bound.a > 0:
        return _multiply_exact(bound.k, _apply_exact(bound.a, lambda a: renyi_of_range(order, a)))  # [renyi-range]
    if isinstance(bound, Composed):
        return _sum_over_parts(lambda curve: renyi_of(curve, order), bound)  # [renyi-composed]
    return math.inf


def steps_of(curve: PrivacyCurve, step: PrivacyCurve) -> Least:
    """Return a number of steps that each obey ``step`` and compose to ``curve``; infinity if none is known."""
    if pure_of(curve) == 0:
        return 0  # [no-step]
    return min(_count_implied_steps(way, step) for way in _step_decompositions(curve))


def _step_decompositions(curve: PrivacyCurve) -> list[list[tuple[PrivacyCurve, int]]]:
    """Return the known decompositions of ``curve`` into steps."""
    ways = [[(curve, 1)]]  # [one-step]
    for bound in curve.bounds:
        if isinstance(bound, Composed):
            ways.append(list(bound.parts))  # [its-parts]
        if isinstance(bound, AdaptiveRangeBound) and bound.a != math.inf:
            ways.append([(_range_step_curve(bound.a), bound.k)])  # [range-steps]
    return ways


def _range_step_curve(a: Number) -> PrivacyCurve:
    """Return the curve of one step of range ``a``, with all its known bounds."""
    rational = to_fraction(a)
    return PrivacyCurve(
        ApproximateDP(rational), ZCDPBound(rho_of_range(rational)), AdaptiveRangeBound(1, rational)
    )  # [one-range]


def _count_implied_steps(way: list[tuple[PrivacyCurve, int]], step: PrivacyCurve) -> Least:
    whole = Composed(((step, 1),))
    each = all(Composed(((curve, 1),)).implies(whole) for curve, _ in way)  # [each-obeys]
    return sum(count for _, count in way) if each else math.inf


def _apply_exact(value: Number, function: Callable[[Fraction], Fraction] = Fraction) -> Least:
    return math.inf if value == math.inf else function(to_fraction(value))


def _multiply_exact(count: int, value: Least) -> Least:
    return math.inf if value == math.inf else count * Fraction(value)


def _sum_over_parts(of: Callable[[PrivacyCurve], Least], bound: Composed) -> Least:
    return sum((_multiply_exact(count, of(curve)) for curve, count in bound.parts), Fraction(0))


def to_json(curve: PrivacyCurve) -> list[Any]:
    """Return a curve of :func:`serializable_curve` as nested lists of strings and integers."""
    return [_to_json(bound) for bound in curve.bounds]


def _to_json(value: Any) -> Any:
    if isinstance(value, PrivacyCurve):
        return to_json(value)
    if isinstance(value, tuple):
        return [_to_json(one) for one in value]
    if type(value).__name__ in _KINDS:
        return [type(value).__name__, *(_to_json(getattr(value, one.name)) for one in fields(value))]
    return value if type(value) is int else str(value)


def from_json(listed: Any) -> PrivacyCurve:
    """Return the curve that :func:`to_json` serialized.

    Raises:
        ValueError: ``listed`` is not an output of :func:`to_json`. If it is malformed, the error can also be a
            KeyError, TypeError or ZeroDivisionError.
    """
    curve = PrivacyCurve(*map(_parse_bound, listed))
    if to_json(curve) != listed:  # [inverse]
        raise ValueError
    return curve


def _parse_bound(listed: Any) -> Any:
    name, *given = listed
    if name == Composed.__name__:
        return Composed(tuple((from_json(curve), count) for curve, count in given[0]))
    if name == Largest.__name__:
        return Largest(tuple(map(from_json, given[0])))
    if name in (UpToDelta.__name__, PlusDelta.__name__):
        return _KINDS[name](_parse_bound(given[0]), _parse_number(given[1]))
    return _KINDS[name](*map(_parse_number, given))


def _parse_number(given: Any) -> Number:
    if type(given) is int:
        return given
    return math.inf if given == "inf" else Fraction(given)


# end-proof-region: stated
