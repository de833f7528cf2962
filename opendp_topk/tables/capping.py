"""The rows of no more than so many items of each user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .frames import _collect, kinds
from .guard import guarded
from .rows import Rows
from .spark import fetched, identified, keep_first
from .totals import totals_by_pair

if TYPE_CHECKING:
    import narwhals as nw

Ranks = Callable[[NDArray[np.int64]], NDArray[np.int64]]


# proof-region: capping
def keep_items(rows: Rows, most: int, by: str, step: float, farthest: int, random_ranks: Ranks) -> Rows:
    """The rows of at most ``most`` items of each user, under the names that the columns have.

    Of a table of users and items each pair is left once; of one with numbers every row of the items that are left.
    Rows with a null user or item are dropped.

    Args:
        rows: What ``two_columns`` or ``valued_columns`` returned.
        most: How many items, at least 1.
        by: ``"random"``, ``"order"`` for the first in the order of the numbers or of the code points, ``"rows"`` for
            those of the most rows of this user, or ``"value"`` for those of the largest totals of this user; equal ones
            in the same order.
        step: What numbers are rounded to for totals.
        farthest: The largest number of steps, as in ``totals_by_item``.
        random_ranks: Gives each pair its random rank among those of its user, from the indices at which users begin.

    Raises:
        DataLengthError: A frame of Spark has too many rows for a random choice, which is made here.
        TableError: The back end failed.
    """
    if rows.implementation.is_pyspark():
        if by != "random":
            return Rows.of(guarded(lambda: _kept_in_spark(rows, most, by, step, farthest)))  # [spark]
        rows = _fetched(rows)  # [fetched]
    types, held = kinds(rows), rows.held()  # [held]
    return Rows.of(guarded(lambda: _kept(held, types, most, by, step, farthest, random_ranks)))


def _kept(
    rows: nw.LazyFrame[Any], types: list[str], most: int, by: str, step: float, farthest: int, random_ranks: Ranks
) -> nw.LazyFrame[Any]:
    import narwhals as nw

    names = rows.collect_schema().names()
    roles = ("user", "item", "value")[: len(names)]
    table = rows.select(nw.col(name).alias(role) for name, role in zip(names, roles, strict=True))
    known = table.drop_nulls(["user", "item"])  # [known-rows]
    pairs = known.select("user", "item").unique()  # [pairs]
    if by == "rows":
        sizes = known.select("user", "item").group_by("user", "item").agg(nw.len().alias("weight"))
        pairs = sizes.with_columns(nw.col("weight").cast(nw.Int64()))  # [rows]
    if by == "value":
        pairs = totals_by_pair(rows, types, step, farthest).select(
            "user", "item", nw.col("value").alias("weight")
        )  # [value]
    weighed = by in ("rows", "value")
    order, falling = (
        (["user", "weight", "item"], [False, True, False]) if weighed else (["user", "item"], [False, False])
    )
    ordered = _collect(pairs).sort(order, descending=falling).with_row_index("row")  # [in-order]
    first = ordered.group_by("user").agg(nw.col("row").min().alias("first"))
    placed = ordered.join(first, on="user").sort("row")  # [first-of-user]
    starts = placed["first"].to_numpy().astype(np.int64)
    ranks = random_ranks(starts) if by == "random" else np.arange(len(starts)) - starts  # [ranks]
    ranked = placed.with_columns(nw.Series.from_numpy("rank", ranks, backend=placed.implementation))
    chosen = ranked.filter(nw.col("rank") < most).select("user", "item")  # [most]
    if len(names) == 3:
        chosen = _collect(known).join(chosen, on=["user", "item"], how="semi")  # [their-rows]
    return chosen.select(nw.col(role).alias(name) for name, role in zip(names, roles, strict=True)).lazy()


def _kept_in_spark(rows: Rows, most: int, by: str, step: float, farthest: int) -> nw.LazyFrame[Any]:
    import narwhals as nw

    known = identified(rows.to_native())
    weighed = None
    if by == "rows":
        weighed = known.groupBy("user", "item").count().withColumnRenamed("count", "weight")  # [spark-rows]
    if by == "value":
        totals = totals_by_pair(nw.from_native(known), kinds(rows), step, farthest)
        weighed = totals.to_native().withColumnRenamed("value", "weight")  # [spark-value]
    kept: nw.LazyFrame[Any] = nw.from_native(keep_first(known, weighed, most).toDF(*rows.collect_schema().names()))
    return kept


def _fetched(rows: Rows) -> Rows:
    """The rows of a frame of Spark, in this process."""
    import narwhals as nw
    import polars as pl

    table: Any = pl.from_arrow(fetched(guarded(lambda: identified(rows.to_native()))))
    names = dict(zip(table.columns, rows.collect_schema().names(), strict=True))
    return Rows.of(nw.from_native(table.rename(names).lazy()))


# end-proof-region: capping
