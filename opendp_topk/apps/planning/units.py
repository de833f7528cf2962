"""Whom a budget protects, and how far all releases together may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ...core.transformation import Transformation
from ...spaces.domains import VectorDomain
from ...spaces.measures import Measure, PrivacyProfile, without_delta
from ...spaces.metrics import L01InfDistance, ScoreMetric
from .columns import Columns
from .numbered_rows import in_rows

Space = Transformation | tuple[VectorDomain, ScoreMetric]


def few_change(space: Space) -> bool:
    """Whether the scores carry a bound on how many of them one person moves."""
    metric = space.output_metric if isinstance(space, Transformation) else space[1]
    return isinstance(metric, L01InfDistance)


@dataclass(frozen=True)
class Budget:
    """A measure, and the distance that all releases together may reach in it, a pair where it has a delta."""

    measure: Measure
    d_out: Any

    @property
    def main(self) -> Any:
        """The distance, without its delta."""
        return self.d_out[0] if isinstance(self.d_out, tuple) else self.d_out

    @property
    def delta(self) -> Any:
        """The delta; None where it has none."""
        return self.d_out[1] if isinstance(self.d_out, tuple) else None

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
        users = whom(self.neighbors, self.d_in)
        return in_rows(users) if self.columns.of_rows else users

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
