"""Distinct users by item, for all items that a table holds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .firsts import count_first
from .frames import _collect
from .guard import guarded
from .held import ColumnCounts
from .parts import in_parts, own_texts
from .spark import count_keys

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# proof-region: count_users_by_key
def count_users_by_key(rows: Rows, most: int | None = None) -> Mapping[Any, int]:
    """How many distinct users have each item that occurs: a mapping of Python strings or integers to Python integers.

    Rows with a null are dropped. Counts that Spark has stay there until they are asked for, others in columns.

    Args:
        rows: What ``two_columns`` returned.
        most: How many items of a user count at most: the first in the order of the numbers, or of the code points.

    Raises:
        TableError: The back end failed.
    """
    held = rows.held()  # [held]
    if rows.implementation.is_pyspark():
        return guarded(lambda: count_keys(held.to_native(), most))  # [spark]
    return guarded(lambda: _by_key(held, most))


def _by_key(rows: nw.LazyFrame[Any], most: int | None) -> ColumnCounts:
    import narwhals as nw

    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    counted = functools.reduce(_added, (own_texts(_counted(part, most)) for part in in_parts(pairs, rows)))  # [parts]
    return by_item(counted)


def _counted(pairs: nw.LazyFrame[Any], most: int | None) -> nw.DataFrame[Any]:
    """The counts of one part. Only the items of users with more than ``most`` rows are put in order."""
    import narwhals as nw

    if most is None:
        return _sized(pairs)
    users = _collect(pairs.group_by("user").agg(nw.len().alias("rows")))
    heavy = users.filter(nw.col("rows") > most).select("user")  # [heavy]
    if not len(heavy):
        return _sized(pairs)  # [all-light]
    if 2 * len(heavy) > len(users):
        return count_first(_collect(pairs), most)  # [mostly-heavy]
    light, rest = (pairs.join(heavy.lazy(), on="user", how=how) for how in ("anti", "semi"))
    return _added(_sized(light), count_first(_collect(rest), most))  # [light-and-heavy]


def _sized(pairs: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    import narwhals as nw

    counted = _collect(pairs.unique().group_by("item").agg(nw.len().alias("count")))  # [users]
    return counted.with_columns(nw.col("count").cast(nw.Int64()))


def _added(one: nw.DataFrame[Any], other: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The counts of two parts together."""
    import narwhals as nw

    return nw.concat([one, other]).group_by("item").agg(nw.col("count").sum())  # [added]


def by_item(counted: nw.DataFrame[Any]) -> ColumnCounts:
    """The column ``count`` by the column ``item``; strings that are not UTF-8, which Python could not read, raise."""
    import polars as pl

    keys = counted["item"].to_native()
    if keys.dtype == pl.String:
        keys.cast(pl.Binary).cast(pl.String)  # [utf-8]
    return ColumnCounts(counted["item"], counted["count"].to_numpy().astype(np.int64))  # [by-key]


# end-proof-region: count_users_by_key
