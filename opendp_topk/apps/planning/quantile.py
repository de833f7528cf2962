"""Quantiles of a numeric column: multiples of a public step, chosen by their ranks.

Proof: proofs/planning/quantile.tex
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ...core.measurement import Measurement
from ...core.transformation import Transformation
from ...errors import checks
from ...measurements.quantiles import WIDEST, then_quantiles
from ...spaces.domains import FrameDomain
from ...spaces.measures import MaxDivergence, Measure
from ...spaces.metrics import UserDistance
from ...transformations.quantile_scores import make_count_by_number, make_quantile_scores
from ...transformations.sum_by_item import bounds_in_steps
from .catalogue import ONE_SHOT
from .plan import AccuracyGuarantee, Plan, Query, ScaleTask, confidence_text, finite_bound
from .top_k import TopKTask
from .units import Columns, PrivacyUnit, UserUnit, serialize_grid_number

_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)  # digits of a bound in texts
_WRITTEN = re.compile(r"-?\d{1,40}(\.\d{1,600}|/[1-9]\d{0,600})?", re.ASCII)


@dataclass(frozen=True)
class NumericColumns(Columns):
    """Columns of a question about ``quantiles``: one of users and one of numbers, ``value``. There are no items.

    Candidates are the multiples of ``step`` within ``bounds``. At most ``max_rows`` rows of a user count. For several
    quantiles, the rows of a number are spread over ``places`` places, or over as many as are possible.
    """

    quantiles: tuple[Fraction, ...] = (Fraction(1, 2),)
    max_rows: int = 1
    places: int = 64

    @property
    def column_names(self) -> tuple[str, ...]:
        return (str(self.value),) if self.is_row_level else (self.user, str(self.value))

    @property
    def domain(self) -> Any:
        return FrameDomain(self.user, value=self.value)

    @property
    def least_candidate(self) -> int:
        return bounds_in_steps(self.bounds, self.step)[0]

    @property
    def n_candidates(self) -> int:
        """Number of multiples of the step within the bounds.

        Raises:
            ParameterError: There are too few or too many.
        """
        number: int = self.map_only_scores("add_remove", 0).parameters["candidates"]
        return number

    @property
    def contribution_clause(self) -> str:
        if self.is_row_level:
            return "every row is counted"
        if self.max_rows == 1:
            return "of each user 1 row is counted, the median of the user's rows"
        return f"of each user at most {self.max_rows} rows are counted, evenly spaced in the order of their numbers"

    def score_transformation(self, neighbors: str, candidates: Iterable[Any] | None) -> Transformation:
        """Return the transformation from a table to the scores of all candidates; for several quantiles, to counts."""
        space = self.domain, UserDistance(neighbors)
        grid: Any = {"bounds": self.bounds, "granularity": self.step, "max_rows": self.max_rows}
        if len(self.quantiles) > 1:
            return make_count_by_number(*space, **grid)  # [counted]
        return make_quantile_scores(*space, quantile=self.quantiles[0], **grid)

    def map_only_scores(self, neighbors: str, n_candidates: int) -> Transformation:
        """Return the same transformation, since the candidates follow from the bounds."""
        return self.score_transformation(neighbors, None)

    def is_candidate(self, written: Any) -> bool:
        if not _WRITTEN.fullmatch(str(written)):
            return False
        number, (least, most) = Fraction(written), bounds_in_steps(self.bounds, self.step)
        steps = number / self.step
        return steps.denominator == 1 and least <= steps <= most and written == serialize_grid_number(number)

    def is_possible_release(self, released: Sequence[Any]) -> bool:
        """Return True if the release is possible: candidates in the notation of records, none below the one before."""
        return all(map(self.is_candidate, released)) and all(
            Fraction(one) <= Fraction(other) for one, other in itertools.pairwise(released)
        )


def quantile_phrase(quantiles: Sequence[Fraction]) -> str:
    """Return the quantiles in words, with "median" for a half."""
    if len(quantiles) == 1:
        return "median" if quantiles[0] == Fraction(1, 2) else f"{quantiles[0]} quantile"
    return f"{join_with_and(quantiles)} quantiles"


def join_with_and(quantiles: Sequence[Fraction]) -> str:
    """Return several quantiles in words, with an "and" before the last."""
    *first, last = map(str, quantiles)
    return f"{', '.join(first)} and {last}"


# proof-region: planned_quantile
@dataclass(frozen=True)
class IndexGridNumbers:
    """Post-processing from indices of candidates to the candidates, in the notation of records."""

    least: int
    step: Fraction

    def __call__(self, places: Any) -> list[int | str]:
        return [serialize_grid_number((self.least + int(place)) * self.step) for place in np.ravel(places)]  # [number]

    def __repr__(self) -> str:
        return f"multiple({self.step})"


@dataclass(frozen=True)
class QuantileTask(TopKTask):
    """Task: release the candidate with nearly the rank of a quantile. The unit's columns are ``NumericColumns``."""

    @classmethod
    def from_columns(cls, columns: NumericColumns) -> QuantileTask:
        if len(columns.quantiles) > 1:
            return QuantilesTask.by_halving(columns)
        return QuantileTask(1, columns.n_candidates, "set", ONE_SHOT)  # [one]

    def row_error_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> Fraction | None:
        """Return a bound on the rank error of the released number, in rows; None if no bound is finite."""
        bound = super().accuracy_bound(plan)
        if bound is None or math.isinf(bound):
            return None
        return Fraction(math.floor(bound), numeric_columns(plan).quantiles[0].denominator)  # [rows]

    # end-proof-region: planned_quantile

    def accuracy_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> float | None:
        """Return the bound of :meth:`row_error_bound` in whole rows, rounded up; infinity if there is none."""
        rows = self.row_error_bound(plan)
        return math.inf if rows is None else math.ceil(rows)

    def rebuild_measurement(self, query: Query[Any, Any], known: Mapping[str, Any], items: Any = None) -> Measurement:
        """Return the chain from a table to the released numbers."""
        columns = query.unit.columns
        return super().rebuild_measurement(query, known) >> IndexGridNumbers(columns.least_candidate, columns.step)

    def question_text(self, columns: Columns) -> str:
        assert isinstance(columns, NumericColumns)
        verb = "are" if self.k > 1 else "is"
        return (
            f"which of {self.n_candidates} numbers {verb} the {quantile_phrase(columns.quantiles)} of {columns.value}?"
        )

    def describe_mechanism(self, plan: Plan[TopKTask, UserUnit]) -> str:
        noise = plan.measurement.parameters["noise"]
        return f"{self._describe_scoring(plan)} the quantile; the largest score with independent {noise} noise wins"

    def _describe_scoring(self, plan: Plan[TopKTask, UserUnit]) -> str:
        columns = numeric_columns(plan)
        least, most = (
            serialize_grid_number(at * columns.step)
            for at in (columns.least_candidate, columns.least_candidate + self.n_candidates - 1)
        )
        return (
            f"{self.name}: each multiple of {serialize_grid_number(columns.step)} from {least} to {most} is "
            "scored by the number of rows by which it misses"
        )

    def guarantee_text(self, plan: Plan[TopKTask, UserUnit]) -> str:
        """Return the accuracy guarantee: the rank error of the released number among the rows that count."""
        columns, near = numeric_columns(plan), serialize_grid_number(self.row_error_bound(plan) or Fraction(0))
        below, above = columns.quantiles[0], 1 - columns.quantiles[0]
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, at most {below} N + {near} of the N "
            f"counted rows are below the released number, and at most {above} N + {near} are above it; "
            f"{columns.contribution_clause}, and numbers are rounded to multiples within the bounds"
        )

    def accuracy_guarantees(self, plan: Plan[TopKTask, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        found = super().accuracy_guarantees(plan)["accuracy"]
        of_users = self.k == 1 and numeric_columns(plan).max_rows == 1  # with one row per user, rows are users
        return {"accuracy": replace(found, within_users=finite_bound(plan.accuracy) if of_users else None)}


# proof-region: planned_quantiles
def format_rows(rows: Fraction) -> str:
    """Return a number of rows in at most six digits, rounded up."""
    return f"{_SIX_UP.divide(Decimal(rows.numerator), Decimal(rows.denominator)).normalize():f}"  # [up]


@dataclass(frozen=True)
class QuantilesTask(QuantileTask):
    """Task: release several quantiles by recursive halving. Two of the released numbers may be equal."""

    shares: tuple[Fraction, ...] = ()
    places: int = 1

    def __post_init__(self) -> None:
        checks.require_positive_int("the number of candidates", self.n_candidates)

    @classmethod
    def by_halving(cls, columns: NumericColumns) -> QuantilesTask:
        """Return the task for these columns.

        Raises:
            ParameterError: The quantiles are not ascending, or too fine.
        """
        n, shares = columns.n_candidates, columns.quantiles
        places = min(columns.places, WIDEST // n)  # [places]
        made = cls(len(shares), n, "set", ONE_SHOT, shares=shares, places=places)
        made.build_measurement(UserUnit(columns=columns), MaxDivergence(), 1.0)
        return made

    @property
    def name(self) -> str:
        return "quantiles"

    @property
    def choices_per_row(self) -> int:
        """Number of choices that one row takes part in."""
        return self.k.bit_length()  # [levels]

    def build_measurement(self, unit: Any, measure: Measure, scale: float, items: Any = None) -> Measurement:
        given: Any = {"quantiles": list(self.shares), "scale": scale, "places": self.places}
        measurement: Measurement = unit.map_only_scores(self.n_candidates) >> then_quantiles(
            measure, **given
        )  # [halved]
        return measurement

    def build_curve_measurement(self, plan: Plan[TopKTask, PrivacyUnit]) -> Measurement:
        return ScaleTask.build_curve_measurement(self, plan)

    def row_error_bound(self, plan: Plan[TopKTask, PrivacyUnit]) -> Fraction | None:
        """Return a bound on the rank error of each released number, in rows; None if no bound is finite.

        It is valid if no number has more than ``places`` rows.
        """
        bound = plan.measurement.accuracy(self.n_candidates, plan.query.alpha)
        return None if math.isinf(bound) else Fraction(bound)  # [several-rows]

    # end-proof-region: planned_quantiles

    def describe_mechanism(self, plan: Plan[TopKTask, UserUnit]) -> str:
        return (
            f"{self._describe_scoring(plan)} a quantile; the middle quantile is chosen first, with independent Gumbel "
            "noise on each score, and then in the same way the quantiles of the rows below it and of the other rows"
        )

    def guarantee_text(self, plan: Plan[TopKTask, UserUnit]) -> str:
        rows, columns = self.row_error_bound(plan) or Fraction(0), numeric_columns(plan)
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, for q = {join_with_and(self.shares)} at "
            "once, at most q N + b of the N counted rows are below the number released for q, and at most (1 "
            f"- q) N + b are above it; b is {format_rows(rows)}, plus {self.choices_per_row - 1} for each "
            f"started block of {self.places} rows beyond the first {self.places} rows with the same number; "
            f"{columns.contribution_clause}, and numbers are rounded to multiples within the bounds"
        )


def numeric_columns(plan: Plan[Any, Any]) -> NumericColumns:
    columns = plan.query.unit.columns
    assert isinstance(columns, NumericColumns)
    return columns
