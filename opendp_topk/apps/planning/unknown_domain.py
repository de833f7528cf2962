"""The k best items of a table, where nobody lists the candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.measurement import Measurement
from ...errors import checks
from ...measurements._key_selection import MOST_KEYS
from ...measurements.unknown_domain_top_k import then_unknown_domain_top_k
from ...numerics.arithmetic import exact
from .columns import Columns
from .plan import Plan, Query
from .promises import NO_BOUND, Promise, finite, largest, sure
from .units import Users
from .unlisted import Unlisted

_LIMIT = 10  # times k: enough that the base is a small count, and few enough that the logarithm of it costs little


@dataclass(frozen=True)
class TopKUnknownDomain(Unlisted):
    """The ``k`` best of ``limit`` items of the table itself, ten times k if not given.

    Where ``n_candidates`` are listed, a minimum of users leaves some of them out, and the best of the others are asked
    for in the same way.
    """

    k: int
    limit: int | None = None
    n_candidates: int | None = None

    name: ClassVar[str] = "unknown_domain_top_k"

    def __post_init__(self) -> None:
        checks.count("k", self.k, at_most=MOST_KEYS, limit="2^22")
        if self.n_candidates is not None:
            checks.count("the number of candidates", self.n_candidates)
            checks.count("k", self.k, at_most=self.n_candidates, limit="the number of candidates")

    @property
    def taking_part(self) -> int:
        """How many items of the table take part."""
        if self.limit is not None:
            return self.limit
        return min(_LIMIT * self.k, MOST_KEYS, MOST_KEYS if self.n_candidates is None else self.n_candidates)

    def built(self, query: Query[Any, Users], scale: float, threshold: float, items: Any = None) -> Measurement:
        """The chain from a table to the items, those of a list if one is given."""
        named = items is not None or self.n_candidates is None
        scores: Any = query.unit.scores(items) if named else query.unit.nameless(self.n_candidates or 0)
        measurement: Measurement = scores >> then_unknown_domain_top_k(
            query.budget.measure, k=self.k, scale=scale, limit=self.taking_part, threshold=threshold
        )
        return measurement

    def on(self, plan: Plan[Any, Users], items: Any) -> Measurement:
        """The chain for the candidates ``items``."""
        known = plan.measurement.parameters
        return self.built(plan.query, known["scale"], known["threshold"], items)

    def accuracy(self, plan: Plan[Any, Users]) -> float:
        """How near the t-th released item comes to the t-th largest score."""
        near: float = plan.measurement.accuracy(1, plan.query.alpha)
        return near

    def question(self, columns: Columns) -> str:
        """What is asked."""
        if self.n_candidates is not None:
            return f"which {self.k} of {self.n_candidates} candidates {columns.ranked}?"
        return f"which {self.k} items {columns.ranked}, where nobody lists the items?"

    def words(self, plan: Plan[Any, Users]) -> str:
        """The mechanism in words."""
        columns = plan.query.unit.columns
        scores = "count of distinct users" if columns.value is None else f"sum of {columns.value}"
        return (
            f"{self.name} (ranking, best first): independent Gumbel noise on each lead over the "
            f"{largest(self.taking_part + 1)} {scores}{columns.capped}; items come, best first, "
            "until a stop symbol with the score of the threshold"
        )

    def promises(self, plan: Plan[Any, Users]) -> Mapping[str, Promise]:
        """The accuracy theorem."""
        columns, near = plan.query.unit.columns, plan.accuracy
        assert near is not None
        within = finite(math.floor(near) if near < math.inf else near) if columns.value is None else None
        return {"accuracy": Promise(self._guarantee(plan, near), within, float(plan.query.alpha))}

    def _guarantee(self, plan: Plan[Any, Users], near: float) -> str:
        columns = plan.query.unit.columns
        lead = math.floor(exact(plan.measurement.parameters["threshold"]) + exact(near)) if near < math.inf else near
        if lead == math.inf:
            return NO_BOUND
        amount, noun = columns.amount, columns.noun
        beyond = f", and beyond {amount(columns.left_out)}," if columns.left_out else ""
        return (
            f"with probability at least {sure(plan.query.alpha)}, an item gets in if its {noun} is beyond the "
            f"{largest(self.taking_part + 1)} one{beyond} by more than {amount(lead)}, as far as there is room for "
            f"{self.k}; and for every t the t-th released item has a {noun} within {amount(math.floor(near))} of the "
            f"t-th largest {noun}{columns.counted}"
        )
