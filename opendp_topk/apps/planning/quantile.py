"""Quantiles of a column of numbers: multiples of a public step, chosen by their ranks.

Proof: proofs/planning/quantile.tex
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ...core.measurement import Measurement
from ...core.transformation import Transformation
from ...errors import checks
from ...measurements.quantiles import WIDEST, then_quantiles
from ...spaces.domains import NumberFrameDomain
from ...spaces.measures import MaxDivergence, Measure, PrivacyProfile
from ...spaces.metrics import UserDistance
from ...transformations.count_by_number import make_count_by_number
from ...transformations.quantile_scores import make_quantile_scores
from ...transformations.sum_by_item import bounds_in_steps
from .catalogue import default_mechanism
from .plan import NO_BOUND, AccuracyGuarantee, Plan, confidence_text, finite_bound
from .top_k import TopK
from .units import Columns, PrivacyUnit, Space, UserUnit, serialize_grid_number

_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)  # of a bound, as people read it
_WRITTEN = re.compile(r"-?\d{1,40}(\.\d{1,600}|/[1-9]\d{0,600})?", re.ASCII)


@dataclass(frozen=True)
class NumericColumns(Columns):
    """A column of users and one of numbers, ``value``, whose ``quantiles`` are asked for; there are no items.

    Candidates are the multiples of ``step`` within ``bounds``. Of a user at most ``max_rows`` rows count. For several
    quantiles the rows of a number are spread over ``places``, or over as many as are possible.
    """

    quantiles: tuple[Fraction, ...] = (Fraction(1, 2),)
    max_rows: int = 1
    places: int = 64

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return (str(self.value),) if self.is_row_level else (self.user, str(self.value))

    @property
    def domain(self) -> Any:
        """The tables that have them."""
        return NumberFrameDomain(self.user, str(self.value))

    @property
    def least_candidate(self) -> int:
        """The least candidate, in steps."""
        return bounds_in_steps(self.bounds, self.step)[0]

    @property
    def n_candidates(self) -> int:
        """How many multiples of the step lie within the bounds.

        Raises:
            ParameterError: They are too few or too many.
        """
        number: int = self.map_only_scores("add_remove", 0).parameters["candidates"]
        return number

    @property
    def contribution_clause(self) -> str:
        """Which rows of a user count, in words."""
        if self.is_row_level:
            return "every row counts"
        if self.max_rows == 1:
            return "of each user 1 row counts, the median of the user's own"
        return f"of each user at most {self.max_rows} rows count, evenly spaced in the order of their numbers"

    def score_transformation(self, neighbors: str, candidates: Iterable[Any] | None) -> Transformation:
        """From a table to the scores of all candidates, or for several quantiles to their counts."""
        space = self.domain, UserDistance(neighbors)
        grid: Any = {"bounds": self.bounds, "granularity": self.step, "max_rows": self.max_rows}
        if len(self.quantiles) > 1:
            return make_count_by_number(*space, **grid)  # [counted]
        return make_quantile_scores(*space, quantile=self.quantiles[0], **grid)

    def map_only_scores(self, neighbors: str, n_candidates: int) -> Transformation:
        """The same: these scores have no names."""
        return self.score_transformation(neighbors, None)

    def is_candidate(self, written: Any) -> bool:
        """Whether this is a candidate as a record writes it."""
        if not _WRITTEN.fullmatch(str(written)):
            return False
        number, (least, most) = Fraction(written), bounds_in_steps(self.bounds, self.step)
        steps = number / self.step
        return steps.denominator == 1 and least <= steps <= most and written == serialize_grid_number(number)

    def is_possible_release(self, released: Sequence[Any]) -> bool:
        """Whether these could be released, as a record writes them: candidates, none below the one before."""
        return all(map(self.is_candidate, released)) and all(
            Fraction(one) <= Fraction(other) for one, other in itertools.pairwise(released)
        )


def quantile_phrase(quantiles: Sequence[Fraction]) -> str:
    """The median, or which quantiles."""
    if len(quantiles) == 1:
        return "median" if quantiles[0] == Fraction(1, 2) else f"{quantiles[0]} quantile"
    return f"{join_with_and(quantiles)} quantiles"


def join_with_and(quantiles: Sequence[Fraction]) -> str:
    """Several quantiles, with an "and" before the last."""
    *first, last = map(str, quantiles)
    return f"{', '.join(first)} and {last}"


# proof-region: planned_quantile
@dataclass(frozen=True)
class IndexGridNumbers:
    """Post-processing of the places of candidates: the candidates, as a record writes them."""

    least: int
    step: Fraction

    def __call__(self, places: Any) -> list[int | str]:
        return [serialize_grid_number((self.least + int(place)) * self.step) for place in np.ravel(places)]  # [number]

    def __repr__(self) -> str:
        return f"multiple({self.step})"


@dataclass(frozen=True)
class Quantile(TopK):
    """The candidate nearest to a quantile by its rank, or nearly so; the unit's columns are ``NumericColumns``."""

    @classmethod
    def from_columns(cls, columns: NumericColumns) -> Quantile:
        """The task for these columns."""
        if len(columns.quantiles) > 1:
            return Quantiles.by_halving(columns)
        return Quantile(1, columns.n_candidates, "set", default_mechanism("ranking"))  # [one]

    def row_error_bound(self, plan: Plan[TopK, PrivacyUnit]) -> Fraction | None:
        """By how many rows the released number fails to be the quantile at most; None where no bound is finite."""
        bound = super().accuracy_bound(plan)
        if bound is None or math.isinf(bound):
            return None
        return Fraction(math.floor(bound), numeric_columns(plan).quantiles[0].denominator)  # [rows]

    # end-proof-region: planned_quantile

    def accuracy_bound(self, plan: Plan[TopK, PrivacyUnit]) -> float | None:
        """The same in whole rows, rounded up."""
        rows = self.row_error_bound(plan)
        return math.inf if rows is None else math.ceil(rows)

    def bind_candidates(self, plan: Plan[TopK, UserUnit], items: Any = None) -> Measurement:
        """From a table to the number that is released."""
        columns = numeric_columns(plan)
        measurement = super().bind_candidates(plan, None)
        return measurement >> IndexGridNumbers(columns.least_candidate, columns.step)

    def question_text(self, columns: Columns) -> str:
        """What is asked."""
        assert isinstance(columns, NumericColumns)
        verb = "are" if self.k > 1 else "is"
        return (
            f"which of {self.n_candidates} numbers {verb} the {quantile_phrase(columns.quantiles)} of {columns.value}?"
        )

    def describe_mechanism(self, plan: Plan[TopK, UserUnit]) -> str:
        """The mechanism in words."""
        noise = plan.measurement.parameters["noise"]
        return (
            f"{self._describe_scoring(plan)} the quantile; independent {noise} noise on each score, and the "
            f"largest wins"
        )

    def _describe_scoring(self, plan: Plan[TopK, UserUnit]) -> str:
        columns = numeric_columns(plan)
        least, most = (
            serialize_grid_number(at * columns.step)
            for at in (columns.least_candidate, columns.least_candidate + self.n_candidates - 1)
        )
        return (
            f"{self.name}: each multiple of {serialize_grid_number(columns.step)} from {least} to {most} is scored "
            f"by how many rows "
            "it fails to be"
        )

    def accuracy_guarantees(self, plan: Plan[TopK, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        """How far the rank of the released number may be from the quantile, among the rows that count."""
        rows, columns, alpha = self.row_error_bound(plan), numeric_columns(plan), plan.query.alpha
        if rows is None:
            return {"accuracy": AccuracyGuarantee(NO_BOUND, None, float(alpha))}
        below, above, near = columns.quantiles[0], 1 - columns.quantiles[0], serialize_grid_number(rows)
        words = (
            f"with probability at least {confidence_text(alpha)}, of the N rows that count at most {below} N + "
            f"{near} lie below "
            f"the released number, and at most {above} N + {near} above it; {columns.contribution_clause}, and a "
            f"number counts as "
            "the multiple nearest to it within the bounds"
        )
        within = finite_bound(plan.accuracy) if columns.max_rows == 1 else None  # each of so many users has one row
        return {"accuracy": AccuracyGuarantee(words, within, float(alpha))}


# proof-region: planned_quantiles
def format_rows(rows: Fraction) -> str:
    """A number of rows in at most six digits, rounded up."""
    return f"{_SIX_UP.divide(Decimal(rows.numerator), Decimal(rows.denominator)).normalize():f}"  # [up]


@dataclass(frozen=True)
class Quantiles(Quantile):
    """Several quantiles by halving, of which two may be the same number."""

    shares: tuple[Fraction, ...] = ()
    places: int = 1

    def __post_init__(self) -> None:
        checks.require_positive_int("the number of candidates", self.n_candidates)

    @classmethod
    def by_halving(cls, columns: NumericColumns) -> Quantiles:
        """The task for these columns.

        Raises:
            ParameterError: The quantiles are not ascending, or too fine.
        """
        n, shares = columns.n_candidates, columns.quantiles
        made = cls(
            len(shares), n, "set", default_mechanism("ranking"), (), shares, min(columns.places, WIDEST // n)
        )  # [places]
        made.build_measurement(columns.map_only_scores("add_remove", n), MaxDivergence(), 1.0)
        return made

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return "quantiles"

    @property
    def choices_per_row(self) -> int:
        """How many choices one row takes part in."""
        return self.k.bit_length()  # [levels]

    def build_measurement(self, space: Space, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """The quantiles with this scale, as indices of candidates."""
        given: Any = {"quantiles": list(self.shares), "scale": scale, "places": self.places}
        counts: Any = space
        measurement: Measurement = counts >> then_quantiles(measure, **given)  # [halved]
        return measurement

    def build_curve_measurement(self, plan: Plan[TopK, PrivacyUnit]) -> Measurement:
        """The measurement of the plan under ``PrivacyProfile()``."""
        space = plan.query.unit.map_only_scores(self.n_candidates)
        return self.build_measurement(space, PrivacyProfile(), plan.measurement.parameters["scale"])

    def row_error_bound(self, plan: Plan[TopK, PrivacyUnit]) -> Fraction | None:
        """By how many rows each number fails to be its quantile at most, where none has more rows than places."""
        bound = plan.measurement.accuracy(self.n_candidates, plan.query.alpha)
        return None if math.isinf(bound) else Fraction(bound)  # [several-rows]

    # end-proof-region: planned_quantiles

    def describe_mechanism(self, plan: Plan[TopK, UserUnit]) -> str:
        """The mechanism in words."""
        return (
            f"{self._describe_scoring(plan)} a quantile; the middle quantile is chosen first, with independent "
            f"Gumbel noise on "
            "each score, and then those of the rows below it and of the rows from it on, in the same way"
        )

    def accuracy_guarantees(self, plan: Plan[TopK, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        """How far the ranks of the released numbers may be from their quantiles, among the rows that count."""
        rows, columns, alpha = self.row_error_bound(plan), numeric_columns(plan), plan.query.alpha
        if rows is None:
            return {"accuracy": AccuracyGuarantee(NO_BOUND, None, float(alpha))}
        words = (
            f"with probability at least {confidence_text(alpha)}, for q = {join_with_and(self.shares)} at once, of "
            f"the N rows that "
            "count at most q N + b lie below the number that is released for it, and at most (1 - q) N + b above it, "
            f"where b is {format_rows(rows)}, and for every {self.places} rows, or some of them, beyond the first "
            f"{self.places} "
            f"that have one number, {self.choices_per_row - 1} more; {columns.contribution_clause}, and a number "
            f"counts as the multiple "
            "nearest to it within the bounds"
        )
        return {"accuracy": AccuracyGuarantee(words, None, float(alpha))}


def numeric_columns(plan: Plan[Any, Any]) -> NumericColumns:
    """The columns of a plan for a quantile."""
    columns = plan.query.unit.columns
    assert isinstance(columns, NumericColumns)
    return columns
