"""Privacy units, the columns of a table that count, and budgets."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Protocol

from ...core.transformation import Transformation
from ...errors import DataError, DataTypeError, ParameterError
from ...numerics.arithmetic import round_down
from ...spaces.domains import FrameDomain, VectorDomain
from ...spaces.measures import Measure, PrivacyProfile, without_delta
from ...spaces.metrics import L01InfDistance, ScoreMetric, UserDistance
from ...transformations.bound_contributions import make_bound_contributions, map_only_contributions
from ...transformations.count_by_item import make_count_by_item, map_only_count
from ...transformations.minimum_users import map_only_minimum, then_minimum_users
from ...transformations.sum_by_item import make_sum_by_item, map_only_sum
from ..ledger.amounts import parse_exact

# Tables without a user ID column: every row counts as a user, and a person has a bounded number of rows.
#
# Proof: proofs/planning/numbered_rows.tex

ROW = "row number"  # the user column if every row counts as a user


# proof-region: numbered_rows
def numbered_rows(frame: Any) -> Any:
    """Return a polars frame with a unique row number in the column ``ROW``.

    Raises:
        DataError: The table already has this column.
    """
    rows = frame.lazy()
    if ROW in rows.collect_schema().names():
        raise DataError(f"the table has a column {ROW!r}, a reserved name: rename it")
    return rows.with_row_index(ROW)  # [a-number-each]


# end-proof-region: numbered_rows


def users_to_rows(words: str) -> str:
    """Return a sentence about users as one about rows."""
    return re.sub(r"\buser(s?)\b", r"row\1", words)


# Items of several columns: the entries of a row are joined into one text, which can be split again.
#
# Proof: proofs/planning/joined_items.tex


# proof-region: joined_items
def join_item_parts(parts: Sequence[str]) -> str:
    """Return the parts joined by commas, with a backslash before each comma or backslash inside a part."""
    return ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in parts)  # [escaped]


def split_item_parts(text: str) -> list[str]:
    """Return the parts that :func:`join_item_parts` joined."""
    found, signs = [""], iter(text)
    for sign in signs:
        if sign == ",":
            found.append("")  # [next-part]
        else:
            found[-1] += next(signs, "") if sign == "\\" else sign  # [unescaped]
    return found


def add_joined_column(frame: Any, names: Sequence[str]) -> Any:
    """Return a polars frame with the joined entries of these columns, in the column ``join_item_parts(names)``.

    Raises:
        DataError: A column does not contain integers, strings or categories, or its name begins with ``^``.
    """
    import polars as pl

    from ...tables.frames import INTEGERS, STRINGS

    schema = frame.lazy().collect_schema()
    for name in names:
        if name.startswith("^") or type(schema[name]).__name__ not in (*INTEGERS, *STRINGS):  # [check-columns]
            raise DataTypeError(
                f"column {name!r} is one of several item columns: it must contain integers, strings or "
                "categories, and its name must not begin with ^"
            )
    texts = [
        pl.col(name)
        .cast(pl.String)
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all(",", "\\,", literal=True)
        for name in names
    ]
    return frame.with_columns(pl.concat_str(texts, separator=",").alias(join_item_parts(names)))  # [each-row]


# end-proof-region: joined_items


# The columns of a table that count: users, items and, for sums, numbers; and the contribution bounds of a user.

_PARTS = 10**6  # the largest denominator of a fraction that a record contains as a float64
KEPT_ITEMS = {
    "order": "the first in alphabetical order",
    "random": "drawn at random",
    "rows": "those with the most rows",
    "value": "those with the largest totals",
}
"""Items of a user that count, in words, by the rule that chooses them."""
_DIGITS = Context(prec=40)  # digits of an amount in texts: more than any 64-bit sum has


@dataclass(frozen=True)
class Columns:
    """Columns of a table that rank items: by the number of users, or by sums of the column ``value`` if it is given.

    ``parts`` are the columns that form an item, if there are several; ``item`` is their joined name. ``group`` is the
    column of groups, if each group gets a list. At most ``max_items`` items of a user count, chosen by the rule
    ``keep``. Each user adds a number within ``bounds`` to an item, in multiples of ``step``. Items with fewer than
    ``minimum_users`` users are left out.
    """

    user: str = "user"
    item: str = "item"
    value: str | None = None
    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    step: Fraction = Fraction(1)
    max_items: int | None = None
    keep: str = "random"
    minimum_users: int | None = None
    parts: tuple[str, ...] = ()
    group: str | None = None

    @property
    def left_out(self) -> int:
        """Largest number of users at which an item is always left out."""
        return 0 if self.minimum_users is None else self.minimum_users - 1

    @property
    def score_noun(self) -> str:
        """``"count"`` or ``"sum"``."""
        return "count" if self.value is None else "sum"

    @property
    def ranking_clause(self) -> str:
        """End of the question which items are released."""
        if self.value is not None:
            return f"have the largest sums of {self.value}"
        return "have most rows" if self.is_row_level else "do most users have"

    @property
    def contribution_clause(self) -> str:
        """The items of a user that count, in words."""
        capped = "" if self.max_items is None else f", of each user {self._max_items_phrase}"
        return capped + (f", without items with fewer than {self.minimum_users} users" if self.left_out else "")

    @property
    def truncation_clause(self) -> str:
        """End of an accuracy guarantee that is relative to the truncated data; empty if nothing is truncated."""
        if self.max_items is None:
            return ""
        return (
            f"; {self.score_noun}s are those of the truncated data (of each user {self._max_items_phrase}), "
            "not of the whole table"
        )

    @property
    def _max_items_phrase(self) -> str:
        return f"at most {count_with_noun(self.max_items or 0, 'item')}, {KEPT_ITEMS[self.keep]}"

    def difference_text(self, steps: float) -> str:
        """Return a difference of scores in words."""
        return count_with_noun(steps, "user") if self.value is None else format_grid_score(int(steps), self.step)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that a table must have."""
        more = (one for one in (self.value, self.group) if one is not None)
        return (*(() if self.is_row_level else (self.user,)), *(self.parts or (self.item,)), *more)

    @property
    def is_row_level(self) -> bool:
        """Whether every row counts as a user."""
        return self.user == ROW

    @property
    def table_domain(self) -> FrameDomain:
        """Domain of the tables with these columns."""
        return self.domain if self.group is None else FrameDomain(self.user, self.item, group=self.group)

    @property
    def domain(self) -> FrameDomain:
        """Domain of the tables with these columns, except the group column."""
        return FrameDomain(self.user, self.item, value=self.value)

    def is_possible_release(self, released: Sequence[Any]) -> bool:
        """Return True if the release, in the notation of records, is possible: distinct items of one type.

        An item of several columns is a list with a text for each of them.
        """
        wide, lists = len(split_item_parts(self.item)), [one for one in released if isinstance(one, list)]
        distinct = {join_item_parts(one) if isinstance(one, list) else one for one in released}
        kinds = {type(item) for item in released}
        return len(distinct) == len(released) and len(kinds) <= 1 and all(len(one) == wide > 1 for one in lists)

    def score_transformation(self, neighbors: str, candidates: Iterable[Any] | None) -> Transformation:
        """Return the transformation from a table to the scores of ``candidates``; if None, of the table's own items."""
        items = None if candidates is None else tuple(candidates)
        makers = make_count_by_item, make_sum_by_item, make_bound_contributions
        scored: Any = self._chain_scores(neighbors, makers, candidates=items)
        if self.minimum_users is not None:
            scored = scored >> then_minimum_users(minimum_users=self.minimum_users, candidates=items)
        chained: Transformation = scored
        return chained

    def map_only_scores(self, neighbors: str, n_candidates: int) -> Transformation:
        """Return the scores of ``n_candidates`` candidates, for the map only."""
        makers = map_only_count, map_only_sum, map_only_contributions
        scored: Any = self._chain_scores(neighbors, makers, n_candidates=n_candidates)
        if self.minimum_users is not None:
            space = scored.output_domain, scored.output_metric
            scored = scored >> map_only_minimum(*space, minimum_users=self.minimum_users)
        chained: Transformation = scored
        return chained

    def _chain_scores(self, neighbors: str, makers: tuple[Any, Any, Any], **listed: Any) -> Any:
        """Return the scores by the constructors of counts, of sums and of a contribution bound, without a minimum."""
        count_by_item, sum_by_item, bound_contributions = makers
        space, step = (self.domain, UserDistance(neighbors)), {"granularity": self.step}
        if self.value is None:
            scored = count_by_item(*space, max_items=self.max_items, **listed)
        else:
            scored = sum_by_item(*space, bounds=self.bounds, max_items=self.max_items, **step, **listed)
        if self.keep == "order" or self.max_items is None:
            return scored
        return bound_contributions(*space, most=self.max_items, by=self.keep, **step, **listed) >> scored

    def prepare_rows(self, rows: Any) -> Any:
        """Return a table with items in one column, and with numbered rows if these count as users.

        Raises:
            DataTypeError: One of these is needed, and the table is not a polars frame.
            DataError: A column is missing.
        """
        if not (self.parts or self.is_row_level):
            return rows
        import polars as pl

        from ...tables.files import require_column_names
        from ...tables.guard import run_guarded

        if not isinstance(rows, pl.LazyFrame | pl.DataFrame):
            raise DataTypeError(
                "the table must be a polars frame if every row counts as a user or items have several columns: convert "
                "it, such as by polars.from_pandas, polars.from_arrow or the method pl() of DuckDB"
            )
        require_column_names(run_guarded(lambda: rows.lazy().collect_schema().names()), self.column_names, None)
        rows = add_joined_column(rows, self.parts) if self.parts else rows
        return numbered_rows(rows) if self.is_row_level else rows


def parse_signed(text: str, name: str) -> Fraction:
    """Return the exact number in a text, as ``parse_exact`` does, also if it is negative."""
    text = text.strip()
    with contextlib.suppress(ParameterError):
        return -parse_exact(text[1:], name) if text.startswith("-") else parse_exact(text, name)
    raise ParameterError(f"{name} must be a finite number, such as -2, 0.1 or 1/3, of at most 300 digits")


def recover_fraction(number: float) -> Fraction:
    """Return the number that was written as a float: a simple fraction with this float, such as 1/3, or its decimal."""
    decimal = Fraction(repr(number))
    simple = decimal.limit_denominator(_PARTS)
    return simple if float(simple) == number else decimal


# proof-region: numeral
def serialize_grid_number(number: Fraction) -> int | str:
    """Return a grid number in the notation of records: an integer, or a text that ``Fraction`` parses exactly.

    The text is a decimal if it is exact in 40 digits, otherwise a fraction in lowest terms.
    """
    if number.denominator == 1:
        return int(number)  # [integer]
    decimal = format_grid_score(1, number)
    return decimal if Fraction(decimal) == number else str(number)  # [same]


# end-proof-region: numeral


def format_grid_score(steps: int, step: Fraction) -> str:
    """Return a score of ``steps`` steps as a decimal."""
    exact = steps * step
    return f"{_DIGITS.divide(Decimal(exact.numerator), Decimal(exact.denominator)):f}"


# Budgets and privacy units.

Space = Transformation | tuple[VectorDomain, ScoreMetric]


def has_contribution_bound(space: Space) -> bool:
    """Return True if the scores have a bound on how many of them one person changes."""
    metric = space.output_metric if isinstance(space, Transformation) else space[1]
    return isinstance(metric, L01InfDistance)


@dataclass(frozen=True)
class Budget:
    """Budget of all releases together: a measure and a distance, which is a pair if the measure has a delta."""

    measure: Measure
    d_out: Any

    @property
    def main_distance(self) -> Any:
        return self.d_out[0] if isinstance(self.d_out, tuple) else self.d_out

    @property
    def delta(self) -> Any:
        """Delta of the budget; None if it has none."""
        return self.d_out[1] if isinstance(self.d_out, tuple) else None

    @property
    def delta_below(self) -> float:
        """Delta of the budget as a float64, rounded down."""
        return round_down(parse_exact(self.delta, "delta"))

    @property
    def main_symbol(self) -> str:
        """Symbol of the main distance, such as epsilon or rho."""
        return "epsilon" if isinstance(self.measure, PrivacyProfile) else without_delta(self.measure).symbol


class PrivacyUnit(Protocol):
    """Protocol of privacy units: the neighbouring inputs that the budget protects."""

    @property
    def d_in(self) -> Any:
        """Distance of neighbouring inputs."""

    def map_only_scores(self, n_candidates: int) -> Space:
        """Return the scores of ``n_candidates`` candidates, for maps only."""


@dataclass(frozen=True)
class ScoreUnit:
    """Privacy unit of score vectors: neighbours are at distance ``d_in``."""

    space: Space
    d_in: Any

    def map_only_scores(self, n_candidates: int) -> Space:
        return self.space


@dataclass(frozen=True)
class UserUnit:
    """Privacy unit of tables: neighbours differ by ``d_in`` users, added or removed, or replaced.

    ``columns`` are the columns that count.
    """

    neighbors: str = "add_remove"
    d_in: int = 1
    columns: Columns = field(default_factory=Columns)

    @property
    def protected_users(self) -> str:
        users = describe_neighbors(self.neighbors, self.d_in)
        return users_to_rows(users) if self.columns.is_row_level else users

    def map_only_scores(self, n_candidates: int) -> Space:
        return self.columns.map_only_scores(self.neighbors, n_candidates)

    def score_transformation(self, candidates: Any) -> Transformation:
        return self.columns.score_transformation(self.neighbors, candidates)


def count_with_noun(number: float, noun: str) -> str:
    """Return a number with its noun: 1 user, 2 users."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def describe_neighbors(neighbors: str, d_in: int) -> str:
    """Return in words by how many users neighbouring tables differ."""
    return f"{count_with_noun(d_in, 'user')} {'added or removed' if neighbors == 'add_remove' else 'replaced'}"
