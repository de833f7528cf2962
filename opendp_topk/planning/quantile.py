"""A quantile of a column of numbers: one multiple of a public step, chosen by its rank.

Proof: proofs/planning/quantile.tex
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.measurement import Measurement
from ..core.transformation import Transformation
from ..spaces.metrics import UserDistance
from ..spaces.valued_frames import NumberFrameDomain
from ..transformations.quantile_scores import make_quantile_scores
from ..transformations.sum_by_item import whole_steps
from .catalogue import default
from .columns import Columns, numeral
from .plan import Plan
from .promises import NO_BOUND, Promise, finite, sure
from .top_k import TopK
from .units import Unit, Users

_WRITTEN = re.compile(r"-?\d{1,40}(\.\d{1,600}|/[1-9]\d{0,600})?", re.ASCII)


@dataclass(frozen=True)
class Numbers(Columns):
    """A column of users and one of numbers, ``value``, whose ``quantile`` is asked for; there are no items.

    Candidates are the multiples of ``step`` within ``bounds``. Of a user at most ``max_rows`` rows count.
    """

    quantile: Fraction = Fraction(1, 2)
    max_rows: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return self.user, str(self.value)

    @property
    def domain(self) -> Any:
        """The tables that have them."""
        return NumberFrameDomain(self.user, str(self.value))

    @property
    def least(self) -> int:
        """The least candidate, in steps."""
        return whole_steps(self.bounds, self.step)[0]

    @property
    def n_candidates(self) -> int:
        """How many multiples of the step lie within the bounds.

        Raises:
            ParameterError: They are too few or too many.
        """
        number: int = self.nameless("add_remove", 0).parameters["candidates"]
        return number

    @property
    def capped(self) -> str:
        """Which rows of a user count, in words."""
        if self.max_rows == 1:
            return "of each user 1 row counts, the median of the user's own"
        return f"of each user at most {self.max_rows} rows count, evenly spaced in the order of their numbers"

    def scores(self, neighbors: str, candidates: Iterable[Any] | None) -> Transformation:
        """From a table to the scores of all candidates."""
        return make_quantile_scores(
            self.domain,
            UserDistance(neighbors),
            quantile=self.quantile,
            bounds=self.bounds,
            granularity=self.step,
            max_rows=self.max_rows,
        )

    def nameless(self, neighbors: str, n_candidates: int) -> Transformation:
        """The same: these scores have no names."""
        return self.scores(neighbors, None)

    def is_candidate(self, written: Any) -> bool:
        """Whether this is a candidate as a record writes it."""
        if not _WRITTEN.fullmatch(str(written)):
            return False
        number, (least, most) = Fraction(written), whole_steps(self.bounds, self.step)
        steps = number / self.step
        return steps.denominator == 1 and least <= steps <= most and written == numeral(number)


def named(quantile: Fraction) -> str:
    """The median, or which quantile."""
    return "median" if quantile == Fraction(1, 2) else f"{quantile} quantile"


# proof-region: planned_quantile
@dataclass(frozen=True)
class Multiple:
    """Post-processing of the place of a candidate: the candidate, as a record writes it."""

    least: int
    step: Fraction

    def __call__(self, place: Any) -> int | str:
        return numeral((self.least + int(np.ravel(place)[0])) * self.step)  # [number]

    def __repr__(self) -> str:
        return f"multiple({self.step})"


@dataclass(frozen=True)
class Quantile(TopK):
    """The one candidate that is nearest to a quantile by its rank, or nearly so; the unit's columns are ``Numbers``."""

    @classmethod
    def of(cls, columns: Numbers) -> Quantile:
        """The task for these columns."""
        return cls(1, columns.n_candidates, "set", default("ranking"))  # [one]

    def rows(self, plan: Plan[TopK, Unit]) -> Fraction | None:
        """By how many rows the released number fails to be the quantile at most; None where no bound is finite."""
        bound = super().accuracy(plan)
        if bound is None or math.isinf(bound):
            return None
        return Fraction(math.floor(bound), numbers(plan).quantile.denominator)  # [rows]

    # end-proof-region: planned_quantile

    def accuracy(self, plan: Plan[TopK, Unit]) -> float | None:
        """The same in whole rows, rounded up."""
        rows = self.rows(plan)
        return math.inf if rows is None else math.ceil(rows)

    def on(self, plan: Plan[TopK, Users], items: Any = None) -> Measurement:
        """From a table to the number that is released."""
        columns = numbers(plan)
        measurement = super().on(plan, None)
        return measurement >> Multiple(columns.least, columns.step)

    def question(self, columns: Columns) -> str:
        """What is asked."""
        assert isinstance(columns, Numbers)
        return f"which of {self.n_candidates} numbers is the {named(columns.quantile)} of {columns.value}?"

    def words(self, plan: Plan[TopK, Users]) -> str:
        """The mechanism in words."""
        columns, noise = numbers(plan), plan.measurement.parameters["noise"]
        least, most = (numeral(at * columns.step) for at in (columns.least, columns.least + self.n_candidates - 1))
        return (
            f"{self.name}: each multiple of {numeral(columns.step)} from {least} to {most} is scored by how many rows "
            f"it fails to be the quantile; independent {noise} noise on each score, and the largest wins"
        )

    def promises(self, plan: Plan[TopK, Users]) -> Mapping[str, Promise]:
        """How far the rank of the released number may be from the quantile, among the rows that count."""
        rows, columns, alpha = self.rows(plan), numbers(plan), plan.query.alpha
        if rows is None:
            return {"accuracy": Promise(NO_BOUND, None, float(alpha))}
        below, above, near = columns.quantile, 1 - columns.quantile, numeral(rows)
        words = (
            f"with probability at least {sure(alpha)}, of the N rows that count at most {below} N + {near} lie below "
            f"the released number, and at most {above} N + {near} above it; {columns.capped}, and a number counts as "
            "the multiple nearest to it within the bounds"
        )
        within = finite(plan.accuracy) if columns.max_rows == 1 else None  # each of so many users has one row
        return {"accuracy": Promise(words, within, float(alpha))}


def numbers(plan: Plan[Any, Any]) -> Numbers:
    """The columns of a plan for a quantile."""
    columns = plan.query.unit.columns
    assert isinstance(columns, Numbers)
    return columns
