"""Counts by key that do not depend on the order of rows."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .frames import _collect_streaming, column_kinds, copy_strings, iterate_user_parts
from .guard import require_below, run_guarded
from .held import ColumnCounts
from .spark import count_all_items, sum_item_totals

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# Each user's first items in a public order. Pairs are encoded as integers, which sort faster than strings.

Numbers = NDArray[np.int64]

_MOST = 2**63 - 1  # the largest int64


# proof-region: first_items
def count_first_items(rows: nw.DataFrame[Any], most: int) -> nw.DataFrame[Any]:
    """Return the number of users with each item among their first ``most`` (columns ``item``, ``count``)."""
    import narwhals as nw

    _, items, pairs = _number_pairs(rows)
    pairs.sort()
    distinct = pairs[_run_starts(pairs)]  # [distinct]
    users = distinct // max(1, len(items))
    kept = _first_of_each_run(users, most)  # [first-ranks]
    ranks = distinct[kept] - users[kept] * len(items)
    counts = nw.Series.from_numpy("count", np.bincount(ranks, minlength=len(items)), backend=items.implementation)
    return items.with_columns(counts).filter(nw.col("count") > 0).select("item", "count")  # [counted-ranks]


def keep_first_items(rows: nw.DataFrame[Any], most: int) -> nw.DataFrame[Any]:
    """Return the rows of each user's first ``most`` items. A user must not have two rows for an item."""
    import narwhals as nw

    placed, items, pairs = _number_pairs(rows)
    order = np.argsort(pairs)
    kept = np.zeros(len(pairs), dtype=np.bool_)
    kept[order] = _first_of_each_run(pairs[order] // max(1, len(items)), most)  # [first-rows]
    chosen = nw.Series.from_numpy("kept", kept, backend=placed.implementation)
    return placed.with_columns(chosen).filter(nw.col("kept")).select(rows.columns)


def _number_pairs(rows: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], nw.DataFrame[Any], Numbers]:
    """Return the rows in some order, the sorted items, and an integer per row that orders by user, then by item."""
    items = rows.select("item").unique().sort("item").with_row_index("rank")  # [ranks]
    placed = rows.join(items, on="item")
    users = placed["user"].to_numpy()
    if not _fits_in_63_bits(users, len(items)):
        codes = rows.select("user").unique().with_row_index("code")  # [codes]
        placed = placed.join(codes, on="user")
        users = placed["code"].to_numpy()
        if len(codes) * len(items) > _MOST:
            raise OverflowError("pairs of users and items do not fit into 63 bits")
    ranks = placed["rank"].to_numpy().astype(np.int64)
    least = int(users.min()) if len(users) else 0
    return placed, items, (users.astype(np.int64) - least) * len(items) + ranks  # [numbered]


def _fits_in_63_bits(users: NDArray[Any], size: int) -> bool:
    """Return whether ``users`` are integers whose range times ``size`` fits into 63 bits."""
    if users.dtype.kind not in "iu" or len(users) == 0:
        return False
    least, most = int(users.min()), int(users.max())
    return max(most, (most - least + 1) * size) <= _MOST  # [range-check]


def _run_starts(ordered: Numbers) -> NDArray[np.bool_]:
    """Return a mask of the entries at which a new value begins."""
    return np.append(np.ones(min(1, len(ordered)), dtype=np.bool_), ordered[1:] != ordered[:-1])  # [starts]


def _first_of_each_run(users: Numbers, most: int) -> NDArray[np.bool_]:
    """Return a mask of the first ``most`` entries of each run of equal values."""
    kept = np.ones(len(users), dtype=np.bool_)
    kept[most:] = users[most:] != users[:-most]  # [leading]
    return kept


# end-proof-region: first_items


# Distinct users by item, for all items of a table.


# proof-region: count_users_by_key
def count_users_by_item(rows: Rows, most: int | None = None) -> Mapping[Any, int]:
    """Return the number of distinct users of each item that occurs, by the item as a Python string or integer.

    Rows with a null are dropped. Counts of a Spark frame stay in Spark until they are needed; others are in columns.
    """
    held = rows.read_snapshot()  # [held]
    if rows.implementation.is_pyspark():
        return run_guarded(lambda: count_all_items(held.to_native(), most))  # [spark]
    return run_guarded(lambda: _count_by_item(held, most))


def _count_by_item(rows: nw.LazyFrame[Any], most: int | None) -> ColumnCounts:
    parts = (_count_part(part.drop_nulls(), most) for part in iterate_user_parts(rows, "user", "item"))  # [known-rows]
    return to_column_counts(add_up_parts(parts))


def _count_part(pairs: nw.LazyFrame[Any], most: int | None) -> nw.DataFrame[Any]:
    """Return the counts of one part. If few users have more than ``most`` rows, only their items are sorted."""
    import narwhals as nw

    if most is None:
        return _count_distinct_users(pairs)
    users = _collect_streaming(pairs.group_by("user").agg(nw.len().alias("rows")))
    heavy = users.filter(nw.col("rows") > most).select("user")  # [heavy]
    if not len(heavy):
        return _count_distinct_users(pairs)  # [all-light]
    if 2 * len(heavy) > len(users):
        return count_first_items(_collect_streaming(pairs), most)  # [mostly-heavy]
    light, rest = (pairs.join(heavy.lazy(), on="user", how=how) for how in ("anti", "semi"))
    return _add_counts(
        _count_distinct_users(light), count_first_items(_collect_streaming(rest), most)
    )  # [light-and-heavy]


def _count_distinct_users(pairs: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    import narwhals as nw

    counted = _collect_streaming(pairs.unique().group_by("item").agg(nw.len().alias("count")))  # [users]
    return counted.with_columns(nw.col("count").cast(nw.Int64()))


def add_up_parts(parts: Iterable[nw.DataFrame[Any]]) -> nw.DataFrame[Any]:
    """Return the sums by ``item`` of all other columns of one or more frames, which have the same columns."""
    return functools.reduce(_add_counts, map(copy_strings, parts))  # [parts]


def _add_counts(one: nw.DataFrame[Any], other: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    import narwhals as nw

    return nw.concat([one, other]).group_by("item").agg(nw.col(*one.columns[1:]).sum())  # [added]


def to_column_counts(counted: nw.DataFrame[Any]) -> ColumnCounts:
    """Return the column ``count`` by the column ``item``. Strings that are not valid UTF-8 raise an exception."""
    import polars as pl

    keys = counted["item"].to_native()
    if keys.dtype == pl.String:
        keys.cast(pl.Binary).cast(pl.String)  # [utf-8]
    return ColumnCounts(counted["item"], counted["count"].to_numpy().astype(np.int64))  # [by-key]


# end-proof-region: count_users_by_key


# Totals of a column of numbers: summed by user and item, clamped, and summed by item.

_WHOLE = 2**53  # float64 represents all integers up to here, and some back ends cannot convert larger ones


# proof-region: table_totals
def totals_by_item(
    rows: Rows, step: float, farthest: int, bounds: tuple[int, int], most: int | None = None
) -> Mapping[Any, int]:
    """Return the sum of the users' clamped totals of each item, in steps, as Python integers. Sums of 0 are left out.

    A number is rounded to the nearest whole number of steps, halves up, and clamped to ``farthest`` steps from 0. Int64
    numbers are clamped to 2^53 in absolute value before. A user's numbers for an item are added, and the total is
    clamped to ``bounds``. Rows with a null or NaN are dropped.

    Args:
        rows: Rows of ``identifier_columns``, whose last column contains numbers.
        step: Step size, > 0 and at most 2^22.
        farthest: Largest number of steps, at most 2^31, so that the sum of fewer than 2^32 numbers fits into 64 bits.
        bounds: Least and greatest total of a user, in steps, both at most ``farthest`` from 0.
        most: Maximum number of items per user: the first in numeric or code point order. By default all items count.
    """
    types, held = column_kinds(rows), rows.read_snapshot()  # [held]
    require_below(run_guarded(lambda: _count_rows(held)), 32, "rows")  # [check-size]
    return run_guarded(lambda: _clamped_totals(held, types, step, farthest, bounds, most))


def _clamped_totals(
    rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int, bounds: tuple[int, int], most: int | None
) -> Mapping[Any, int]:
    import narwhals as nw

    def clamped(table: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        summed = totals_by_pair(table, types, step, farthest)
        return summed.with_columns(nw.col("value").clip(*bounds))  # [clamp]

    totals = map(clamped, iterate_user_parts(rows, "user", "item", "value"))
    if rows.implementation.is_pyspark():
        return sum_item_totals(next(totals).to_native(), most)  # [spark]
    sums = add_up_parts(_sum_part(part, most) for part in totals)
    return to_column_counts(sums.filter(nw.col("count") != 0))  # [by-item]


def _sum_part(totals: nw.LazyFrame[Any], most: int | None) -> nw.DataFrame[Any]:
    """Return the sums by item of one part, which contains all totals of its users."""
    import narwhals as nw

    if most is not None:
        totals = keep_first_items(_collect_streaming(totals), most).lazy()  # [first-items]
    return _collect_streaming(totals.group_by("item").agg(nw.col("value").sum().alias("count")))  # [sum]


def _count_rows(rows: nw.LazyFrame[Any]) -> int:
    import narwhals as nw

    return int(_collect_streaming(rows.select(nw.len().alias("rows")))["rows"][0])


def totals_by_pair(rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int) -> nw.LazyFrame[Any]:
    """Return a row (user, item, value) for each user and item with a number: the sum of the numbers in steps.

    ``types`` are the names of the columns' types.
    """
    import narwhals as nw

    placed = round_to_steps(rows, types, step, farthest)
    summed = placed.group_by("user", "item").agg(nw.col("value").sum())  # [total]
    return summed.with_columns(nw.col("value").cast(nw.Int64()))


def round_to_steps(rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int) -> nw.LazyFrame[Any]:
    """Return the rows without null or NaN, with the last column, ``value``, in steps."""
    import narwhals as nw

    value = nw.col("value")
    if types[-1] == "Int64":
        value = value.clip(-_WHOLE, _WHOLE)  # [whole-floats]
    known = rows.with_columns(value.cast(nw.Float64())).drop_nulls()
    numbers = known.filter(~nw.col("value").is_nan())  # [known-rows]
    near = (nw.col("value") / step).clip(-farthest, farthest)  # [steps]
    return numbers.with_columns(((near + 0.5).floor()).cast(nw.Int64()).alias("value"))  # [place]


# end-proof-region: table_totals
