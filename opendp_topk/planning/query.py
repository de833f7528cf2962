"""What is asked: a task, of whom, within which budget, how often. Built once, and passed whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..core.measurement import Measurement
from ..core.transformation import Transformation
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile, without_delta
from ..spaces.metrics import ScoreMetric
from .columns import Columns
from .promises import Promise

if TYPE_CHECKING:
    from .plan import Plan

Space = Transformation | tuple[VectorDomain, ScoreMetric]


@dataclass(frozen=True)
class Budget:
    """A measure, and the distance that all releases together may reach in it, a pair where it has a delta."""

    measure: Measure
    d_out: Any

    @property
    def symbol(self) -> str:
        """What is stated, beside a delta."""
        return "epsilon" if isinstance(self.measure, PrivacyProfile) else without_delta(self.measure).symbol


class Unit(Protocol):
    """Whom the budget protects."""

    @property
    def d_in(self) -> Any:
        """How far apart neighbours are."""

    def nameless(self, n_candidates: int) -> Space:
        """The scores of so many candidates, for maps alone."""


@dataclass(frozen=True)
class Scores:
    """Vectors of scores at a distance of ``d_in``."""

    space: tuple[VectorDomain, ScoreMetric]
    d_in: Any

    def nameless(self, n_candidates: int) -> Space:
        """The vectors."""
        return self.space


@dataclass(frozen=True)
class Users:
    """Tables that differ by ``d_in`` users, who are added or removed, or replaced; and the columns that count."""

    neighbors: str = "add_remove"
    d_in: int = 1
    columns: Columns = field(default_factory=Columns)

    @property
    def whom(self) -> str:
        """Whom it protects, in words."""
        return whom(self.neighbors, self.d_in)

    def nameless(self, n_candidates: int) -> Space:
        """The scores of so many candidates."""
        return self.columns.nameless(self.neighbors, n_candidates)

    def scores(self, candidates: Any) -> Transformation:
        """From a table to the scores of ``candidates``; of its own items where these are None."""
        return self.columns.scores(self.neighbors, candidates)


def whom(neighbors: str, d_in: int) -> str:
    """So many users, in words."""
    users = "1 user" if d_in == 1 else f"{d_in} users"
    return f"{users} {'added or removed' if neighbors == 'add_remove' else 'replaced'}"


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
