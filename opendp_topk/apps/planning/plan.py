"""A plan: a query, the measurement with the least noise that meets its budget, and its accuracy guarantees."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from ...combinators._rules import repeated_loss
from ...core.binary_search import binary_search_chain
from ...core.measurement import Measurement
from ...errors import CapacityError, NotDeclaredError, SearchError, TopKError, checks
from ...errors.checks import Number
from ...numerics.arithmetic import round_down, to_fraction
from ...sampling.distributions.events import Enclosure
from ...spaces.costs import rho_of_laplace, rho_of_pure, rho_of_range
from ...spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from ...spaces.curves.composed import NOTHING, Composed, Largest
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure, PrivacyProfile, bounds_range, is_pure
from .record_fields import NotNegative, OnlyFields, Probability, Text
from .units import Budget, Columns, PrivacyUnit, UserUnit, users_to_rows

# Accuracy guarantees of a release, in words.

NO_BOUND = "none: the scale is close to the largest floating-point number"


@dataclass(frozen=True)
class AccuracyGuarantee(OnlyFields):
    """Accuracy guarantee of a theorem, valid with probability at least ``1 - alpha``: in words and as an error bound.

    Args:
        words: The guarantee in words.
        within_users: Error bound in users; null if there is no finite bound in users or none was computed.
        alpha: Probability that the guarantee fails.
    """

    words: Text
    within_users: NotNegative | None
    alpha: Probability

    def as_dict(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "within_users": self.within_users, "words": self.words}


def confidence_text(alpha: Fraction) -> str:
    """Return 1 - alpha in words: as a percentage if six digits are exact, otherwise as a difference, rounded down."""
    percent = f"{float(100 * (1 - alpha)):.6g}"
    if Fraction(percent) == 100 * (1 - alpha):
        return f"{percent} %"
    nearest = float(alpha)
    is_enough = max(Fraction(nearest), Fraction(str(nearest))) >= alpha  # as a float, or as a decimal number
    return f"1 - {nearest if is_enough else math.nextafter(nearest, 1)}"


def finite_bound(users: float | None) -> int | None:
    """Return a bound as an integer; None if it is infinite or unknown."""
    return None if users is None or users == math.inf else int(users)


def nth_largest_text(rank: int) -> str:
    """Return ``"largest"``, ``"2nd largest"``, ``"3rd largest"`` and so on."""
    if rank == 1:
        return "largest"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} largest"


# Labels of the bounds on a privacy loss, and which of several bounds is the least.
#
# Proof: proofs/planning/comparison.tex

WORDS = {
    "loss": "the largest loss of any outcome: the mechanism's epsilon",
    "range": "the difference between the largest and the smallest loss",
    "steps": "a sequence of choices, each with its own bound",
    "Laplace": "Laplace domination: output distributions of neighbours differ no more than two Laplace distributions",
    "zCDP": "its rho, from Renyi divergences of all orders",
    "convolution": "the convolution of the losses of all releases and steps",
    "own": "a theorem about this mechanism only",
}
"""Labels of bounds, the simplest first, with their meanings."""
_OWN = Fraction(1, 10**9)  # relative margin by which a declared rho is below all implied ones, far above rounding


# proof-region: deciding
def bound_label(bound: Any) -> str:
    """Return the label of one bound of a privacy curve."""
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
    """Return the delta of ``curve`` at ``epsilon`` and the label of the least bound; ties go to the simplest."""
    deltas = [(PrivacyCurve(bound).delta(epsilon), bound_label(bound)) for bound in curve.bounds]
    return min(deltas, key=lambda pair: (pair[0], list(WORDS).index(pair[1])))  # [least-bound]


def deciding_bound_label(measure: Measure, curve: PrivacyCurve) -> str:
    """Return the label of the bound that decides the loss under a scalar ``measure``, for a release with ``curve``."""
    if is_pure(measure):
        return "loss"
    if bounds_range(measure):
        return "range"
    stated = [bound.rho for bound in curve.bounds if isinstance(bound, ZCDPBound)]
    rho, name = min(_implied_rhos(curve), key=lambda pair: pair[0], default=(Fraction(0), "own"))  # [least-rho]
    return "own" if not stated or to_fraction(min(stated)) < rho * (1 - _OWN) else name  # [own]


def _implied_rhos(curve: PrivacyCurve) -> list[tuple[Fraction, str]]:
    """Return every rho that another bound of the curve implies, with its label."""
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

CLOSE = 1 + 2.0**-10  # relative precision of a scale found by slow curves, whose own error is about as large
_FARTHEST = 2.0**40  # multiple of the scale of one release at which the search gives up
_LARGEST = 700.0  # the largest epsilon, or shift of normal distributions, that floats can handle
_LEAST = 2.0**-960  # a product above it has full precision
_GRIDDED = (AdaptiveRangeBound, Composed, Largest)  # bounds that may need a grid, and are slow if they do
_AGREES = 2.0**-46  # log ratio of loss and budget at which an estimate of the scale is final
_STEEP = 1e-6  # the least log ratio whose change gives a useful slope; below it there is only noise
_LOOKS = 8  # evaluations of the loss before all scales are searched
_TURNS = 12  # steps that a search takes by the normal approximation before it bisects


# proof-region: least_scale
def composed_loss(measure: Measure, loss: Any, releases: int) -> Any:
    """Return the loss of ``releases`` independent releases with ``loss`` each, never rounded down."""
    return loss if releases == 1 else repeated_loss(measure, loss, releases)  # [times-over]


def with_composed_map(one: Measurement, releases: int) -> Measurement:
    """Return ``one`` with the privacy map of ``releases`` of it, for a search only."""
    if releases == 1:
        return one
    return replace(
        one, privacy_map=lambda d_in: composed_loss(one.output_measure, one.exact_map(d_in), releases)
    )  # [together]


def least_scale(
    make: Make, d_in: Any, d_out: Any, releases: int = 1, known: dict[Any, float] | None = None
) -> Measurement:
    """Return what ``make`` builds at the least scale at which ``releases`` of it lose at most ``d_out`` together.

    The returned scale passes, and the next smaller float64 does not. The exception is ``PrivacyProfile()`` if a bound
    that needs a grid decides: then a scale smaller by a thousandth does not pass. ``known`` caches the scales of one
    budget by the curve at scale 1, for other mechanisms with the same curves.

    Raises:
        SearchError: No scale passes, or every scale does.
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
        raise SearchError("d_out must be larger: no scale meets it")
    return make(known[alike])


def _bracket_scale(make: Make, d_in: Any, d_out: Any) -> tuple[float, float] | None:
    """Return two close scales, the first of which fails and the second passes; None if the search finds none.

    The search assumes that the loss falls about as a power of the scale.
    """
    scale, power, before = 1.0, 1.0, 0.0
    with suppress(TopKError, ArithmeticError, ValueError):
        for _ in range(_LOOKS):
            loss = make(scale).map(d_in)
            if not (checks.is_real(loss) and checks.is_real(d_out)):
                return None
            here = math.log(float(loss) / float(d_out))
            if abs(before) > _STEEP:  # the slope of the last step
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
    """Return the least scale by all bounds, starting with those that need no grid."""
    curves = _ComposedCurves(make, d_in, d_out, releases)
    scale = curves.least_gridless_scale()
    guess = curves.gaussian_scale_guess(scale)
    kinds = [kind for kind in _GRIDDED if any(_takes_a_grid(one, kind) for one in curves.composed_bounds(scale))]
    for kind in sorted(kinds, key=lambda kind: curves.delta_at_scale(min(guess, scale / CLOSE), kind)):
        scale = curves.narrow_scale(kind, scale, min(guess, scale / CLOSE))
    return scale


class _ComposedCurves:
    """Privacy curves of several releases as functions of the scale, at one epsilon."""

    def __init__(self, make: Make, d_in: Any, d_out: Any, releases: int) -> None:
        self.make, self.d_in, self.d_out, self.releases = make, d_in, d_out, releases
        self.seen: dict[tuple[type | None, float], float] = {}

    def composed_bounds(self, scale: float) -> tuple[Any, ...]:
        curve: PrivacyCurve = composed_loss(PrivacyProfile(), self.make(scale).map(self.d_in), self.releases)
        return curve.bounds

    def least_gridless_scale(self) -> float:
        """Return the least scale that passes by bounds that need no grid, for several releases up to ``CLOSE``."""

        def gridless_measurement(scale: float) -> Measurement:
            one = self.make(scale)
            return replace(one, privacy_map=lambda _: _without_grids(one.map(self.d_in)))

        scale = float(binary_search_chain(gridless_measurement, self.d_in, self.d_out).parameters["scale"])
        if self.releases == 1:
            return scale
        least = scale
        while self.delta_at_scale(scale) > self.d_out[1]:
            if scale > _FARTHEST * least:
                raise SearchError("d_out must be larger, or releases smaller: no scale meets d_out")
            scale *= 2
        return self.narrow_scale(None, scale, scale / CLOSE)

    def gaussian_scale_guess(self, scale: float) -> float:
        """Return a guess: the scale at which all releases pass if their losses are normal with the same rho."""
        rhos = [bound.rho for bound in self.composed_bounds(scale) if isinstance(bound, ZCDPBound)]
        return (
            scale * math.sqrt(2 * round_down(to_fraction(min(rhos)))) / gaussian_shift(*self.d_out) if rhos else scale
        )

    def delta_at_scale(self, scale: float, kind: type | None = None) -> float:
        """Return the delta by the bounds of ``kind`` that need a grid; for None, by all bounds that need none."""
        if (kind, scale) not in self.seen:
            bounds = self.composed_bounds(scale)
            asked = [one for one in bounds if (_takes_a_grid(one, kind) if kind else not _takes_a_grid(one))]
            self.seen[kind, scale] = PrivacyCurve(*asked).delta(self.d_out[0]) if asked else 1.0
        return self.seen[kind, scale]

    def narrow_scale(self, kind: type | None, high: float, guess: float) -> float:
        """Return a scale of at most ``high`` that passes, such that one smaller by a factor of at most ``CLOSE`` fails.

        ``high`` must pass. Many releases lose about as much as one with Gaussian noise, whose shift is about inversely
        proportional to the scale. The search follows this approximation, starting at ``guess``, and tries scales
        slightly above and below each estimate. If that is not enough, it bisects.
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
                break  # among the least floats: there is none in between
            low, high = (low, place) if self.delta_at_scale(place, kind) <= self.d_out[1] else (place, high)
        return high


def _geometric_mean(low: float, high: float) -> float:
    """Return the root of the product, also if the product overflows or loses precision."""
    product = low * high
    return math.sqrt(product) if _LEAST < product < math.inf else math.sqrt(low) * math.sqrt(high)


def gaussian_shift(epsilon: Any, delta: Any) -> float:
    """Return about the shift, in standard deviations, of a normal distribution with this delta at ``epsilon``.

    The result is always positive and finite.
    """
    e, low, high = round_down(to_fraction(epsilon)), 1 / _LARGEST, _LARGEST
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


# Queries: a task, a privacy unit, a budget and a number of releases; and the measurement with the least noise for them.
#
# A query is built once and passed as a whole.
#
# Proof: proofs/planning/comparison.tex


class ReleaseTask(Protocol):
    """Protocol of release tasks. Nothing in a task depends on a table."""

    @property
    def k(self) -> int | None:
        """Number of items; None for all items above a threshold."""

    @property
    def release(self) -> str:
        """``"ranking"`` or ``"set"``."""

    @property
    def name(self) -> str:
        """The name of the mechanism."""

    @property
    def searched(self) -> tuple[str, ...]:
        """Names of the calibrated parameters: the least values that meet the budget."""

    def calibrate_measurement(self, query: Query[Any, Any], known: dict[Any, float] | None = None) -> Measurement:
        """Return the measurement with the least noise that meets the budget; SearchError if there is none."""

    def accuracy_bound(self, plan: Plan[Any, Any]) -> float | None:
        """Return the bound of the accuracy theorem; None if it takes too long to compute."""

    def needs_no_noise(self, query: Query[Any, Any]) -> bool:
        """Return True if the release is the same for all neighbours."""

    def bind_candidates(self, plan: Plan[Any, Any], items: Any) -> Measurement:
        """Return the measurement of a plan on tables whose candidates are ``items``."""

    def question_text(self, columns: Columns) -> str:
        """Return the question in words."""

    def describe_mechanism(self, plan: Plan[Any, Any]) -> str:
        """Return the mechanism in words."""

    def choice_reason(self, plan: Plan[Any, Any], tried: Sequence[Plan[Any, Any]]) -> str:
        """Return the reason for the plan among those that were tried, in a sentence; empty if there is none."""

    def accuracy_guarantees(self, plan: Plan[Any, Any]) -> Mapping[str, AccuracyGuarantee]:
        """Return the accuracy guarantees of one release, by their names in the record."""


T_co = TypeVar("T_co", bound=ReleaseTask, covariant=True)
U_co = TypeVar("U_co", bound=PrivacyUnit, covariant=True)


@dataclass(frozen=True)
class Query(Generic[T_co, U_co]):
    """A task for a privacy unit, with a budget for all ``releases`` together, which are fixed in advance.

    The accuracy theorems may fail with probability ``alpha``.
    """

    task: T_co
    unit: U_co
    budget: Budget
    releases: int = 1
    alpha: Any = 0.05


@dataclass(frozen=True)
class Plan(Generic[T_co, U_co]):
    """A query and the measurement that answers it.

    ``loss`` is the loss of all releases together under the measure of the budget, rounded up: a number, or a pair
    (epsilon, delta). ``accuracy`` is the bound of the accuracy theorem for one release, in units of the scores; None
    if it takes too long to compute. ``bound`` is the label of the bound that decided the loss. ``curve`` is the
    privacy curve of one release. ``why`` is the reason for the plan in a sentence; empty if there is none.
    """

    query: Query[T_co, U_co]
    measurement: Measurement
    why: str = ""

    @property
    def name(self) -> str:
        return self.query.task.name

    @property
    def scale(self) -> float:
        """The scale of the noise, in units of the scores."""
        return float(self.measurement.parameters["scale"])

    @functools.cached_property
    def accuracy(self) -> float | None:
        """Bound of the accuracy theorem."""
        return self.query.task.accuracy_bound(self)

    @property
    def accuracy_floor(self) -> float | None:
        """Bound of the accuracy theorem for counts: they are integers, so it is rounded down."""
        return self.accuracy if self.accuracy is None or math.isinf(self.accuracy) else math.floor(self.accuracy)

    # proof-region: comparison
    @functools.cached_property
    def _loss_and_bound(self) -> tuple[Any, str]:
        """The loss and, for a curve, the label of the bound that decided it; otherwise an empty label."""
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
        """Loss of all releases together."""
        return self._loss_and_bound[0]

    @property
    def bound(self) -> str:
        """Label of the bound that decided the loss."""
        return self._loss_and_bound[1] or deciding_bound_label(self.query.budget.measure, self.curve)

    @functools.cached_property
    def curve(self) -> PrivacyCurve:
        """Privacy curve of one release."""
        task: Any = self.query.task  # a ``TopKTask``: other tasks have no curve
        curve: PrivacyCurve = task.build_curve_measurement(self).map(self.query.unit.d_in)
        return curve

    # end-proof-region: comparison

    def bind_candidates(self, items: Any) -> Plan[T_co, U_co]:
        """Return the same plan on tables whose candidates are ``items``."""
        return replace(self, measurement=self.query.task.bind_candidates(self, items))


# proof-region: planned
def plan_query(query: Query[T_co, U_co], known: dict[Any, float] | None = None) -> Plan[T_co, U_co]:
    """Return the plan for a query; ``known`` as in :func:`least_scale`.

    Raises:
        SearchError: No measurement meets the budget, or every one does.
        ParameterError: The mechanism does not take the measure.
    """
    return Plan(query, query.task.calibrate_measurement(query, known))


# end-proof-region: planned


def plan_guarantees(plan: Plan[Any, UserUnit]) -> dict[str, AccuracyGuarantee]:
    """Return the accuracy guarantees of one release, worded for rows instead of users if every row is a user."""
    found = dict(plan.query.task.accuracy_guarantees(plan))
    if plan.query.unit.columns.is_row_level:
        return {name: replace(one, words=users_to_rows(one.words)) for name, one in found.items()}
    return found


def guarantee_field(
    plan: Plan[Any, UserUnit], words: str, bound: float | None = None, name: str = "accuracy"
) -> dict[str, AccuracyGuarantee]:
    """Return an accuracy guarantee by its name in the record, with its error bound unless that is one of sums."""
    users = finite_bound(bound) if plan.query.unit.columns.value is None else None
    return {name: AccuracyGuarantee(words, users, float(plan.query.alpha))}


def goal_probability(measurement: Measurement, scores: Any, goal: str) -> Enclosure | None:
    """Return bounds on the probability that a release reaches the goal on ``scores``; None if unknown or too slow."""
    try:
        return measurement.success_probability(scores, goal)
    except (NotDeclaredError, CapacityError):
        return None
