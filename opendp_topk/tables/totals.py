"""Totals of a column of numbers: added up for each user and item, clamped, and added up by item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ColumnError
from .firsts import keep_first
from .frames import _CATEGORIES, _INTEGERS, _chosen, _collect, _names, _table, identifier_columns
from .guard import guarded
from .keyed import by_item
from .spark import exact, sum_keys

if TYPE_CHECKING:
    import narwhals as nw

_NUMBERS = (*(kind for kind in _INTEGERS if kind != "UInt64"), "Float32", "Float64", "Decimal")
_WHOLE = 2**53  # float64 holds all integers up to here, and some back ends refuse to make floats of larger ones


# proof-region: valued_columns
def valued_columns(frame: Any, user: str, item: str, value: str) -> nw.LazyFrame[Any]:
    """The columns of users, items and numbers of ``frame``, in this order, and nothing else.

    Args:
        frame: Any eager or lazy frame that narwhals reads (polars, pandas, pyarrow, DuckDB, Spark).
        user: The name of the column of users, as ``two_columns`` takes it.
        item: The name of the column of items, likewise.
        value: The name of a column of integers up to Int64, of float32 or float64, or of decimals.

    Raises:
        DataTypeError: ``frame`` is no data frame.
        ColumnError: A column is missing, or has another type.
        TableError: The back end could not tell the schema.
        MissingExtraError: narwhals is not installed.
    """
    identifier_columns(frame, {"user": user, "item": item})  # [identifiers]
    table = _table(frame)
    names = guarded(lambda: _names(table))
    if value not in names:
        raise ColumnError(f"the table must have the column {value!r}, which the input domain declares as value")
    if names.count(value) > 1:
        raise ColumnError(f"the table must have one column {value!r}, the value, and it has several of this name")
    chosen: nw.LazyFrame[Any] = guarded(lambda: _chosen(table, names, [user, item, value]))  # [three-columns]
    schema = guarded(chosen.collect_schema)
    kind = type(schema.get(value)).__name__
    if kind not in _NUMBERS:  # [numbers]
        raise ColumnError(
            f"column {value!r} must hold integers up to Int64, floats or decimals, not {kind}: cast it to "
            "Int64 or Float64 (a .csv file is read as strings)"
        )
    return chosen


# end-proof-region: valued_columns


# proof-region: totals
def totals_by_item(
    rows: nw.LazyFrame[Any], step: float, farthest: int, bounds: tuple[int, int], most: int | None = None
) -> Mapping[Any, int]:
    """For each item the sum of its users' clamped totals, in steps, where that is not 0: Python integers.

    An integer beyond 2^53 counts as 2^53. A number becomes the whole number of steps nearest to it, halfway the one
    above, and no more than ``farthest`` from 0. A user's numbers for an item are added, and the total is clamped to
    ``bounds``. Rows with a null or NaN are dropped.

    Args:
        rows: What :func:`valued_columns` returned.
        step: The step, > 0 and at most 2^22.
        farthest: A number of steps, at most 2^31, so that fewer than 2^32 numbers as large have a sum within 64 bits.
        bounds: The least and the greatest total of a user, in steps, no more than ``farthest`` from 0.
        most: How many items of a user count at most: the first in the order of the numbers, or of the code points.

    Raises:
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    return guarded(lambda: _totals(rows, types, step, farthest, bounds, most))


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


def totals_by_pair(rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int) -> nw.LazyFrame[Any]:
    """One row (user, item, value) for each user and item with a number, with the sum of the numbers in steps.

    ``types`` are the names of the types of the columns.
    """
    import narwhals as nw

    user, item, value = map(nw.col, rows.collect_schema().names())
    if types[2] == "Int64":
        value = value.clip(-_WHOLE, _WHOLE)  # [whole-floats]
    known = rows.select(user.alias("user"), item.alias("item"), value.cast(nw.Float64()).alias("value")).drop_nulls()
    labels = [name for name, kind in zip(("user", "item"), types, strict=False) if kind in _CATEGORIES]
    if labels:
        known = known.with_columns(nw.col(labels).cast(nw.String())).drop_nulls()  # [labels]
    numbers = known.filter(~nw.col("value").is_nan())  # [known-rows]
    near = (nw.col("value") / step).clip(-farthest, farthest)  # [steps]
    placed = numbers.with_columns(((near + 0.5).floor()).cast(nw.Int64()).alias("value"))  # [place]
    summed = placed.group_by("user", "item").agg(nw.col("value").sum())  # [total]
    return summed.with_columns(nw.col("value").cast(nw.Int64()))


# end-proof-region: totals
