"""Items that come from the table itself, where nobody lists the candidates: what such tasks share."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from ...core.binary_search import binary_search_chain, binary_search_param
from ...core.measurement import Measurement
from .plan import Plan, Query
from .units import Users

_FAR = 2.0**60  # a threshold at which delta is no matter, while the scale is searched for


class OfTable(Protocol):
    """A task whose items are those of the table."""

    release: ClassVar[str] = "ranking"
    searched: ClassVar[tuple[str, ...]] = ("scale", "threshold")

    def needs_no_noise(self, query: Query[Any, Users]) -> bool:
        """Never: whether an item comes out depends on the table."""
        return False

    def on(self, plan: Plan[Any, Users], items: Any) -> Measurement:
        """The measurement of the plan, which takes items as they come."""
        return plan.measurement

    def because(self, plan: Plan[Any, Users]) -> str:
        """Nothing."""
        return ""


class Unlisted(OfTable, Protocol):
    """A task whose noise has a scale, and whose threshold keeps items of few users from coming out."""

    def built(self, query: Query[Any, Users], scale: float, threshold: float) -> Measurement:
        """The chain from a table to what is released."""

    def least_threshold(self, query: Query[Any, Users], scale: float) -> float:
        """The smallest threshold that meets the budget with this scale."""
        built, budget = self.built, query.budget.d_out
        return float(binary_search_param(lambda t: built(query, scale, t), query.unit.d_in, budget))

    def least(self, query: Query[Any, Users], known: dict[Any, float] | None = None) -> Measurement:
        """The chain with the smallest scale, and then the smallest threshold, that meet the budget.

        Raises:
            SearchError: None meets it.
        """
        whole = query.budget.d_out[0], 1.0
        found = binary_search_chain(lambda scale: self.built(query, scale, _FAR), query.unit.d_in, whole)
        scale = found.parameters["scale"]
        return self.built(query, scale, self.least_threshold(query, scale))
