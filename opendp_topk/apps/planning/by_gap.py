"""Top-k by gap: the exact set of the best listed candidates above a large gap, at most k of them.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...core.candidates import index_candidates
from ...core.measurement import Measurement
from ...errors import checks
from ...measurements.top_k_by_gap import then_top_k_by_gap
from ...numerics.arithmetic import round_up, to_fraction
from ...sampling.distributions.one_shot_accuracy import accuracy
from ...sampling.noises.exponential import Exponential
from ...sampling.noises.gumbel import Gumbel
from ...sampling.noises.noise import Noise
from ...sampling.noises.standard import find_standard_noise
from ...spaces.measures import is_pure, without_delta
from .plan import AccuracyGuarantee, Plan, Query, confidence_text
from .units import Columns, UserUnit
from .unknown_domain import ThresholdTask


@dataclass(frozen=True)
class GapTask(ThresholdTask):
    """Task: release the exact set of the j <= ``k`` best of ``n_candidates`` above a large gap, or an empty set.

    By default ``noise`` is the cheaper one under the measure of the budget, and ``test_scale``, the scale of the noise
    in the test of the gap, is half the scale of the choice.
    """

    k: int
    n_candidates: int
    noise: Noise | None = None
    test_scale: float | None = None

    name: ClassVar[str] = "top_k_by_gap"
    release = "set"

    def __post_init__(self) -> None:
        checks.require_positive_int("the number of candidates", self.n_candidates)
        checks.require_positive_int("k", self.k, at_most=self.n_candidates - 1, limit="the number of candidates less 1")

    def build_measurement(
        self, query: Query[Any, UserUnit], scale: float, threshold: float, items: Any = None
    ) -> Measurement:
        """Return the chain from a table to the set of ``items``; if these are None, of indices, for the map only."""
        unit, measure = query.unit, query.budget.measure
        scores: Any = unit.map_only_scores(self.n_candidates) if items is None else unit.score_transformation(items)
        usual = Exponential() if is_pure(without_delta(measure)) else Gumbel()  # the cheaper one under the measure
        measurement: Measurement = scores >> then_top_k_by_gap(
            measure, k=self.k, scale=scale, test_scale=self.test_scale, threshold=threshold, noise=self.noise or usual
        )
        return measurement if items is None else measurement >> index_candidates(items)

    # proof-region: surely_passes
    def accuracy_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return a gap at which a set is released with probability at least 1 - alpha."""
        known = plan.measurement.parameters
        noise, failing = find_standard_noise(known["noise"]), to_fraction(plan.query.alpha) / 2
        test = to_fraction(known["test_scale"])
        beside = self.gap_error_bound(plan), accuracy(noise, 1, 1, test, failing)  # [both]
        if max(beside) == math.inf:
            return math.inf
        return round_up(to_fraction(known["threshold"]) + sum(map(to_fraction, beside)))

    def gap_error_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return how far the gap of the released set may be below the largest gap."""
        known = plan.measurement.parameters
        noise, failing = find_standard_noise(known["noise"]), to_fraction(plan.query.alpha) / 2
        return accuracy(noise, self.k, 1, to_fraction(known["scale"]), failing) if self.k > 1 else 0.0  # [near]

    # end-proof-region: surely_passes

    def question_text(self, columns: Columns) -> str:
        return (
            f"which of {self.n_candidates} candidates, at most {self.k}, are above a large gap between their "
            f"{columns.score_noun}s?"
        )

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        known, noun = plan.measurement.parameters, plan.query.unit.columns.score_noun
        noise = find_standard_noise(known["noise"]).words
        return (
            f"{self.name} (set, without order): the largest of the first {self.k} gaps between consecutive {noun}s, in "
            f"decreasing order, with independent {noise} noise on each gap; if this gap exceeds a threshold, both with "
            f"noise of scale {known['test_scale']}, exactly the candidates above it, and otherwise none"
        )

    def guarantee_text(self, plan: Plan[Any, UserUnit]) -> str:
        """Return the accuracy guarantee: the gap at which a set is released, and how large the gap below the set is."""
        columns, near = plan.query.unit.columns, math.floor(self.gap_error_bound(plan))
        nearly = f"within {columns.difference_text(near)} of the largest" if near else "the largest"
        return (
            f"the released items are exactly the best candidates by their {columns.score_noun}s, whatever "
            f"their number; with probability at least {confidence_text(plan.query.alpha)}, a set is released if one of "
            f"the first {self.k} gaps between consecutive {columns.score_noun}s is at least "
            f"{columns.difference_text(math.ceil(plan.accuracy or 0))}, and the gap below it is {nearly} of these gaps"
        )

    def accuracy_guarantees(self, plan: Plan[Any, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        found = super().accuracy_guarantees(plan)["accuracy"]
        users = None if found.within_users is None else math.ceil(plan.accuracy or 0)
        return {"accuracy": replace(found, within_users=users)}
