"""Tasks with an unknown domain: the items are those of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from ...combinators.conversions import make_fix_delta
from ...core.binary_search import binary_search_chain, binary_search_param
from ...core.measurement import Measurement
from ...core.releases import Release
from ...errors import ParameterError, SearchError, checks
from ...measurements._key_selection import MOST_KEYS
from ...measurements._key_shares import per_partition_budget
from ...measurements.partition_selection import release_probabilities, then_partition_selection
from ...measurements.stable_histogram import then_stable_histogram
from ...measurements.unknown_domain_top_k import then_unknown_domain_top_k
from ...measurements.weighted_partition_selection import (
    FULL,
    SCALES,
    UNIT,
    UNLIKELY,
    make_weighted_partition_selection,
)
from ...numerics.arithmetic import exp_up, round_down, round_up, to_fraction
from ...sampling.distributions import one_shot_accuracy
from ...sampling.distributions.discrete import largest_fall
from ...sampling.noises.gumbel import Gumbel
from ...spaces.curves.closed_forms import normal_tail_bound
from ...spaces.domains import FrameDomain
from ...spaces.measures import PrivacyProfile, is_pure, without_delta
from ...spaces.metrics import UserDistance
from ...transformations.bound_contributions import make_bound_contributions
from ...transformations.minimum_users import add_to_counts
from ..ledger.amounts import parse_exact
from .plan import (
    AccuracyGuarantee,
    Plan,
    Query,
    ReleaseTask,
    confidence_text,
    least_scale,
    nth_largest_text,
)
from .units import Columns, UserUnit, recover_fraction

# Protocols of tasks whose items come from the table, or whose number of items depends on it.

_FAR = 2.0**60  # a threshold with negligible delta, while the scale is calibrated


class VariableSizeTask(ReleaseTask, Protocol):
    """Protocol of tasks whose number of released items depends on the table."""

    release: str = "ranking"
    searched: tuple[str, ...] = ("scale", "threshold")

    def choice_reason(self, plan: Plan[Any, UserUnit], tried: Sequence[Plan[Any, UserUnit]]) -> str:
        """Return in a sentence which score an item needs by ``plan`` and by the next of the plans that were tried."""
        columns = plan.query.unit.columns
        others = [other for other in tried if other.name != plan.name]
        if not others:
            return ""
        other = min(others, key=lambda other: other.query.task.error_bound(other))
        near, far = (one.query.task.needed_score_text(one) for one in (plan, other))
        return (
            f"to be released with probability at least {confidence_text(plan.query.alpha)}, unless {plan.query.task.k} "
            f"others precede it, an item needs a {columns.score_noun} of {near}; with {other.name}, of {far}"
        )

    def needed_score_text(self, plan: Plan[Any, UserUnit]) -> str:
        """Return the error bound in words."""
        bound: float = plan.query.task.error_bound(plan)
        return plan.query.unit.columns.difference_text(bound if bound == math.inf else math.ceil(bound))


class ThresholdTask(VariableSizeTask, Protocol):
    """Protocol of tasks with a noise scale and a threshold that noisy scores or gaps must reach."""

    def build_measurement(
        self, query: Query[Any, UserUnit], scale: float, threshold: float, items: Any = None
    ) -> Measurement:
        """Return the chain from a table to the release, of ``items`` if they are listed."""

    def least_threshold(self, query: Query[Any, UserUnit], scale: float) -> float:
        """Return the smallest threshold that meets the budget at this scale."""
        built, budget = self.build_measurement, query.budget.d_out
        return float(binary_search_param(lambda t: built(query, scale, t), query.unit.d_in, budget))

    def calibrate_measurement(self, query: Query[Any, UserUnit], known: dict[Any, float] | None = None) -> Measurement:
        """Return the chain with the smallest scale, and then the smallest threshold, that meet the budget."""
        whole = query.budget.d_out[0], 1.0
        found = binary_search_chain(lambda scale: self.build_measurement(query, scale, _FAR), query.unit.d_in, whole)
        scale = found.parameters["scale"]
        return self.build_measurement(query, scale, self.least_threshold(query, scale))

    def rebuild_measurement(
        self, query: Query[Any, UserUnit], known: Mapping[str, Any], items: Any = None
    ) -> Measurement:
        return self.build_measurement(query, known["scale"], known["threshold"], items)


# Top-k of an unknown domain.

_LIMIT = 30  # limit per k: the count of the first item beyond it is small, and its logarithm costs little
_SHARE = Fraction(1, 2)  # of delta for the threshold: the lead that an item needs is within 1 % of the least


@dataclass(frozen=True)
class UnknownDomainTask(ThresholdTask):
    """Task: release the ``k`` best of the ``limit`` best items of the table. The default limit is 30 k.

    If ``n_candidates`` is given, candidates are listed, but a minimum of users leaves some of them out. The best of the
    others are then released in the same way. ``most_accurate_plan`` uses one of the ``alternatives`` if an item then
    needs a lower score to be released.
    """

    k: int
    limit: int | None = None
    n_candidates: int | None = None
    alternatives: tuple[Any, ...] = ()

    name: ClassVar[str] = "unknown_domain_top_k"

    def __post_init__(self) -> None:
        checks.require_positive_int("k", self.k, at_most=MOST_KEYS, limit="2^22")
        if self.n_candidates is not None:
            checks.require_positive_int("the number of candidates", self.n_candidates)
            checks.require_positive_int("k", self.k, at_most=self.n_candidates, limit="the number of candidates")

    @property
    def mechanism_variants(self) -> tuple[Any, ...]:
        """The task without alternatives, and each of them."""
        return replace(self, alternatives=()), *self.alternatives

    @property
    def participating_items(self) -> int:
        """Number of items of the table that take part."""
        if self.limit is not None:
            return self.limit
        return min(_LIMIT * self.k, MOST_KEYS, MOST_KEYS if self.n_candidates is None else self.n_candidates)

    def build_measurement(
        self, query: Query[Any, UserUnit], scale: float, threshold: float, items: Any = None, measure: Any = None
    ) -> Measurement:
        """Return the chain from a table to the items, or to those of a list, under ``measure`` if it is given."""
        if items is not None or self.n_candidates is None:
            scores: Any = query.unit.score_transformation(items)
        else:
            scores = query.unit.map_only_scores(self.n_candidates)
        measurement: Measurement = scores >> then_unknown_domain_top_k(
            measure or query.budget.measure, k=self.k, scale=scale, limit=self.participating_items, threshold=threshold
        )
        return measurement

    # proof-region: unlisted_plan
    def build_within_budget(
        self, query: Query[Any, UserUnit], scale: float, threshold: float, items: Any = None
    ) -> Measurement:
        """Return the chain with the loss of its map or, if that exceeds the budget, of its curve at this delta."""
        found = self.build_measurement(query, scale, threshold, items)
        if not is_pure(without_delta(query.budget.measure)) or found.check(query.unit.d_in, query.budget.d_out):
            return found  # [by-map]
        curved = self.build_measurement(query, scale, threshold, items, PrivacyProfile())
        return make_fix_delta(curved, delta=query.budget.delta_below)  # [by-curve]

    def calibrate_measurement(self, query: Query[Any, UserUnit], known: dict[Any, float] | None = None) -> Measurement:
        """Return the chain that needs the least lead to release an item, by its map or by its curve."""
        found = [super().calibrate_measurement(query, known)]
        if is_pure(without_delta(query.budget.measure)):
            with suppress(SearchError):
                found.append(self._calibrate_by_curve(query))
        return min(found, key=lambda one: self.error_bound(Plan(query, one)))

    def _calibrate_by_curve(self, query: Query[Any, UserUnit]) -> Measurement:
        """Return the chain whose threshold gets a share of delta, and the curve of its ranking the rest."""
        d_in, epsilon, delta = query.unit.d_in, query.budget.main_distance, to_fraction(query.budget.delta_below)

        def build_without_stop(scale: float) -> Measurement:
            return self.build_measurement(query, scale, _FAR, measure=PrivacyProfile())

        ranking = least_scale(build_without_stop, d_in, (epsilon, delta * (1 - _SHARE)))
        scale, rest = ranking.parameters["scale"], delta - to_fraction(ranking.map(d_in).delta(epsilon))
        threshold = binary_search_param(
            lambda level: self.build_measurement(query, scale, level), d_in, (math.inf, round_down(rest))
        )
        found = self.build_within_budget(query, scale, threshold)
        if not found.check(d_in, query.budget.d_out):  # [within]
            raise SearchError("delta must be larger: the rounded loss exceeds it")
        return found

    def error_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return a score at which an item is released with probability at least 1 - alpha, unless k others precede it.

        If the (limit + 1)-th largest score is above that of items that are left out, the item needs as much more.
        """
        known, left_out = plan.measurement.parameters, plan.query.unit.columns.left_out
        scale, level = to_fraction(known["scale"]), to_fraction(known["threshold"])
        dummies = self.participating_items * exp_up(-level / scale)  # [dummies]
        beside = one_shot_accuracy.accuracy(
            Gumbel(), 1, 1, scale, to_fraction(plan.query.alpha) / (1 + dummies)
        )  # [stop]
        return beside if beside == math.inf else round_up(left_out + level + to_fraction(beside))

    # end-proof-region: unlisted_plan

    def needed_score_text(self, plan: Plan[Any, UserUnit]) -> str:
        beyond = nth_largest_text(self.participating_items + 1)
        return f"{super().needed_score_text(plan)} beyond the {beyond} {plan.query.unit.columns.score_noun}"

    def rebuild_measurement(
        self, query: Query[Any, UserUnit], known: Mapping[str, Any], items: Any = None
    ) -> Measurement:
        return self.build_within_budget(query, known["scale"], known["threshold"], items)

    def accuracy_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return a bound, for every t, on the distance of the t-th released score from the t-th largest score."""
        near: float = plan.measurement.accuracy(1, plan.query.alpha)
        return near

    def question_text(self, columns: Columns) -> str:
        if self.n_candidates is not None:
            return f"which {self.k} of {self.n_candidates} candidates {columns.ranking_clause}?"
        return f"which {self.k} items {columns.ranking_clause}, without a list of candidates?"

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        columns = plan.query.unit.columns
        scores = "count of distinct users" if columns.value is None else f"sum of {columns.value}"
        return (
            f"{self.name} (ranking, best first): independent Gumbel noise on each lead over the "
            f"{nth_largest_text(self.participating_items + 1)} {scores}{columns.contribution_clause}; items "
            "are released, best first, until a stop symbol whose score is the threshold"
        )

    def guarantee_text(self, plan: Plan[Any, UserUnit]) -> str:
        columns, threshold = plan.query.unit.columns, plan.parameters["threshold"]
        near: Any = plan.accuracy
        lead = math.floor(to_fraction(threshold) + to_fraction(near))
        amount, noun = columns.difference_text, columns.score_noun
        beyond = f", and {amount(columns.left_out)}," if columns.left_out else ""
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, an item is released, unless {self.k} "
            f"others precede it, if its {noun} exceeds the {nth_largest_text(self.participating_items + 1)} "
            f"{noun}{beyond} by more than {amount(lead)}; and for every t the t-th released item has a {noun} within "
            f"{amount(math.floor(near))} of the t-th largest {noun}{columns.truncation_clause}"
        )


# Stable histograms: all items of a table whose noisy counts reach a threshold, with these counts.

_LEAST = 2  # a single user must not reach it without noise


@dataclass(frozen=True)
class StableHistogramTask(ThresholdTask):
    """Task: release all items of the table with enough users, with noisy counts.

    Calibration chooses Laplace or Gaussian noise, whichever needs fewer users; if ``gaussian``, always Gaussian noise.
    """

    gaussian: bool = False
    k = None
    counted = True
    name: ClassVar[str] = "stable_histogram"

    def build_measurement(
        self, query: Query[Any, UserUnit], scale: float, threshold: float, items: Any = None
    ) -> Measurement:
        """Return the chain from a table to the items and their counts."""
        return self._build_chain(query, scale=scale, threshold=int(threshold))

    def build_within_budget(self, query: Query[Any, UserUnit], epsilon: Any, delta: Any) -> Measurement:
        """Return the chain whose scale and threshold are chosen for this loss at d_in = 1."""
        return self._build_chain(query, epsilon=epsilon, delta=delta)

    def _build_chain(self, query: Query[Any, UserUnit], **options: Any) -> Measurement:
        measurement: Measurement = query.unit.score_transformation(None) >> then_stable_histogram(
            query.budget.measure, gaussian=self.gaussian, **options
        )
        left_out = query.unit.columns.left_out
        return measurement >> add_to_counts(left_out) if left_out else measurement

    def calibrate_measurement(self, query: Query[Any, UserUnit], known: dict[Any, float] | None = None) -> Measurement:
        """Return the chain, with Laplace or Gaussian noise, that has the least accuracy bound.

        Under ``Approximate(MaxDivergence())`` with ``d_in`` > 1 the noise is Laplace.
        """
        pure, budget = is_pure(without_delta(query.budget.measure)), query.budget
        if pure and query.unit.d_in > 1:
            return super().calibrate_measurement(query, known)
        kinds = (self,) if self.gaussian else (self, replace(self, gaussian=True))
        found = []
        for kind in kinds:
            with suppress(ParameterError):
                if pure:
                    losses = parse_exact(budget.main_distance, "epsilon"), parse_exact(budget.delta, "delta")
                    found.append(kind.build_within_budget(query, *losses))
                else:
                    found.append(super(StableHistogramTask, kind).calibrate_measurement(query, known))
        if not found:
            raise SearchError("epsilon or delta must be larger: no noise and no threshold meet the budget")
        return min(found, key=lambda one: self.accuracy_bound(Plan(query, one)))

    def rebuild_measurement(
        self, query: Query[Any, UserUnit], known: Mapping[str, Any], items: Any = None
    ) -> Measurement:
        kind = replace(self, gaussian=known["gaussian"] is True)
        if "epsilon" in known:
            losses = known["epsilon"], known["delta"]  # exact in a plan, floats in a record
            exact = [one if isinstance(one, Fraction) else recover_fraction(one) for one in losses]
            return kind.build_within_budget(query, *exact)
        return kind.build_measurement(query, known["scale"], known["threshold"])

    def least_threshold(self, query: Query[Any, UserUnit], scale: float) -> float:
        """Return the smallest integer threshold that meets the budget at this scale."""
        built, d_in, budget = self.build_measurement, query.unit.d_in, query.budget.d_out
        if built(query, scale, _LEAST).check(d_in, budget):
            return _LEAST
        return int(binary_search_param(lambda t: built(query, scale, t), d_in, budget, T=int))

    # proof-region: gets_in
    def accuracy_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return the score at which an item is released with probability at least 1 - alpha."""
        scale, threshold, gaussian = (plan.measurement.parameters[key] for key in ("scale", "threshold", "gaussian"))
        left_out = plan.query.unit.columns.left_out
        sure: float = (
            left_out + threshold + largest_fall(to_fraction(scale), plan.query.alpha, gaussian=gaussian)
        )  # [falls]
        return sure

    # end-proof-region: gets_in

    def question_text(self, columns: Columns) -> str:
        return f"which items have a {columns.score_noun} above a threshold, without a list of candidates?"

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        columns = plan.query.unit.columns
        kind = "Gaussian" if plan.measurement.parameters["gaussian"] else "Laplace"
        return f"{self.name}: discrete {kind} noise on each {columns.score_noun}{columns.contribution_clause}"

    def guarantee_text(self, plan: Plan[Any, UserUnit]) -> str:
        """Return the accuracy guarantee: the score at which an item is released."""
        columns, least = plan.query.unit.columns, plan.query.unit.columns.difference_text(plan.accuracy or 0)
        unless = "" if self.k is None else f", unless {self.k} others precede it,"
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, an item is released{unless} if its "
            f"{columns.score_noun} is at least {least}{columns.truncation_clause}"
        )


@dataclass(frozen=True)
class ReleaseLargest:
    """Post-processing of a stable histogram: the first ``k`` items, without their counts."""

    k: int

    @property
    def shown_parameters(self) -> Mapping[str, Any]:
        """Parameters that the chain displays with those of its measurement."""
        return {"k": self.k}

    def __call__(self, released: Release) -> Release:
        return Release(items=list(released)[: self.k])


@dataclass(frozen=True, kw_only=True)
class HistogramTopKTask(StableHistogramTask):
    """Task: release the ``k`` items with the largest noisy counts among those that reach the threshold."""

    k: int  # type: ignore[assignment]
    counted = False

    def _build_chain(self, query: Query[Any, UserUnit], **options: Any) -> Measurement:
        return super()._build_chain(query, **options) >> ReleaseLargest(self.k)

    def question_text(self, columns: Columns) -> str:
        return UnknownDomainTask(self.k).question_text(columns)

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        return f"{super().describe_mechanism(plan)}; of the items that reach the threshold, the {self.k} largest"


# Partition selection: all items of a table that enough users have, without counts.
#
# Proof: proofs/planning/keys.tex

_HALF = Fraction(1, 2)  # release probability of the accuracy bound
_NEARLY = 1 + 2.0**-48  # factor of a float scale, so that it meets its rho
_STEPS = 32  # steps per halving of delta, which is reduced if the whole delta does not meet the budget
_MOST_STEPS, _LEAST_DELTA = 2**16, 2.0**-1000  # so many steps reduce any delta to 0
_MOST = 2**40  # users: more than exist


@dataclass(frozen=True)
class PartitionSelectionTask(VariableSizeTask):
    """Task: partition selection, which releases all items of the table with enough users, without counts.

    Calibration chooses the variant that needs fewer users. ``rounds`` is None if each item is released independently;
    otherwise it is the number of rounds in which a user spreads a weight over items.
    """

    rounds: int | None = None
    k = None
    release = "set"
    fewer: ClassVar[tuple[int, ...]] = (20, 1)  # max_items for which the number of users is reported

    @property
    def name(self) -> str:
        return "partition_selection" if self.rounds is None else "weighted_partition_selection"

    def build_measurement(self, query: Query[Any, UserUnit], main: float, delta: float) -> Measurement:
        """Return the chain from a table to the items; ``main`` is epsilon, or the noise scale under zCDP."""
        unit, measure = query.unit, query.budget.measure
        if self.rounds is None:
            return unit.score_transformation(None) >> then_partition_selection(measure, epsilon=main, delta=delta)
        columns = unit.columns
        space, most = (FrameDomain(columns.user, columns.item), UserDistance(unit.neighbors)), columns.max_items or 1
        how: dict[str, Any] = {"epsilon" if is_pure(without_delta(measure)) else "scale": main, "delta": delta}
        how |= {"rounds": self.rounds, "minimum_users": columns.minimum_users or 1}
        found = make_weighted_partition_selection(*space, measure, max_items=most, **how)
        if columns.keep == "order":
            return found
        return make_bound_contributions(*space, most=most, by=columns.keep) >> found

    def rebuild_measurement(
        self, query: Query[Any, UserUnit], known: Mapping[str, Any], items: Any = None
    ) -> Measurement:
        kind, main = replace(self, rounds=known.get("rounds")), known["epsilon" if "epsilon" in known else "scale"]
        return kind.build_measurement(query, main, known["delta"])

    def calibrate_measurement(self, query: Query[Any, UserUnit], known: dict[Any, float] | None = None) -> Measurement:
        """Return the chain that needs fewest users to release an item with probability 1/2, if all have ``max_items``.

        Under zCDP users always spread weights. Under epsilon they do if they may have several items and one round of
        weights needs fewer users than independent selection. If users may have several items, there are three rounds of
        weights: after each, weight moves to items that are neither released nor hopeless, which releases more items.
        """
        pure, several = is_pure(without_delta(query.budget.measure)), query.unit.columns.max_items != 1
        if pure:
            each = self._calibrate_rounds(query)
            once = replace(self, rounds=1)._calibrate_rounds(query) if several else each
            if likely_users(each, _HALF) <= likely_users(once, _HALF):
                return each
        return replace(self, rounds=3 if several else 1)._calibrate_rounds(query)

    def _calibrate_rounds(self, query: Query[Any, UserUnit]) -> Measurement:
        d_in, main, delta = query.unit.d_in, query.budget.main_distance, query.budget.delta_below
        if is_pure(without_delta(query.budget.measure)):
            both_ways = self.rounds is None and query.unit.neighbors == "replace"
            loss = round_down(to_fraction(main) / (d_in * (2 if both_ways else 1)))
        else:
            squares = d_in**2 * (2 if query.unit.neighbors == "replace" else 1)
            inverse = sum((1 / part**2 for part in SCALES[self.rounds or 1]), Fraction(0))
            loss = _NEARLY * math.sqrt(round_down(squares * inverse / (2 * to_fraction(main))))
        best, failing, passing, steps, turn = None, -1, _MOST_STEPS, 0, 0
        while passing - failing > 1:  # the delta of the map falls by about one step with each
            steps, turn = min(max(steps, failing + 1), passing - 1), turn + 1
            try:
                found = self.build_measurement(query, loss, delta * 2.0 ** (-steps / _STEPS))
            except (ParameterError, ArithmeticError):
                if failing < 0:
                    raise
                passing, steps = steps, (failing + steps) // 2
                continue
            if found.check(d_in, query.budget.d_out):
                best, passing = found, steps
            else:
                failing = steps
            excess = math.log2(min(max(found.map(d_in)[1], _LEAST_DELTA), 1) / delta)
            steps = steps + math.ceil(_STEPS * excess) if turn % 4 else (failing + passing) // 2
        if best is None:
            raise SearchError("epsilon or delta must be larger: no threshold meets the budget")
        return best

    def accuracy_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return a number of users at which an item is released with probability at least 1/2."""
        return likely_users(plan.measurement, _HALF)

    def question_text(self, columns: Columns) -> str:
        return "which items do enough users have, without a list of candidates?"

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        known, capped = plan.measurement.parameters, plan.query.unit.columns.contribution_clause
        if "rounds" not in known:
            return f"{known['mechanism']}: each item is released with the largest possible probability{capped}"
        later = f", in {known['rounds']} rounds, after each of which it moves to items that may still be released"
        where = "" if known["rounds"] == 1 else later
        return f"{known['mechanism']}: Gaussian noise on weights of users{where}{capped}"

    def choice_reason(self, plan: Plan[Any, UserUnit], tried: Sequence[Plan[Any, UserUnit]]) -> str:
        """Return, in words, how many users an item would need if fewer items of a user counted, or with noisy counts.

        Return an empty text if it would not need fewer.
        """
        query, most, needed = plan.query, plan.query.unit.columns.max_items or 1, plan.accuracy or 0
        found = []
        for cap in (cap for cap in self.fewer if cap < most):
            columns = replace(query.unit.columns, max_items=cap)
            capped = self.calibrate_measurement(replace(query, unit=replace(query.unit, columns=columns)))
            users = Plan(query, capped).accuracy
            if users is not None and users < needed:
                found.append(f"{users:.0f} if {f'at most {cap} items' if cap > 1 else '1 item'} of each user counted")
        shared = "the items of a user share the budget, so an item would need fewer users with a smaller --max-items"
        said = [f"{shared}: {' and '.join(found)}"] if found else []
        with suppress(ParameterError, SearchError):
            counted = StableHistogramTask().calibrate_measurement(query)
            users = query.unit.columns.left_out + counted.parameters["threshold"]
            if users <= needed:
                said.append(
                    f"`above-threshold`, which also releases counts, needs {users} users for the same probability: ask "
                    f"it instead, unless most users have fewer than {most} items"
                )
        return "; ".join(said)

    def guarantee_text(self, plan: Plan[Any, UserUnit]) -> str:
        """Return the accuracy guarantee: the number of users that an item needs."""
        number = "1 user" if plan.accuracy == 1 else f"{plan.accuracy:.0f} users"
        return (
            f"with probability at least 50 %, an item is released if {number} or more have it among their counted items"
        )

    def accuracy_guarantees(self, plan: Plan[Any, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        return {"accuracy": replace(super().accuracy_guarantees(plan)["accuracy"], alpha=float(_HALF))}


# proof-region: likely_users
def likely_users(measurement: Measurement, chance: Fraction) -> float:
    """Return a number of users from which on an item is released with probability at least ``chance``."""
    known = measurement.parameters
    least, most = known.get("minimum_users", 1), known["max_items"]
    if "rounds" not in known:
        table = release_probabilities(
            *per_partition_budget(to_fraction(known["epsilon"]), to_fraction(known["delta"]), most)
        )  # [table]
        return float(least - 1 + min(n for n, p in enumerate(table) if p >= chance * table[-1]))  # [first-enough]
    return _least_integer(least, lambda users: least_release_probability(known, users) >= chance)  # [users]


def least_release_probability(known: Mapping[str, Any], users: int) -> Fraction:
    """Return a lower bound on the release probability of an item with ``users`` users, at least the minimum."""
    sigma, level = to_fraction(known["scale"]), to_fraction(math.nextafter(known["threshold"], math.inf))  # [level-up]
    least = users * (1 / _sqrt_upper_bound(known["max_items"]) - Fraction(2 * FULL, UNIT))  # [weight]
    *early, last = (sigma * part for part in SCALES[known["rounds"]])
    kept = (_noise_tail_lower_bound(least - UNLIKELY * scale, scale) for scale in early)  # [kept]
    return math.prod(kept, start=_noise_tail_lower_bound(least - level, last))  # [released]


def _sqrt_upper_bound(most: int) -> Fraction:
    """Return an upper bound on the square root."""
    return Fraction(math.isqrt(most * 2**80) + 1, 2**40)  # [root]


def _noise_tail_lower_bound(gap: Fraction, scale: Fraction) -> Fraction:
    """Return a lower bound on the probability that noise of this ``scale`` is at least -``gap``."""
    step = Fraction(1, UNIT)
    if gap >= step:
        return 1 - normal_tail_bound((gap - step) / scale)  # [above-threshold]
    nearly = _HALF - Fraction(2, 5) * (step + max(Fraction(0), -gap)) / scale
    return max(Fraction(0), nearly * (1 - Fraction(1, 2**12)))  # [below-threshold]


def _least_integer(low: int, holds: Any) -> float:
    """Return the least integer from ``low`` on that satisfies a monotone predicate; infinity if it is too large."""
    high = low
    while not holds(high):
        low, high = high + 1, 2 * high
        if high > _MOST:
            return math.inf
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)  # [least-integer]
    return high


# end-proof-region: likely_users
