"""What ranks the items: the users who have them, or a column of numbers, of which each user may add a bounded total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, Any

import typer

from ..core.transformation import Transformation
from ..errors import ParameterError
from ..ledger.amounts import stated
from ..spaces.domains import Domain, FrameDomain
from ..spaces.metrics import UserDistance
from ..spaces.valued_frames import ValuedFrameDomain
from ..transformations.count_by_item import make_count_by_item, nameless_count
from ..transformations.keep_items import RULES, make_keep_items
from ..transformations.sum_by_item import make_sum_by_item, nameless_sum, whole_steps

_DIGITS = Context(prec=40)  # of an amount that people read: more than any sum of 64 bits has

SumOption = Annotated[
    str | None,
    typer.Option(
        "--sum",
        metavar="COLUMN",
        help="Rank items by the sum of this column of numbers instead of by users. Give --bounds.",
        show_default=False,
    ),
]
BoundsOption = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="LOWER,UPPER",
        help="With --sum: what one user may add to one item. A user's total beyond is clamped. Public: choose them "
        "without looking at the table.",
        show_default=False,
    ),
]
StepOption = Annotated[
    str | None,
    typer.Option(
        "--step",
        metavar="STEP",
        help="With --sum: numbers are rounded to multiples of this, such as 0.01. If not given: 1.",
        show_default=False,
    ),
]

KeepOption = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="|".join(RULES),
        help="With --max-items, which items of a user count. random: drawn uniformly. order: the first in alphabetical "
        "order. rows: those with the most rows. value: with --sum, those with the largest totals.",
    ),
]


@dataclass(frozen=True)
class Scoring:
    """Counts of users where ``column`` is None, and otherwise sums of it."""

    column: str | None = None
    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    step: Fraction = Fraction(1)

    @property
    def noun(self) -> str:
        """Count, or sum."""
        return "count" if self.column is None else "sum"

    @property
    def ranked(self) -> str:
        """The end of the question which items are released."""
        return "do most users have" if self.column is None else f"have the largest sums of {self.column}"

    def amount(self, steps: float) -> str:
        """A difference of scores in words."""
        if self.column is None:
            return "1 user" if steps == 1 else f"{steps} users"
        return self.written(int(steps))

    def written(self, steps: int) -> str:
        """A score as people write it."""
        exact = steps * self.step
        return f"{_DIGITS.divide(Decimal(exact.numerator), Decimal(exact.denominator)):f}"

    def domain(self, user: str, item: str) -> FrameDomain | ValuedFrameDomain:
        """The tables that are asked for."""
        return FrameDomain(user, item) if self.column is None else ValuedFrameDomain(user, item, self.column)

    def of(
        self,
        domain: Domain,
        neighbors: str,
        candidates: Iterable[Any] | None,
        max_items: int | None = None,
        keep: str = "order",
    ) -> Transformation:
        """The scores of a table."""
        metric = UserDistance(neighbors)
        if keep != "order" and max_items is not None:
            assert isinstance(domain, FrameDomain | ValuedFrameDomain)
            kept = make_keep_items(domain, metric, most=max_items, by=keep, granularity=self.step)
            chained: Transformation = kept >> self.of(domain, neighbors, candidates, max_items)
            return chained
        if not isinstance(domain, ValuedFrameDomain):
            assert isinstance(domain, FrameDomain)
            return make_count_by_item(domain, metric, candidates=candidates, max_items=max_items)
        return make_sum_by_item(
            domain, metric, candidates=candidates, bounds=self.bounds, granularity=self.step, max_items=max_items
        )

    def nameless(self, neighbors: str, n_candidates: int) -> Transformation:
        """The scores of so many candidates, for their map alone."""
        metric = UserDistance(neighbors)
        if self.column is None:
            return nameless_count(FrameDomain("user", "item"), metric, n_candidates=n_candidates)
        domain = ValuedFrameDomain("user", "item", "value")
        return nameless_sum(domain, metric, n_candidates=n_candidates, bounds=self.bounds, granularity=self.step)

    def read(self, rows: Any) -> Any:
        """A table of strings, as a .csv file is read, with numbers in the column; what is no number becomes null."""
        import polars as pl

        if self.column is None or not isinstance(rows, pl.LazyFrame | pl.DataFrame):
            return rows
        if rows.collect_schema().get(self.column) != pl.String:
            return rows
        return rows.with_columns(pl.col(self.column).str.strip_chars().cast(pl.Float64, strict=False))


COUNTING = Scoring()


def scoring(column: str | None, bounds: str | None, step: str | None) -> Scoring:
    """What --sum, --bounds and --step ask for.

    Raises:
        ParameterError: They do not go together, or are no numbers that do.
    """
    if column is None:
        if (bounds, step) != (None, None):
            raise ParameterError("--bounds and --step go with --sum COLUMN")
        return COUNTING
    if bounds is None:
        raise ParameterError("--sum needs --bounds LOWER,UPPER: what one user may add to one item")
    ends = bounds.split(",")
    if len(ends) != 2:
        raise ParameterError("--bounds must be two numbers with a comma between them, such as 0,100")
    lower, upper = map(_signed, ends)
    found = Scoring(column, (lower, upper), stated("1" if step is None else step, "--step"))
    if not found.step:
        raise ParameterError("--step must be a number > 0")
    whole_steps(found.bounds, found.step)
    return found


def _signed(text: str) -> Fraction:
    text = text.strip()
    return -stated(text[1:], "--bounds") if text.startswith("-") else stated(text, "--bounds")
