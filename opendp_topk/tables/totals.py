"""Totals of a column of numbers: added up for each user and item, clamped, and added up by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .firsts import keep_first
from .frames import _collect, kinds
from .guard import guarded, require_below
from .keyed import by_item
from .spark import exact, sum_keys

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows

_WHOLE = 2**53  # float64 holds all integers up to here, and some back ends refuse to make floats of larger ones


# proof-region: table_totals
def totals_by_item(
    rows: Rows, step: float, farthest: int, bounds: tuple[int, int], most: int | None = None
) -> Mapping[Any, int]:
    """For each item the sum of its users' clamped totals, in steps, where that is not 0: Python integers.

    An integer beyond 2^53 counts as 2^53. A number becomes the whole number of steps nearest to it, halfway the one
    above, and no more than ``farthest`` from 0. A user's numbers for an item are added, and the total is clamped to
    ``bounds``. Rows with a null or NaN are dropped.

    Args:
        rows: What ``identifier_columns`` returned, the last column one of numbers.
        step: The step, > 0 and at most 2^22.
        farthest: A number of steps, at most 2^31, so that fewer than 2^32 numbers as large have a sum within 64 bits.
        bounds: The least and the greatest total of a user, in steps, no more than ``farthest`` from 0.
        most: How many items of a user count at most: the first in the order of the numbers, or of the code points.

    Raises:
        TableError: The back end failed.
        OutOfBoundsError: There are 2^32 rows or more.
    """
    types, held = kinds(rows), rows.held()  # [held]
    require_below(guarded(lambda: _length(held)), 32, "rows")  # [check-size]
    return guarded(lambda: _totals(held, types, step, farthest, bounds, most))


def _totals(
    rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int, bounds: tuple[int, int], most: int | None
) -> Mapping[Any, int]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        rows = nw.from_native(exact(rows.to_native().toDF("user", "item", "value"), "user", "item"))  # [spark-columns]
    summed = totals_by_pair(rows, types, step, farthest)
    found: Any = summed.with_columns(nw.col("value").clip(*bounds))  # [clamp]
    if rows.implementation.is_pyspark():
        return sum_keys(found.to_native(), most)  # [spark]
    if most is not None:
        found = keep_first(_collect(found), most).lazy()  # [first-items]
    sums = _collect(found.group_by("item").agg(nw.col("value").sum().alias("count")))  # [sum]
    return by_item(sums.filter(nw.col("count") != 0))  # [by-item]


def _length(rows: nw.LazyFrame[Any]) -> int:
    import narwhals as nw

    return int(_collect(rows.select(nw.len().alias("rows")))["rows"][0])


def totals_by_pair(rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int) -> nw.LazyFrame[Any]:
    """One row (user, item, value) for each user and item with a number, with the sum of the numbers in steps.

    ``types`` are the names of the types of the columns.
    """
    import narwhals as nw

    placed = in_steps(rows, ("user", "item"), types, step, farthest)
    summed = placed.group_by("user", "item").agg(nw.col("value").sum())  # [total]
    return summed.with_columns(nw.col("value").cast(nw.Int64()))


def in_steps(
    rows: nw.LazyFrame[Any], roles: Sequence[str], types: list[str], step: float, farthest: int
) -> nw.LazyFrame[Any]:
    """The rows without a null or NaN: the columns but the last under ``roles``, and that as ``value``, in steps."""
    import narwhals as nw

    *others, last = rows.collect_schema().names()
    value = nw.col(last)
    if types[-1] == "Int64":
        value = value.clip(-_WHOLE, _WHOLE)  # [whole-floats]
    named = [nw.col(name).alias(role) for name, role in zip(others, roles, strict=True)]
    known = rows.select(*named, value.cast(nw.Float64()).alias("value")).drop_nulls()
    numbers = known.filter(~nw.col("value").is_nan())  # [known-rows]
    near = (nw.col("value") / step).clip(-farthest, farthest)  # [steps]
    return numbers.with_columns(((near + 0.5).floor()).cast(nw.Int64()).alias("value"))  # [place]


# end-proof-region: table_totals
