"""Counts by key that hold nothing of an order of rows."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .frames import _collect_streaming, column_kinds, copy_strings, iterate_user_parts
from .guard import require_below, run_guarded
from .held import ColumnCounts
from .spark import cast_exact_columns, count_all_items, sum_item_totals

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# The first items of each user in a public order: pairs become numbers, which sort faster than strings.

Numbers = NDArray[np.int64]

_MOST = 2**63 - 1  # the largest int64


# proof-region: first_items
def count_first_items(rows: nw.DataFrame[Any], most: int) -> nw.DataFrame[Any]:
    """By item (columns ``item`` and ``count``) how many users have it among their first ``most``, where any have.

    Args:
        rows: Columns ``user`` and ``item``, without nulls. Equal rows are one.
        most: At least 1. Items are ordered as numbers, or by code points.
    """
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
    """The rows whose item is among the first ``most`` of the user; each user has one row for an item."""
    import narwhals as nw

    placed, items, pairs = _number_pairs(rows)
    order = np.argsort(pairs)
    kept = np.zeros(len(pairs), dtype=np.bool_)
    kept[order] = _first_of_each_run(pairs[order] // max(1, len(items)), most)  # [first-rows]
    chosen = nw.Series.from_numpy("kept", kept, backend=placed.implementation)
    return placed.with_columns(chosen).filter(nw.col("kept")).select(rows.columns)


def _number_pairs(rows: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], nw.DataFrame[Any], Numbers]:
    """The rows in some order, the items in theirs, and a number for each row: by user, then by item."""
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
    """Whether these are integers, and their range times ``size`` fits into 63 bits."""
    if users.dtype.kind not in "iu" or len(users) == 0:
        return False
    least, most = int(users.min()), int(users.max())
    return max(most, (most - least + 1) * size) <= _MOST  # [range-check]


def _run_starts(ordered: Numbers) -> NDArray[np.bool_]:
    """Where a new value begins."""
    return np.append(np.ones(min(1, len(ordered)), dtype=np.bool_), ordered[1:] != ordered[:-1])  # [starts]


def _first_of_each_run(users: Numbers, most: int) -> NDArray[np.bool_]:
    """Which entries are among the first ``most`` of the equal ones that lie side by side."""
    kept = np.ones(len(users), dtype=np.bool_)
    kept[most:] = users[most:] != users[:-most]  # [leading]
    return kept


# end-proof-region: first_items


# Distinct users by item, for all items that a table holds.


# proof-region: count_users_by_key
def count_users_by_item(rows: Rows, most: int | None = None) -> Mapping[Any, int]:
    """How many distinct users have each item that occurs: a mapping of Python strings or integers to Python integers.

    Rows with a null are dropped. Counts that Spark has stay there until they are asked for, others in columns.

    Args:
        rows: What ``two_columns`` returned.
        most: How many items of a user count at most: the first in the order of the numbers, or of the code points.

    Raises:
        TableError: The back end failed.
    """
    held = rows.read_snapshot()  # [held]
    if rows.implementation.is_pyspark():
        return run_guarded(lambda: count_all_items(held.to_native(), most))  # [spark]
    return run_guarded(lambda: _count_by_item(held, most))


def _count_by_item(rows: nw.LazyFrame[Any], most: int | None) -> ColumnCounts:
    import narwhals as nw

    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    counted = functools.reduce(
        _add_counts, (copy_strings(_count_part(part, most)) for part in iterate_user_parts(pairs, rows))
    )  # [parts]
    return to_column_counts(counted)


def _count_part(pairs: nw.LazyFrame[Any], most: int | None) -> nw.DataFrame[Any]:
    """The counts of one part. Only the items of users with more than ``most`` rows are put in order."""
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


def _add_counts(one: nw.DataFrame[Any], other: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The counts of two parts together."""
    import narwhals as nw

    return nw.concat([one, other]).group_by("item").agg(nw.col("count").sum())  # [added]


def to_column_counts(counted: nw.DataFrame[Any]) -> ColumnCounts:
    """The column ``count`` by the column ``item``; strings that are not UTF-8, which Python could not read, raise."""
    import polars as pl

    keys = counted["item"].to_native()
    if keys.dtype == pl.String:
        keys.cast(pl.Binary).cast(pl.String)  # [utf-8]
    return ColumnCounts(counted["item"], counted["count"].to_numpy().astype(np.int64))  # [by-key]


# end-proof-region: count_users_by_key


# Totals of a column of numbers: added up for each user and item, clamped, and added up by item.

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
    types, held = column_kinds(rows), rows.read_snapshot()  # [held]
    require_below(run_guarded(lambda: _count_rows(held)), 32, "rows")  # [check-size]
    return run_guarded(lambda: _clamped_totals(held, types, step, farthest, bounds, most))


def _clamped_totals(
    rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int, bounds: tuple[int, int], most: int | None
) -> Mapping[Any, int]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        rows = nw.from_native(
            cast_exact_columns(rows.to_native().toDF("user", "item", "value"), "user", "item")
        )  # [spark-columns]
    summed = totals_by_pair(rows, types, step, farthest)
    found: Any = summed.with_columns(nw.col("value").clip(*bounds))  # [clamp]
    if rows.implementation.is_pyspark():
        return sum_item_totals(found.to_native(), most)  # [spark]
    if most is not None:
        found = keep_first_items(_collect_streaming(found), most).lazy()  # [first-items]
    sums = _collect_streaming(found.group_by("item").agg(nw.col("value").sum().alias("count")))  # [sum]
    return to_column_counts(sums.filter(nw.col("count") != 0))  # [by-item]


def _count_rows(rows: nw.LazyFrame[Any]) -> int:
    import narwhals as nw

    return int(_collect_streaming(rows.select(nw.len().alias("rows")))["rows"][0])


def totals_by_pair(rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int) -> nw.LazyFrame[Any]:
    """One row (user, item, value) for each user and item with a number, with the sum of the numbers in steps.

    ``types`` are the names of the types of the columns.
    """
    import narwhals as nw

    placed = round_to_steps(rows, ("user", "item"), types, step, farthest)
    summed = placed.group_by("user", "item").agg(nw.col("value").sum())  # [total]
    return summed.with_columns(nw.col("value").cast(nw.Int64()))


def round_to_steps(
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
