"""All items of a table whose noisy counts reach a threshold, with these counts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...core.binary_search import binary_search_param
from ...core.measurement import Measurement
from ...errors import ParameterError, SearchError
from ...measurements.stable_histogram import then_stable_histogram
from ...numerics.arithmetic import exact
from ...sampling.distributions.discrete import largest_fall
from ...spaces.measures import is_pure, without_delta
from ...transformations.minimum_users import add_to_counts
from ..ledger.amounts import stated
from .columns import Columns
from .plan import Plan, Query
from .promises import Promise, finite, sure
from .units import Users
from .unlisted import Unlisted

_LEAST = 2  # one user alone must not reach it without noise


@dataclass(frozen=True)
class AboveThreshold(Unlisted):
    """All items of the table with enough users; with Gaussian noise, or of the two kinds that with which fewer do."""

    gaussian: bool = False
    k: ClassVar[None] = None
    counted: ClassVar[bool] = True
    name: ClassVar[str] = "stable_histogram"

    def built(self, query: Query[Any, Users], scale: float, threshold: float) -> Measurement:
        """The chain from a table to the items and their counts."""
        return self._chain(query, scale=scale, threshold=int(threshold))

    def within(self, query: Query[Any, Users], epsilon: Any, delta: Any) -> Measurement:
        """The chain whose scale and threshold are chosen so that one user costs no more than this."""
        return self._chain(query, epsilon=epsilon, delta=delta)

    def _chain(self, query: Query[Any, Users], **options: Any) -> Measurement:
        measurement: Measurement = query.unit.scores(None) >> then_stable_histogram(
            query.budget.measure, gaussian=self.gaussian, **options
        )
        left_out = query.unit.columns.left_out
        return measurement >> add_to_counts(left_out) if left_out else measurement

    def least(self, query: Query[Any, Users], known: dict[Any, float] | None = None) -> Measurement:
        """The chain with which an item of the fewest users surely gets in: with Laplace noise, or with Gaussian.

        Under epsilon and delta the noise of a group of users is Laplace.
        """
        pure = is_pure(without_delta(query.budget.measure))
        if pure and query.unit.d_in > 1:
            return super().least(query, known)
        kinds = (self,) if self.gaussian else (self, replace(self, gaussian=True))
        found = []
        for kind in kinds:
            with suppress(ParameterError):
                found.append(kind._within_all(query) if pure else super(AboveThreshold, kind).least(query, known))
        if not found:
            raise SearchError("no noise and no threshold meet the budget: raise epsilon or delta")
        return min(found, key=lambda one: self.accuracy(Plan(query, one)))

    def _within_all(self, query: Query[Any, Users]) -> Measurement:
        budget = query.budget
        return self.within(query, stated(budget.main, "epsilon"), stated(budget.delta, "delta"))

    def least_threshold(self, query: Query[Any, Users], scale: float) -> float:
        """The smallest threshold that meets the budget with this scale, a whole number."""
        built, d_in, budget = self.built, query.unit.d_in, query.budget.d_out
        if built(query, scale, _LEAST).check(d_in, budget):
            return _LEAST
        return int(binary_search_param(lambda t: built(query, scale, t), d_in, budget, T=int))

    # proof-region: gets_in
    def accuracy(self, plan: Plan[Any, Users]) -> float:
        """The score with which an item surely gets in."""
        scale, threshold, gaussian = (plan.measurement.parameters[key] for key in ("scale", "threshold", "gaussian"))
        left_out = plan.query.unit.columns.left_out
        sure: float = left_out + threshold + largest_fall(exact(scale), plan.query.alpha, gaussian=gaussian)  # [falls]
        return sure

    # end-proof-region: gets_in

    def question(self, columns: Columns) -> str:
        """What is asked."""
        return f"which items have a {columns.noun} above a threshold, where nobody lists the items?"

    def words(self, plan: Plan[Any, Users]) -> str:
        """The mechanism in words."""
        columns = plan.query.unit.columns
        kind = "Gaussian" if plan.measurement.parameters["gaussian"] else "Laplace"
        return f"{self.name}: discrete {kind} noise on each {columns.noun}{columns.capped}"

    def promises(self, plan: Plan[Any, Users]) -> Mapping[str, Promise]:
        """Which items surely get in."""
        columns, least = plan.query.unit.columns, plan.accuracy
        assert least is not None
        gets_in = f"an item gets in if its {columns.noun} is at least {columns.amount(least)}{columns.counted}"
        words = f"with probability at least {sure(plan.query.alpha)}, {gets_in}"
        within = finite(least) if columns.value is None else None
        return {"accuracy": Promise(words, within, float(plan.query.alpha))}
