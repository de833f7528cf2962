"""A plan: a query, the measurement with the least noise that meets it, and what it promises."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from ...combinators._rules import repeated_loss
from ...core.binary_search import binary_search_chain
from ...core.measurement import Measurement
from ...errors import CapacityError, NotDeclaredError, SearchError, TopKError, checks
from ...errors.checks import Number
from ...numerics.arithmetic import to_fraction
from ...sampling.distributions.events import Enclosure
from ...spaces.costs import rho_of_laplace, rho_of_pure, rho_of_range
from ...spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from ...spaces.curves.composed import NOTHING, Composed, Largest
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure, PrivacyProfile, bounds_range, is_pure
from .units import Budget, Columns, PrivacyUnit, UserUnit, users_to_rows

# What theorems promise of a release, in words.

NO_BOUND = "none: the scale is near the largest number that the computer holds"


@dataclass(frozen=True)
class AccuracyGuarantee:
    """What a theorem promises with probability at least ``1 - alpha``: in words, and within how many users.

    ``within`` is None where there is no finite bound, or none was computed.
    """

    words: str
    within: int | None
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"alpha": self.alpha, "within_users": self.within, "words": self.words}


def confidence_text(alpha: Fraction) -> str:
    """The probability of success in words, never rounded."""
    percent = f"{float(100 * (1 - alpha)):.6g}"
    return f"{percent} %" if Fraction(percent) == 100 * (1 - alpha) else f"1 - {float(alpha)}"


def finite_bound(users: float | None) -> int | None:
    """A bound in users, where there is one."""
    return None if users is None or users == math.inf else int(users)


def nth_largest_text(rank: int) -> str:
    """Largest, 2nd largest, 3rd largest, 4th largest."""
    if rank == 1:
        return "largest"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} largest"


# Which of several bounds of one loss is the least, by a word for each.
#
# Proof: proofs/planning/comparison.tex

WORDS = {
    "loss": "the largest loss of an outcome, the mechanism's epsilon",
    "range": "the distance of the largest loss from the smallest",
    "steps": "choices one after the other, each of which is bounded on its own",
    "Laplace": "a law between any two neighbours: no further apart than two Laplace laws",
    "zCDP": "its rho, by Renyi divergences of all orders",
    "convolution": "the losses of all releases and steps, convolved",
    "own": "a theorem about this mechanism alone",
}
"""The words for bounds, the plainest first, and what each stands for."""
_OWN = Fraction(1, 10**9)  # by more than this part of it a rho is below all that other bounds give: far above rounding


# proof-region: deciding
def bound_label(bound: Any) -> str:
    """The word for one bound of a privacy curve."""
    if isinstance(bound, AdaptiveRangeBound):
        return "range" if bound.k == 1 else "steps"  # [range-or-steps]
    for kind, name in _KINDS:
        if isinstance(bound, kind):
            return name  # [kind]
    return bound_label(bound.bound) if hasattr(bound, "bound") else "own"  # [inner]


_KINDS: tuple[tuple[type, str], ...] = (
    (ApproximateDP, "loss"),
    (ZCDPBound, "zCDP"),
    (LaplacePair, "Laplace"),
    (Composed, "convolution"),
)


def least_delta_with_label(curve: PrivacyCurve, epsilon: Number) -> tuple[float, str]:
    """The delta of ``curve`` at ``epsilon``, and the word for the bound that gives it, of equal ones the plainest."""
    deltas = [(PrivacyCurve(bound).delta(epsilon), bound_label(bound)) for bound in curve.bounds]
    return min(deltas, key=lambda pair: (pair[0], list(WORDS).index(pair[1])))  # [least-bound]


def deciding_bound_label(measure: Measure, curve: PrivacyCurve) -> str:
    """The word for what decides the distance of a scalar ``measure``, for a release that has this ``curve``."""
    if is_pure(measure):
        return "loss"
    if bounds_range(measure):
        return "range"
    stated = [bound.rho for bound in curve.bounds if isinstance(bound, ZCDPBound)]
    rho, name = min(_implied_rhos(curve), key=lambda pair: pair[0], default=(Fraction(0), "own"))  # [least-rho]
    return "own" if not stated or to_fraction(min(stated)) < rho * (1 - _OWN) else name  # [own]


def _implied_rhos(curve: PrivacyCurve) -> list[tuple[Fraction, str]]:
    """Every rho that another bound of the curve gives, with its word."""
    found = []
    for bound in curve.bounds:
        if isinstance(bound, ApproximateDP) and bound.delta == 0 and bound.epsilon < float("inf"):
            found.append((rho_of_pure(to_fraction(bound.epsilon)), "loss"))  # [from-pure]
        if isinstance(bound, AdaptiveRangeBound) and bound.a < float("inf"):
            found.append((bound.k * rho_of_range(to_fraction(bound.a)), bound_label(bound)))  # [from-range]
        if isinstance(bound, LaplacePair) and bound.loss < float("inf"):
            found.append((rho_of_laplace(to_fraction(bound.loss)), "Laplace"))  # [from-laplace]
        if isinstance(bound, Composed):
            steps = [(count, [rho for rho, _ in _implied_rhos(step)]) for step, count in bound.parts]
            if all(rhos for _, rhos in steps):
                found.append((sum((count * min(rhos) for count, rhos in steps), Fraction(0)), "steps"))  # [from-steps]
    return found


# end-proof-region: deciding


# The least scale at which several equal releases meet a budget together.
#
# Proof: proofs/planning/comparison.tex

Make = Callable[[float], Measurement]

CLOSE = 1 + 2.0**-10  # a scale that is searched by slow curves ends this close: they add about as much themselves
_FARTHEST = 2.0**40  # times the scale of one release, where more noise has no use any more
_LARGEST = 700.0  # epsilon or shift of normal laws that floats can tell of
_LEAST = 2.0**-960  # a product above it has all its digits
_GRIDDED = (AdaptiveRangeBound, Composed, Largest)  # bounds that may take a grid, and are slow if they do
_AGREES = 2.0**-46  # where two looks at a loss say the same scale
_STEEP = 1e-6  # in a logarithm; the slope of a lesser step is noise
_LOOKS = 8  # at a loss, before all scales are searched
_TURNS = 12  # that a search may take by normal laws before it takes middles


# proof-region: least_scale
def composed_loss(measure: Measure, loss: Any, releases: int) -> Any:
    """The loss of ``releases`` independent releases, each of which loses ``loss``; nothing is rounded down."""
    return loss if releases == 1 else repeated_loss(measure, loss, releases)  # [times-over]


def with_composed_map(one: Measurement, releases: int) -> Measurement:
    """``one`` with the map of ``releases`` of it, for a search alone."""
    if releases == 1:
        return one
    return replace(
        one, privacy_map=lambda d_in: composed_loss(one.output_measure, one.exact_map(d_in), releases)
    )  # [together]


def least_scale(
    make: Make, d_in: Any, d_out: Any, releases: int = 1, known: dict[Any, float] | None = None
) -> Measurement:
    """What ``make`` builds at the least scale at which ``releases`` of it lose at most ``d_out`` together.

    The next smaller float64 does not pass, save under ``PrivacyProfile()`` where a bound that takes a grid is of use:
    there a scale smaller by a thousandth does not pass. What is returned passes. ``known`` keeps what was found for one
    budget by the curve at scale 1, for other mechanisms of the same curves.

    Raises:
        SearchError: No scale passes, or every one does.
    """
    if make(1.0).output_measure != PrivacyProfile():

        def composed_at_scale(scale: float) -> Measurement:
            return with_composed_map(make(scale), releases)

        near = _bracket_scale(composed_at_scale, d_in, d_out)
        scale = binary_search_chain(composed_at_scale, d_in, d_out, bounds=near).parameters["scale"]
        return make(scale)  # [scalar]

    def meets_budget(scale: float) -> bool:
        return with_composed_map(make(scale), releases).check(d_in, d_out)

    alike = make(1.0).map(d_in)
    gridded = any(map(_takes_a_grid, composed_loss(PrivacyProfile(), alike, releases).bounds))
    known = known if gridded and known is not None else {}
    if alike not in known or not meets_budget(known[alike]):
        known[alike] = _least_scale_by_curves(make, d_in, d_out, releases)
    if not meets_budget(known[alike]):  # [passes]
        raise SearchError("no scale meets d_out: raise it")
    return make(known[alike])


def _bracket_scale(make: Make, d_in: Any, d_out: Any) -> tuple[float, float] | None:
    """Two scales close to each other, of which the first does not pass and the second does; None where none are found.

    Losses fall about as a power of the scale, which says where to look.
    """
    scale, power, before = 1.0, 1.0, 0.0
    with suppress(TopKError, ArithmeticError, ValueError):
        for _ in range(_LOOKS):
            loss = make(scale).map(d_in)
            if not (checks.is_real(loss) and checks.is_real(d_out)):
                return None
            here = math.log(float(loss) / float(d_out))
            if abs(before) > _STEEP:  # how fast losses fell on the way here
                power *= (before - here) / before
            scale, before = scale * math.exp(here / power), here
            if abs(here) < _AGREES:
                break
        low, high = scale / (1 + 2 * _AGREES), scale * (1 + 2 * _AGREES)
        if not make(low).check(d_in, d_out) and make(high).check(d_in, d_out):  # [bracket]
            return low, high
    return None


# end-proof-region: least_scale


def _least_scale_by_curves(make: Make, d_in: Any, d_out: Any, releases: int) -> float:
    """The scale by all bounds, first by those that take no grid."""
    curves = _ComposedCurves(make, d_in, d_out, releases)
    scale = curves.least_gridless_scale()
    guess = curves.gaussian_scale_guess(scale)
    kinds = [kind for kind in _GRIDDED if any(_takes_a_grid(one, kind) for one in curves.composed_bounds(scale))]
    for kind in sorted(kinds, key=lambda kind: curves.delta_at_scale(min(guess, scale / CLOSE), kind)):
        scale = curves.narrow_scale(kind, scale, min(guess, scale / CLOSE))
    return scale


class _ComposedCurves:
    """The curves of several releases by their scale, at one epsilon."""

    def __init__(self, make: Make, d_in: Any, d_out: Any, releases: int) -> None:
        self.make, self.d_in, self.d_out, self.releases = make, d_in, d_out, releases
        self.seen: dict[tuple[type | None, float], float] = {}

    def composed_bounds(self, scale: float) -> tuple[Any, ...]:
        """All bounds of all releases together."""
        curve: PrivacyCurve = composed_loss(PrivacyProfile(), self.make(scale).map(self.d_in), self.releases)
        return curve.bounds

    def least_gridless_scale(self) -> float:
        """The least scale that passes by bounds that take no grid."""

        def gridless_measurement(scale: float) -> Measurement:
            one = self.make(scale)
            return replace(one, privacy_map=lambda _: _without_grids(one.map(self.d_in)))

        scale = float(binary_search_chain(gridless_measurement, self.d_in, self.d_out).parameters["scale"])
        if self.releases == 1:
            return scale
        least = scale
        while self.delta_at_scale(scale) > self.d_out[1]:
            if scale > _FARTHEST * least:
                raise SearchError("no scale meets d_out: raise it, or lower releases")
            scale *= 2
        return self.narrow_scale(None, scale, scale / CLOSE)

    def gaussian_scale_guess(self, scale: float) -> float:
        """Where all releases would pass if their losses were those of a normal law with their rho, which is near."""
        rhos = [bound.rho for bound in self.composed_bounds(scale) if isinstance(bound, ZCDPBound)]
        return scale * math.sqrt(2 * min(rhos)) / gaussian_shift(*self.d_out) if rhos else scale

    def delta_at_scale(self, scale: float, kind: type | None = None) -> float:
        """The delta of the bounds of one kind that takes a grid, or for None of all that take none."""
        if (kind, scale) not in self.seen:
            bounds = self.composed_bounds(scale)
            asked = [one for one in bounds if (_takes_a_grid(one, kind) if kind else not _takes_a_grid(one))]
            self.seen[kind, scale] = PrivacyCurve(*asked).delta(self.d_out[0]) if asked else 1.0
        return self.seen[kind, scale]

    def narrow_scale(self, kind: type | None, high: float, guess: float) -> float:
        """A scale that passes, ``high`` or less, such that one smaller by a factor of at most ``CLOSE`` does not.

        ``high`` passes. Many releases lose about as much as one with Gaussian noise, whose shift is about in inverse
        proportion to the scale: that says where to look, at first at ``guess``, and then a little above and below.
        Where it does not help, the middle is next.
        """
        failed = [at for (known, at), delta in self.seen.items() if known is kind and delta > self.d_out[1]]
        low, place, power = max(failed, default=0.0), guess, 1.0
        before: tuple[float, float] | None = None
        wanted = gaussian_shift(*self.d_out)
        for turn in range(_TURNS):
            if turn:
                nudged = place * CLOSE ** (0.3 if turn % 2 else -0.3)
                place = min(max(nudged, low * CLOSE**0.9), high / CLOSE**0.9)
            if high <= low * CLOSE or (turn and place <= low):
                break
            delta = self.delta_at_scale(place, kind)
            low, high = (low, place) if delta <= self.d_out[1] else (place, high)
            shift = gaussian_shift(self.d_out[0], delta)
            if before is not None:
                power = min(max(math.log(shift / before[1]) / math.log(before[0] / place), 0.5), 2.0)
            before, place = (place, shift), place * (shift / wanted) ** (1 / power)
        while high > low * CLOSE:
            place = _geometric_mean(low, high) if low > 0 else 0.8 * high
            if not low < place < high:
                break  # among the least floats, where nothing is to be lost
            low, high = (low, place) if self.delta_at_scale(place, kind) <= self.d_out[1] else (place, high)
        return high


def _geometric_mean(low: float, high: float) -> float:
    """The root of the product, also where the product is no float64 any more, or one of few digits."""
    product = low * high
    return math.sqrt(product) if _LEAST < product < math.inf else math.sqrt(low) * math.sqrt(high)


def gaussian_shift(epsilon: Any, delta: Any) -> float:
    """About the shift, in deviations, of a normal law whose delta at ``epsilon`` this is; never 0 nor infinite."""
    e, low, high = float(epsilon), 1 / _LARGEST, _LARGEST
    growth = math.exp(min(e, _LARGEST))
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        near, far = e / middle - middle / 2, e / middle + middle / 2
        there = (math.erfc(near / math.sqrt(2)) - growth * math.erfc(far / math.sqrt(2))) / 2
        low, high = (middle, high) if there < delta else (low, middle)
    return low


def _takes_a_grid(bound: Any, kind: type | tuple[type, ...] = _GRIDDED) -> bool:
    inner = getattr(bound, "bound", bound)
    if isinstance(inner, Largest) and not any(_takes_a_grid(one) for curve in inner.curves for one in curve.bounds):
        return False
    return isinstance(inner, kind) and not (isinstance(inner, AdaptiveRangeBound) and inner.k == 1)


def _without_grids(curve: PrivacyCurve) -> PrivacyCurve:
    kept = [bound for bound in curve.bounds if not _takes_a_grid(bound)]
    return PrivacyCurve(*kept) if kept else NOTHING


# What is asked: a task, of whom, within which budget, how often; and the measurement with the least noise for it.
#
# A query is built once, and passed whole.
#
# Proof: proofs/planning/comparison.tex


class ReleaseTask(Protocol):
    """What is to be released. Nothing in it depends on a table."""

    @property
    def k(self) -> int | None:
        """How many items; None for all that there are."""

    @property
    def release(self) -> str:
        """``"ranking"`` or ``"set"``."""

    @property
    def name(self) -> str:
        """The name of the mechanism."""

    @property
    def searched(self) -> tuple[str, ...]:
        """The parameters that are searched for, the least that meet the budget."""

    def calibrate_measurement(self, query: Query[Any, Any], known: dict[Any, float] | None = None) -> Measurement:
        """The measurement with the least noise that meets the budget; SearchError where there is none."""

    def accuracy_bound(self, plan: Plan[Any, Any]) -> float | None:
        """The bound of the accuracy theorem; None where it takes too long to compute."""

    def needs_no_noise(self, query: Query[Any, Any]) -> bool:
        """Whether the release is the same for all neighbours."""

    def bind_candidates(self, plan: Plan[Any, Any], items: Any) -> Measurement:
        """The measurement of a plan on tables whose candidates are ``items``."""

    def question_text(self, columns: Columns) -> str:
        """What is asked, in words."""

    def describe_mechanism(self, plan: Plan[Any, Any]) -> str:
        """The mechanism in words."""

    def choice_reason(self, plan: Plan[Any, Any]) -> str:
        """What makes the plan what it is, in a sentence; empty where there is nothing to say."""

    def accuracy_guarantees(self, plan: Plan[Any, Any]) -> Mapping[str, AccuracyGuarantee]:
        """What theorems promise of one release, by the names of the record."""


T_co = TypeVar("T_co", bound=ReleaseTask, covariant=True)
U_co = TypeVar("U_co", bound=PrivacyUnit, covariant=True)


@dataclass(frozen=True)
class Query(Generic[T_co, U_co]):
    """A task within a budget, for so many releases together, all fixed in advance.

    The accuracy theorems may fail with probability ``alpha``.
    """

    task: T_co
    unit: U_co
    budget: Budget
    releases: int = 1
    alpha: Any = 0.05


@dataclass(frozen=True)
class Plan(Generic[T_co, U_co]):
    """What a query asks, and the measurement that gives it.

    ``loss`` is what all releases together lose under the measure of the budget, rounded up: a number, or a pair
    (epsilon, delta). ``accuracy`` is the bound of the accuracy theorem for one release, in units of the scores, None
    where it takes too long to compute. ``bound`` is the word for the bound that decided the loss. ``curve`` is the
    privacy curve of one release. ``why`` is the reason for the mechanism in a sentence, where several were tried.
    """

    query: Query[T_co, U_co]
    measurement: Measurement
    why: str = ""

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.query.task.name

    @property
    def scale(self) -> float:
        """The scale of the noise, in units of the scores."""
        return float(self.measurement.parameters["scale"])

    @functools.cached_property
    def accuracy(self) -> float | None:
        """The bound of the accuracy theorem."""
        return self.query.task.accuracy_bound(self)

    # proof-region: comparison
    @functools.cached_property
    def _loss_and_bound(self) -> tuple[Any, str]:
        """The loss, and of a curve the word for the bound that decided it."""
        measure = self.query.budget.measure
        total = composed_loss(measure, self.measurement.exact_map(self.query.unit.d_in), self.query.releases)  # [total]
        loss = measure.distance(total, "loss")  # [loss-up]
        if not isinstance(loss, PrivacyCurve):
            return loss, ""
        epsilon = self.query.budget.d_out[0]
        delta, bound = least_delta_with_label(loss, epsilon)
        return (epsilon, delta), bound  # [pair]

    @property
    def loss(self) -> Any:
        """What all releases together lose."""
        return self._loss_and_bound[0]

    @property
    def bound(self) -> str:
        """The word for the bound that decided."""
        return self._loss_and_bound[1] or deciding_bound_label(self.query.budget.measure, self.curve)

    @functools.cached_property
    def curve(self) -> PrivacyCurve:
        """The privacy curve of one release."""
        task: Any = self.query.task  # of listed candidates: no other has a curve
        curve: PrivacyCurve = task.build_curve_measurement(self).map(self.query.unit.d_in)
        return curve

    # end-proof-region: comparison

    def bind_candidates(self, items: Any) -> Plan[T_co, U_co]:
        """The same on tables, whose candidates are ``items``."""
        return replace(self, measurement=self.query.task.bind_candidates(self, items))


# proof-region: planned
def plan_query(query: Query[T_co, U_co], known: dict[Any, float] | None = None) -> Plan[T_co, U_co]:
    """The plan for a query; ``known`` as in :func:`least_scale`.

    Raises:
        SearchError: No measurement meets the budget, or every one does.
        ParameterError: The mechanism does not take the measure.
    """
    return Plan(query, query.task.calibrate_measurement(query, known))


# end-proof-region: planned


def plan_guarantees(plan: Plan[Any, UserUnit]) -> dict[str, AccuracyGuarantee]:
    """What theorems promise of one release: of users, or of rows where each is taken for one."""
    found = dict(plan.query.task.accuracy_guarantees(plan))
    if plan.query.unit.columns.is_row_level:
        return {name: replace(one, words=users_to_rows(one.words)) for name, one in found.items()}
    return found


def goal_probability(measurement: Measurement, scores: Any, goal: str) -> Enclosure | None:
    """How likely ``measurement`` reaches the goal on these scores; None where it is not known, or takes too long."""
    try:
        return measurement.success_probability(scores, goal)
    except (NotDeclaredError, CapacityError):
        return None
