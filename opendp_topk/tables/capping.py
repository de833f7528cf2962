"""The rows of no more than so many items of each user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnError
from .frames import RANGES, _collect, exact_kind, kinds, mismatch
from .guard import guarded
from .parts import in_parts
from .rows import Rows
from .spark import exact, fetched, identified, keep_first, with_places
from .totals import totals_by_pair

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

Starts = NDArray[np.int64]
Ranks = Callable[[Starts], NDArray[np.int64]]


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
    kept = Rows(rows.collect_schema(), lambda: _kept(held, types, most, by, step, farthest, random_ranks))
    kept.held()  # [at-once]
    return kept


def first_items(rows: Rows, most: int) -> Rows:
    """The same for the first ``most`` items of each user in the order of the numbers or of the code points."""
    return keep_items(rows, most, "order", 1.0, 0, _never)  # [first]


def listed(rows: Rows, items: Sequence[int] | Sequence[str]) -> Rows:
    """The rows whose item is one of ``items``, which are distinct: all integers of 64 bits, or all strings.

    Raises:
        ColumnError: The items of the table are of the other kind.
        TableError: The back end failed.
    """
    names, types = rows.collect_schema().names(), kinds(rows)
    if isinstance(items[0], str) != (types[1] == "String"):
        raise ColumnError(mismatch(names[1], items[0]))  # [check-kind]
    held, kind = rows.held(), exact_kind(types[1])
    return Rows.of(guarded(lambda: _listed(held, names, kind, items)), rows)


def _listed(rows: nw.LazyFrame[Any], names: list[str], kind: str, items: Sequence[Any]) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        roles = ("user", "item", "value")[: len(names)]
        named = exact(rows.to_native().toDF(*roles), "user", "item")
        placed = with_places(named, "item", kind, items)  # [spark-listed]
        found: nw.LazyFrame[Any] = nw.from_native(placed.select(*roles).toDF(*names))
        return found
    dtype = getattr(nw, kind)()
    typed = rows if kind == "String" else rows.with_columns(nw.col(names[1]).cast(dtype))
    if isinstance(items, range):
        low, high = max(items[0], RANGES[kind][0]), min(items[-1], RANGES[kind][-1])
        if low <= high:
            return typed.filter(nw.col(names[1]).is_between(low, high))  # [from-to]
        items = ()
    fitting = [one for one in items if kind == "String" or one in RANGES[kind]]
    those = nw.from_dict({names[1]: fitting}, schema={names[1]: dtype}, backend=rows.implementation).lazy()
    return typed.join(those, on=names[1], how="semi")  # [semijoin]


def _never(starts: Starts) -> Starts:
    raise AssertionError("an order draws no ranks")


def _kept(
    rows: nw.LazyFrame[Any], types: list[str], most: int, by: str, step: float, farthest: int, random_ranks: Ranks
) -> Iterator[pl.DataFrame]:
    """The rows that are kept, of some users after the others."""
    import narwhals as nw

    names = rows.collect_schema().names()
    roles = ("user", "item", "value")[: len(names)]
    table = rows.select(nw.col(name).alias(role) for name, role in zip(names, roles, strict=True))
    known = table.drop_nulls(["user", "item"])  # [known-rows]
    for part in in_parts(known, rows):
        every = _weighed(part, types, by, step, farthest)
        chosen = _chosen(every, most, random_ranks if by == "random" else None)
        if len(names) == 3:
            chosen = _collect(part).join(chosen, on=["user", "item"], how="semi")  # [their-rows]
        yield chosen.select(nw.col(role).alias(name) for name, role in zip(names, roles, strict=True)).to_native()


def _weighed(known: nw.LazyFrame[Any], types: list[str], by: str, step: float, farthest: int) -> nw.DataFrame[Any]:
    """Each pair of user and item once, with a ``weight`` where the rule goes by one."""
    import narwhals as nw

    pairs = known.select("user", "item").unique()  # [pairs]
    if by == "rows":
        sizes = known.select("user", "item").group_by("user", "item").agg(nw.len().alias("weight"))
        pairs = sizes.with_columns(nw.col("weight").cast(nw.Int64()))  # [rows]
    if by == "value":
        pairs = totals_by_pair(known, types, step, farthest).select(
            "user", "item", nw.col("value").alias("weight")
        )  # [value]
    return _collect(pairs)


def _chosen(every: nw.DataFrame[Any], most: int, random_ranks: Ranks | None) -> nw.DataFrame[Any]:
    """``most`` pairs of each user, or all: at random, or the first by falling weights and in order."""
    import narwhals as nw

    heavy = every.group_by("user").agg(nw.len().alias("items")).filter(nw.col("items") > most).select("user")
    light, rest = (every.join(heavy, on="user", how=how) for how in ("anti", "semi"))  # [light-and-heavy]
    order, falling = (
        (["user", "weight", "item"], [False, True, False])
        if "weight" in every.columns
        else (["user", "item"], [False, False])
    )
    ordered = rest.sort(order, descending=falling)  # [in-order]
    starts = first_places(ordered["user"])
    ranks = random_ranks(starts) if random_ranks else np.arange(len(starts)) - starts  # [ranks]
    kept = nw.Series.from_numpy("kept", ranks < most, backend=ordered.implementation)  # [most]
    return nw.concat(
        [part.select("user", "item") for part in (light, ordered.with_columns(kept).filter(nw.col("kept")))]
    )


def first_places(users: nw.Series[Any]) -> Starts:
    """For each entry the place of the first one of its user, whose entries lie side by side."""
    new = (users != users.shift(1)).fill_null(True).to_numpy()
    return np.maximum.accumulate(np.where(new, np.arange(len(users)), 0))  # [first-of-user]


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
