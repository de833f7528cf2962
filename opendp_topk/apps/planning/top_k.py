"""Top-k of listed candidates, with or without a noisy count of each.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.candidates import index_candidates, largest_counts
from ...core.measurement import Measurement
from ...core.releases import Release
from ...errors import NotDeclaredError, checks
from ...numerics.arithmetic import to_fraction
from ...sampling.distributions.discrete import largest_noise
from ...sampling.distributions.events import Enclosure
from ...sampling.noises.standard import STANDARD
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.measures import Measure, is_pure
from ...spaces.metrics import LInfDistance
from .catalogue import Mechanism
from .plan import (
    NO_BOUND,
    AccuracyGuarantee,
    Plan,
    Query,
    ScaleTask,
    confidence_text,
    goal_probability,
    guarantee_field,
    nth_largest_text,
)
from .units import Columns, PrivacyUnit, ScoreUnit, UserUnit

_NAMES = {
    **{noise.name: noise.words for noise in STANDARD},
    "exponential": "the exponential mechanism",
    "permute_and_flip": "permute-and-flip",
}


@dataclass(frozen=True)
class TopKTask(ScaleTask):
    """Task: release the ``k`` best of ``n_candidates``, as a ranking or a set, by one mechanism of the catalogue.

    ``most_accurate_plan`` uses one of the ``alternatives`` if it is better. ``expected`` is a public guess of the k-th
    largest count; None if there is none. If ``counted``, each item is released with a noisy count or sum.
    """

    k: int
    n_candidates: int
    release: str
    mechanism: Mechanism
    alternatives: tuple[Mechanism, ...] = ()
    expected: int | None = None
    counted: bool = False

    def __post_init__(self) -> None:
        checks.require_positive_int("the number of candidates", self.n_candidates)
        checks.require_positive_int("k", self.k, at_most=self.n_candidates, limit="the number of candidates")

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def mechanism_variants(self) -> tuple[TopKTask, ...]:
        """The task with its mechanism only, and with each of the alternatives only."""
        return tuple(replace(self, mechanism=one, alternatives=()) for one in (self.mechanism, *self.alternatives))

    # proof-region: planned_top_k
    def build_measurement(self, unit: Any, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """Return the selection at this scale, of ``items`` or, if these are None, of indices."""
        space = unit.map_only_scores(self.n_candidates) if items is None else unit.score_transformation(items)
        measurement: Measurement = space >> self.mechanism.build_partial(
            measure, self.k, scale, self.release, counts=self.counted
        )
        if self.mechanism.few:
            return measurement >> SelectLargestCounts(
                self.k, self.release == "ranking", self.counted, items
            )  # [largest]
        return measurement if items is None else measurement >> index_candidates(items)

    def calibrate_measurement(self, query: Query[Any, Any], known: dict[Any, float] | None = None) -> Measurement:
        scores = ScoreUnit(query.unit.map_only_scores(self.n_candidates), query.unit.d_in)  # once for all scales
        return super().calibrate_measurement(replace(query, unit=scores), known)

    def build_curve_measurement(self, plan: Plan[TopKTask, PrivacyUnit]) -> Measurement:
        """Return the measurement of the plan under ``PrivacyProfile()``.

        Raises:
            NotDeclaredError: Counts follow a selection. Its curve is not that of the release with counts.
        """
        if self.counted and not self.mechanism.few:
            raise NotDeclaredError("a selection with counts declares no privacy curve: omit the counts")
        measure, space = plan.query.budget.measure, plan.query.unit.map_only_scores(self.n_candidates)
        selection = self.mechanism.build_partial(measure, self.k, plan.scale, self.release, curve=True)
        found: Measurement = space >> selection
        return found

    # end-proof-region: planned_top_k

    def needs_no_noise(self, query: Query[TopKTask, PrivacyUnit]) -> bool:
        if self.counted:
            return False
        return self.build_measurement(query.unit, query.budget.measure, 1.0).check(query.unit.d_in, 0)

    def exact_top_k_probability(self, plan: Plan[TopKTask, PrivacyUnit], counts: Any) -> Enclosure | None:
        """Return bounds on the probability that the exact top-k of ``counts`` is released, in any order.

        Return None if it is not known.
        """
        if self.mechanism.few:
            return None
        unit = ScoreUnit((VectorDomain(AtomDomain(int), size=len(counts)), LInfDistance(monotonic=True)), 1)
        selection = replace(self, counted=False).build_measurement(unit, plan.query.budget.measure, plan.scale)
        return goal_probability(selection, counts, "exact")

    def accuracy_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> float | None:
        return self.mechanism.accuracy_bound(
            plan.measurement, self.k, self.n_candidates, self.release, plan.query.alpha
        )

    def count_error_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> float:
        """Return the error bound of the released noisy counts; with noise on all counts, of all of them."""
        known, gaussian = plan.parameters, not is_pure(plan.query.budget.measure)
        name, draws = "count_scale", self.k
        if self.mechanism.few:
            name, draws, gaussian = "scale", self.n_candidates, known["gaussian"]
        return largest_noise(to_fraction(known[name]), draws, plan.query.alpha, gaussian=gaussian)

    def error_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> float:
        own = super().error_bound(plan)
        return max(own, self.count_error_bound(plan)) if self.counted else own

    def question_text(self, columns: Columns) -> str:
        return f"which {self.k} of {self.n_candidates} candidates {columns.ranking_clause}?"

    def describe_mechanism(self, plan: Plan[TopKTask, UserUnit]) -> str:
        named = {name: _NAMES.get(value, value) for name, value in plan.parameters.items()}
        what = "ranking, best first" if self.release == "ranking" else "set, without order"
        words = f"{self.name} ({what}): {self.mechanism.words.format_map(named)}"
        if not self.counted:
            return words
        if self.mechanism.few:
            return f"{words}; their noisy counts are also released, at no additional cost"
        noise = "Laplace" if is_pure(plan.query.budget.measure) else "Gaussian"
        return f"{words}; then discrete {noise} noise on each winner's count"

    def guarantee_text(self, plan: Plan[TopKTask, UserUnit]) -> str:
        """Return the accuracy guarantee, with the score below which an item is not released."""
        columns, users, rank = plan.query.unit.columns, plan.accuracy_floor, nth_largest_text(self.k)
        if users is None:
            return "not computed: the number of possible releases is too large"
        near = f"a {columns.score_noun} within {columns.difference_text(users)} of"
        if self.mechanism.ranked:
            ranked = self.release == "ranking"
            winner = "t-th released item" if ranked else "t-th most frequent of the released items"
            reach = (
                f"for every t from 1 to {self.k} the {winner} "
                f"has {near if users else 'exactly'} the t-th largest {columns.score_noun}"
            )
        else:
            reach = f"every released item has {near if users else 'at least'} the {rank} {columns.score_noun}"
        below = f"more than {columns.difference_text(users)} below" if users else "below"
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, {reach}; so an item {below} the {rank} "
            f"{columns.score_noun} would not be released{columns.truncation_clause}"
        )

    def accuracy_guarantees(self, plan: Plan[TopKTask, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        found = super().accuracy_guarantees(plan)
        return {**found, **self._count_guarantee(plan)} if self.counted else found

    def _count_guarantee(self, plan: Plan[TopKTask, UserUnit]) -> dict[str, AccuracyGuarantee]:
        columns, users, words = plan.query.unit.columns, self.count_error_bound(plan), NO_BOUND
        if users < math.inf:
            near = f"within {columns.difference_text(users)} of" if users else "exactly"
            words = (
                f"with probability at least {confidence_text(plan.query.alpha)}, every noisy {columns.score_noun} is "
                f"{near} the true {columns.score_noun}{columns.truncation_clause}"
            )
        return guarantee_field(plan, words, users, "count_accuracy")


TopKPlan = Plan[TopKTask, PrivacyUnit]


@dataclass(frozen=True)
class SelectLargestCounts:
    """Post-processing of noisy counts: select the k largest, best first or by index, with or without their counts."""

    k: int
    ranked: bool
    counted: bool
    items: Any = None

    def __call__(self, noisy: Any) -> Any:
        best: Any = largest_counts(self.k)(noisy)
        indices = best.indices if self.ranked else np.sort(best.indices)
        released = Release(indices=indices, counts=noisy[indices]) if self.counted else indices
        return released if self.items is None else index_candidates(self.items)(released)

    def __repr__(self) -> str:
        return f"largest({self.k})"
