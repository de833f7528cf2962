"""The k best of listed candidates, and the same with a noisy count of each.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...core.candidates import index_candidates, largest_counts
from ...core.measurement import Measurement
from ...core.releases import SelectedCounts
from ...errors import NotDeclaredError, checks
from ...numerics.arithmetic import exact
from ...sampling.distributions.discrete import largest_noise
from ...sampling.distributions.events import Enclosure
from ...sampling.noises.standard import STANDARD
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.measures import Measure, is_pure
from ...spaces.metrics import LInfDistance
from .catalogue import Mechanism
from .plan import NO_BOUND, Plan, Promise, Query, finite, largest, least_scale, likely, sure
from .units import Columns, Space, Unit, Users

_NAMES = {
    **{noise.name: noise.words for noise in STANDARD},
    "exponential": "the exponential mechanism",
    "permute_and_flip": "permute-and-flip",
}


@dataclass(frozen=True)
class TopK:
    """The ``k`` best of ``n_candidates``, as a ranking or a set, by one mechanism of the catalogue.

    ``alternatives`` are others, of which :func:`nearest` takes one where it comes nearer.
    """

    k: int
    n_candidates: int
    release: str
    mechanism: Mechanism
    alternatives: tuple[Mechanism, ...] = ()

    counted: ClassVar[bool] = False
    searched: ClassVar[tuple[str, ...]] = ("scale",)

    def __post_init__(self) -> None:
        checks.count("the number of candidates", self.n_candidates)
        checks.count("k", self.k, at_most=self.n_candidates, limit="the number of candidates")

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.mechanism.name

    @property
    def ways(self) -> tuple[TopK, ...]:
        """The task by its mechanism alone, and by each of the alternatives."""
        return tuple(replace(self, mechanism=one, alternatives=()) for one in (self.mechanism, *self.alternatives))

    # proof-region: planned_top_k
    def built(self, space: Space, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """The selection with this scale, of indices or of ``items``."""
        measurement: Measurement = space >> self.mechanism.build(
            measure, self.k, scale, self.release, counts=self.counted
        )
        if self.mechanism.few:
            return measurement >> Largest(self.k, self.release == "ranking", self.counted, items)  # [largest]
        return measurement if items is None else measurement >> index_candidates(items)

    def least(self, query: Query[TopK, Unit], known: dict[Any, float] | None = None) -> Measurement:
        """The measurement with the least scale; ``known`` as in :func:`least_scale`.

        Raises:
            SearchError: No scale meets the budget, or every one does.
            ParameterError: The mechanism does not take the measure.
        """
        space, measure = query.unit.nameless(self.n_candidates), query.budget.measure

        def make(scale: float) -> Measurement:
            return self.built(space, measure, scale)

        return least_scale(make, query.unit.d_in, query.budget.d_out, query.releases, known)

    def profiled(self, plan: Plan[TopK, Unit]) -> Measurement:
        """The measurement of the plan under ``PrivacyProfile()``."""
        measure, scale = plan.query.budget.measure, plan.measurement.parameters["scale"]
        space = plan.query.unit.nameless(self.n_candidates)
        measurement: Measurement = space >> self.mechanism.profiled(measure, self.k, scale, self.release)
        return measurement

    # end-proof-region: planned_top_k

    def needs_no_noise(self, query: Query[TopK, Unit]) -> bool:
        """Whether the release is the same for all neighbours."""
        if self.counted:
            return False
        one = self.built(query.unit.nameless(self.n_candidates), query.budget.measure, 1.0)
        return one.check(query.unit.d_in, 0)

    def on(self, plan: Plan[TopK, Users], items: Any) -> Measurement:
        """From a table to the items that are released."""
        scale = plan.measurement.parameters["scale"]
        return self.built(plan.query.unit.scores(items), plan.query.budget.measure, scale, items)

    def success(self, plan: Plan[TopK, Unit], counts: Any) -> Enclosure | None:
        """Bounds on the probability that the exact top-k is released, in any order, if these were the counts.

        None where it is not known.
        """
        if self.mechanism.few:
            return None
        space = VectorDomain(AtomDomain(int), size=len(counts)), LInfDistance(monotonic=True)
        scale = plan.measurement.parameters["scale"]
        selection: Measurement = space >> self.mechanism.build(
            plan.query.budget.measure, self.k, scale, self.release, counts=False
        )
        return likely(selection, counts, "exact")

    def accuracy(self, plan: Plan[TopK, Unit]) -> float | None:
        """The bound of the accuracy theorem; None where counting the possible releases takes too long."""
        return self.mechanism.accuracy(plan.measurement, self.k, self.n_candidates, self.release, plan.query.alpha)

    def shortfall(self, plan: Plan[TopK, Unit]) -> float | None:
        """The same for counts: they are integers, so that the bound is rounded down to one."""
        bound = plan.accuracy
        return bound if bound is None or math.isinf(bound) else math.floor(bound)

    def near(self, plan: Plan[TopK, Unit]) -> float:
        """By how much anything that is released may be off, by theorems; what is not known is infinite."""
        bound = self.shortfall(plan)
        return math.inf if bound is None else bound

    def because(self, plan: Plan[TopK, Unit]) -> str:
        """Nothing: :func:`nearest` says why one of several mechanisms was taken."""
        return ""

    def question(self, columns: Columns) -> str:
        """What is asked."""
        return f"which {self.k} of {self.n_candidates} candidates {columns.ranked}?"

    def words(self, plan: Plan[TopK, Users]) -> str:
        """The mechanism in words."""
        named = {name: _NAMES.get(value, value) for name, value in plan.measurement.parameters.items()}
        what = "ranking, best first" if self.release == "ranking" else "set, without order"
        return f"{self.name} ({what}): {self.mechanism.words.format_map(named)}"

    def promises(self, plan: Plan[TopK, Users]) -> Mapping[str, Promise]:
        """The accuracy theorem, and what it means for an item that is not popular enough."""
        columns, users, words = plan.query.unit.columns, self.shortfall(plan), self._guarantee(plan)
        if users is not None and users != math.inf:
            below = f"more than {columns.amount(users)} below" if users else "below"
            words = f"{words}; so an item {below} the {largest(self.k)} {columns.noun} would not be released"
            words += columns.counted
        within = finite(users) if columns.value is None else None
        return {"accuracy": Promise(words, within, float(plan.query.alpha))}

    def _guarantee(self, plan: Plan[TopK, Users]) -> str:
        columns, users = plan.query.unit.columns, self.shortfall(plan)
        if users is None:
            return "not computed: the possible releases are too many to count"
        if users == math.inf:
            return NO_BOUND
        near = f"a {columns.noun} within {columns.amount(users)} of"
        surely = f"with probability at least {sure(plan.query.alpha)}"
        if self.mechanism.ranked:
            ranked = self.release == "ranking"
            winner = "t-th released item" if ranked else "t-th most frequent of the released items"
            return (
                f"{surely}, for every t from 1 to {self.k} the {winner} "
                f"has {near if users else 'exactly'} the t-th largest {columns.noun}"
            )
        reach = f"{near if users else 'at least'} the {largest(self.k)} {columns.noun}"
        return f"{surely}, every released item has {reach}"


TopKPlan = Plan[TopK, Unit]


@dataclass(frozen=True)
class Largest:
    """Post-processing of noisy counts: the k largest, best first or in their order, with these counts or without."""

    k: int
    ranked: bool
    counted: bool
    items: Any = None

    def __call__(self, noisy: Any) -> Any:
        best: Any = largest_counts(self.k)(noisy)
        indices = best.indices if self.ranked else np.sort(best.indices)
        released = SelectedCounts(indices, noisy[indices]) if self.counted else indices
        return released if self.items is None else index_candidates(self.items)(released)

    def __repr__(self) -> str:
        return f"largest({self.k})"


class Counts(TopK):
    """The k best, each with a noisy count, or sum."""

    counted = True

    def deviation(self, plan: Plan[TopK, Unit]) -> float:
        """By how much a noisy count may be off; where all counts have noise, that of the worst of all."""
        known, gaussian = plan.measurement.parameters, not is_pure(plan.query.budget.measure)
        name, draws = "count_scale", self.k
        if self.mechanism.few:
            name, draws, gaussian = "scale", self.n_candidates, known["gaussian"]
        return largest_noise(exact(known[name]), draws, plan.query.alpha, gaussian=gaussian)

    def near(self, plan: Plan[TopK, Unit]) -> float:
        """By how much anything that is released may be off."""
        return max(super().near(plan), self.deviation(plan))

    def profiled(self, plan: Plan[TopK, Unit]) -> Measurement:
        """The curve where all counts have noise; that of a selection is not that of a release with counts.

        Raises:
            NotDeclaredError: A selection comes first.
        """
        if self.mechanism.few:
            return super().profiled(plan)
        raise NotDeclaredError("a selection with counts declares no privacy curve: ask for one without counts")

    def words(self, plan: Plan[TopK, Users]) -> str:
        """The mechanism in words."""
        if self.mechanism.few:
            return f"{super().words(plan)}; their noisy counts are released with them, at no further cost"
        noise = "Laplace" if is_pure(plan.query.budget.measure) else "Gaussian"
        return f"{super().words(plan)}; then discrete {noise} noise on each winner's count"

    def promises(self, plan: Plan[TopK, Users]) -> Mapping[str, Promise]:
        """The accuracy theorem, and how far the noise may drive the counts."""
        query, columns, users = plan.query, plan.query.unit.columns, self.deviation(plan)
        near = f"within {columns.amount(users)} of" if users else "exactly"
        words = (
            NO_BOUND
            if users == math.inf
            else f"with probability at least {sure(query.alpha)}, every noisy {columns.noun} is {near} the true "
            f"{columns.noun}{columns.counted}"
        )
        within = finite(users) if columns.value is None else None
        return {**super().promises(plan), "count_accuracy": Promise(words, within, float(query.alpha))}
