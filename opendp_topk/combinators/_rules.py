"""Composition rules: how privacy losses add up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..core.measurement import Measurement
from ..core.spaces import joint_domain
from ..errors import CapacityError, SpaceError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import shortened_up, to_fraction
from ..spaces.costs import SCALAR, Cost, require_measure, rho_of_range, with_delta
from ..spaces.curves.composed import compose, compose_repeated
from ..spaces.domains import Domain
from ..spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    bounds_range,
    join_delta,
    split_delta,
    without_delta,
)
from ..spaces.metrics import Metric

# How losses add up under each measure: one set of rules for all combinators.
#
# Proof: proofs/combinators/rules.tex

_OUTCOMES = 1_000_000  # the largest joint output distribution that is enumerated, which takes seconds


# proof-region: rules
def require_rule(measure: Any) -> Measure:
    """Return ``measure`` if losses under it add up even when they are chosen adaptively, otherwise raise."""
    checks.require_instance("output_measure", measure, Measure, "a measure such as MaxDivergence()")
    note = " or Approximate of one of them"
    if measure == PrivacyProfile():
        note += (
            ": curves compose only if they are fixed in advance, in make_composition and make_adaptive_composition. "
            "Otherwise use rho, with make_zCDP_to_approxDP for the total, or make_fix_delta for each part"
        )
    require_measure(without_delta(measure), *SCALAR, note=note)  # [measures]
    return measure  # type: ignore[no-any-return]


def require_fixed_rule(measure: Any) -> Measure:
    """Return ``measure`` if :func:`compose_losses` covers it for losses that are fixed in advance, otherwise raise."""
    checks.require_instance("output_measure", measure, Measure, "a measure such as MaxDivergence()")
    return PrivacyProfile() if measure == PrivacyProfile() else require_rule(measure)  # [curves-too]


def require_space_of(name: str, measurement: Any, domain: Domain, metric: Metric, measure: Measure) -> Measurement:
    """Return ``measurement`` if it has this input space and this output measure, otherwise raise."""
    checks.require_instance(name, measurement, Measurement, "a measurement, such as make_* constructors return")
    its = measurement.input_domain
    joint_domain(domain, its, f"{name} has input_domain {its!r}, but {domain!r} is required here")  # [same-domain]
    for field, expected in (("input_metric", metric), ("output_measure", measure)):
        if getattr(measurement, field) != expected:  # [same-space]
            raise SpaceError(f"{name} has {field} {getattr(measurement, field)!r}, but {expected!r} is required here")
    if measurement.declared.later_data:  # [all-data]
        raise SpaceError(f"{name} receives more data in its queries: release it separately, not in a composition")
    return measurement  # type: ignore[no-any-return]


def compose_losses(measure: Measure, losses: Sequence[Any], *, adaptive: bool) -> Any:
    """Return the joint loss of releases with these ``losses``, in order; exact, or an upper bound.

    Pass ``adaptive=True`` if a release may be chosen after the earlier ones.
    """
    if measure == PrivacyProfile():
        return compose([measure.distance(loss, "loss") for loss in losses], adaptive=adaptive)  # [curves]
    parts = [split_delta(measure, loss) for loss in losses]  # [parts]
    inner, deltas = [part[0] for part in parts], [part[1] for part in parts]
    later = 2 if adaptive and bounds_range(measure) else 1  # [later]
    return join_delta(measure, sum_upward(inner[:1]) + later * sum_upward(inner[1:]), sum_upward(deltas))  # [sum]


def repeated_loss(measure: Measure, loss: Any, count: int) -> Any:
    """Return the joint loss of ``count`` independent releases with loss ``loss`` each; exact, or an upper bound."""
    if measure == PrivacyProfile():
        return compose_repeated(measure.distance(loss, "loss"), count)  # [same-curves]
    inner, delta = split_delta(measure, loss)
    return join_delta(measure, *(part * count for part in (inner, delta)))  # [multiple]


def sum_later_losses(measure: Measure, losses: list[Any]) -> list[Any]:
    """Return at most two losses, the first and the exact sum of the others, which compose with later ones as all do.

    This holds under the measures of :func:`require_rule`.
    """
    if len(losses) < 3:
        return losses
    inner, deltas = zip(*(split_delta(measure, loss) for loss in losses[1:]), strict=True)
    return [losses[0], join_delta(measure, _exact_sum(inner), _exact_sum(deltas))]  # [later-sum]


def sum_upward(values: Iterable[Number]) -> Number:
    """Return the sum of ``values``, exact or rounded up to a shorter rational; infinity if one is infinite."""
    total = _exact_sum(values)
    return total if isinstance(total, float) else shortened_up(total)  # [upward]


def _exact_sum(values: Iterable[Number]) -> Fraction | float:
    listed = list(values)
    if float("inf") in listed:
        return float("inf")
    return sum(map(to_fraction, listed), Fraction(0))  # [exact-sum]


def product_distribution(members: Sequence[Measurement]) -> Callable[[Any], dict[Hashable, Any]] | None:
    """Return the joint output distribution of independent releases of all members, or None if a member lacks one.

    Its argument has one value per member.
    """
    laws = [member.declared.law for member in members if member.declared.law is not None]
    if len(laws) < len(members):
        return None

    def output_distribution(values: Any) -> dict[Hashable, Any]:
        joint: dict[Hashable, Any] = {(): 1}
        for one, value in zip(laws, values, strict=True):
            joint = _multiply_distributions(joint, one(value))  # [independent]
        return joint

    return output_distribution


def _multiply_distributions(joint: Mapping[Any, Any], law: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    if len(joint) * len(law) > _OUTCOMES:
        raise CapacityError(f"the exact distribution has more than {_OUTCOMES:,} joint outcomes, too many to enumerate")
    pairs = itertools.product(joint.items(), law.items())
    return {(*before, outcome): mass * weight for (before, mass), (outcome, weight) in pairs}


def decode_all(members: Sequence[Measurement]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return the function from an outcome of the joint distribution to the tuple of releases."""
    return lambda outcomes: tuple(
        member.declared.decode(outcome) for member, outcome in zip(members, outcomes, strict=True)
    )  # [decode-all]


# end-proof-region: rules


# The loss of releases that are drawn in adaptive steps, if the release shows how many steps it took.
#
# Proof: proofs/combinators/pay_what_you_get.tex

_CHOSEN_ON_THE_WAY: tuple[Measure, ...] = (Approximate(MaxDivergence()), Approximate(ZeroConcentratedDivergence()))


# proof-region: adaptive_steps
def loss_of_steps(measure: Measure, count: int, width: Fraction | float, delta: Fraction) -> Any:
    """Return the loss of ``count`` steps of range ``width`` up to ``delta``, rounded up once.

    ``measure`` is one of ``STRICT``.
    """
    if isinstance(width, float):
        return measure.infinite  # [no-width]
    cost = Cost(pure=count * width, rho=count * rho_of_range(width), steps=(count, width))  # [cost]
    return with_delta(measure, cost, min(delta, Fraction(1)), strict=True)  # [read]


def loss_after(query: Measurement, drawn: int | None, d_in: Any) -> Any:
    """Return the loss of ``query`` at ``d_in`` after its release showed that it took ``drawn`` steps.

    This is the map of ``query`` if ``drawn`` is None or if its steps cannot be charged one by one.
    """
    whole, measure, steps = query.exact_map(d_in), query.output_measure, query.declared.steps
    if drawn is None or steps is None or measure not in _CHOSEN_ON_THE_WAY:
        return whole  # [whole]
    width, delta = steps.width(d_in), steps.delta(d_in)
    if not measure.at_most(loss_of_steps(measure, steps.most, width, delta), whole):  # [agreed-before]
        return whole
    return loss_of_steps(measure, drawn, width, delta)  # [fewer-steps]


def steps_taken(query: Measurement, release: Any) -> int | None:
    """Return how many steps ``release`` took, or None if ``query`` does not declare its steps."""
    return None if query.declared.steps is None else query.declared.steps.drawn(release)  # [drawn]


# end-proof-region: adaptive_steps
