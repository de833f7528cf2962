"""What is asked: a task, of whom, within which budget, how often; and the measurement with the least noise for it.

A query is built once, and passed whole.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from ...core.measurement import Measurement
from ...errors import CapacityError, NotDeclaredError
from ...sampling.distributions.events import Enclosure
from ...spaces.curves.curve import PrivacyCurve
from .columns import Columns
from .deciding import decided, least_at
from .least_scale import several
from .numbered_rows import in_rows
from .promises import Promise
from .units import Budget, Unit, Users


class Task(Protocol):
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

    def least(self, query: Query[Any, Any], known: dict[Any, float] | None = None) -> Measurement:
        """The measurement with the least noise that meets the budget; SearchError where there is none."""

    def accuracy(self, plan: Plan[Any, Any]) -> float | None:
        """The bound of the accuracy theorem; None where it takes too long to compute."""

    def needs_no_noise(self, query: Query[Any, Any]) -> bool:
        """Whether the release is the same for all neighbours."""

    def on(self, plan: Plan[Any, Any], items: Any) -> Measurement:
        """The measurement of a plan on tables whose candidates are ``items``."""

    def question(self, columns: Columns) -> str:
        """What is asked, in words."""

    def words(self, plan: Plan[Any, Any]) -> str:
        """The mechanism in words."""

    def because(self, plan: Plan[Any, Any]) -> str:
        """What makes the plan what it is, in a sentence; empty where there is nothing to say."""

    def promises(self, plan: Plan[Any, Any]) -> Mapping[str, Promise]:
        """What theorems promise of one release, by the names of the record."""


T_co = TypeVar("T_co", bound=Task, covariant=True)
U_co = TypeVar("U_co", bound=Unit, covariant=True)


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
        return self.query.task.accuracy(self)

    # proof-region: comparison
    @functools.cached_property
    def _decided(self) -> tuple[Any, str]:
        """The loss, and of a curve the word for the bound that decided it."""
        measure = self.query.budget.measure
        total = several(measure, self.measurement.exact_map(self.query.unit.d_in), self.query.releases)  # [total]
        loss = measure.distance(total, "loss")  # [loss-up]
        if not isinstance(loss, PrivacyCurve):
            return loss, ""
        epsilon = self.query.budget.d_out[0]
        delta, bound = least_at(loss, epsilon)
        return (epsilon, delta), bound  # [pair]

    @property
    def loss(self) -> Any:
        """What all releases together lose."""
        return self._decided[0]

    @property
    def bound(self) -> str:
        """The word for the bound that decided."""
        return self._decided[1] or decided(self.query.budget.measure, self.curve)

    @functools.cached_property
    def curve(self) -> PrivacyCurve:
        """The privacy curve of one release."""
        task: Any = self.query.task  # of listed candidates: no other has a curve
        curve: PrivacyCurve = task.profiled(self).map(self.query.unit.d_in)
        return curve

    # end-proof-region: comparison

    def on(self, items: Any) -> Plan[T_co, U_co]:
        """The same on tables, whose candidates are ``items``."""
        return replace(self, measurement=self.query.task.on(self, items))


# proof-region: planned
def planned(query: Query[T_co, U_co], known: dict[Any, float] | None = None) -> Plan[T_co, U_co]:
    """The plan for a query; ``known`` as in :func:`least_scale`.

    Raises:
        SearchError: No measurement meets the budget, or every one does.
        ParameterError: The mechanism does not take the measure.
    """
    return Plan(query, query.task.least(query, known))


# end-proof-region: planned


def promises_of(plan: Plan[Any, Users]) -> dict[str, Promise]:
    """What theorems promise of one release: of users, or of rows where each is taken for one."""
    found = dict(plan.query.task.promises(plan))
    if plan.query.unit.columns.of_rows:
        return {name: replace(one, words=in_rows(one.words)) for name, one in found.items()}
    return found


def likely(measurement: Measurement, scores: Any, goal: str) -> Enclosure | None:
    """How likely ``measurement`` reaches the goal on these scores; None where it is not known, or takes too long."""
    try:
        return measurement.success_probability(scores, goal)
    except (NotDeclaredError, CapacityError):
        return None
