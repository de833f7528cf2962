"""Contribution bounds: which rows of a user count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataTypeError
from .frames import RANGES, _collect_streaming, column_kinds, exact_kind, iterate_user_parts, kind_mismatch_message
from .guard import require_below, run_guarded
from .keyed import round_to_steps, totals_by_pair
from .rows import Rows
from .spark import cast_exact_columns, fetch_rows, identified_rows, join_places, keep_first_items

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


# Contribution bounds: rows of at most ``most`` items of each user.

Starts = NDArray[np.int64]
Ranks = Callable[[Starts], NDArray[np.int64]]


# proof-region: capping
def bound_contributions(rows: Rows, most: int, by: str, step: float, farthest: int, random_ranks: Ranks) -> Rows:
    """Return the rows of at most ``most`` items of each user, under the same column names.

    For a table of users and items, each kept pair is returned once. For a table with numbers, every row of the kept
    items is returned. Rows with a null user or item are dropped.

    Args:
        rows: Rows of ``identifier_columns`` for users and items, and possibly numbers.
        most: Maximum number of items per user, at least 1.
        by: The rule that chooses a user's items, as in ``make_bound_contributions``.
        step: Numbers are rounded to multiples of this step for totals.
        farthest: Largest number of steps, as in ``totals_by_item``.
        random_ranks: Function that returns the random rank of each pair among those of its user, given for each pair
            the index of its user's first pair.
    """
    if rows.implementation.is_pyspark():
        if by != "random":
            return Rows.from_frame(run_guarded(lambda: _bound_in_spark(rows, most, by, step, farthest)))  # [spark]
        rows = _fetch_from_spark(rows)  # [fetched]
    types, held = column_kinds(rows), rows.read_snapshot()  # [held]
    kept = Rows(rows.collect_schema(), lambda: _bound_parts(held, types, most, by, step, farthest, random_ranks))
    kept.read_snapshot()  # [at-once]
    return kept


def bound_first_items(rows: Rows, most: int) -> Rows:
    """Return the rows of each user's first ``most`` items in numeric or code point order."""
    return bound_contributions(rows, most, "order", 1.0, 0, _refuse_ranks)  # [first]


def filter_listed_items(rows: Rows, items: Sequence[int] | Sequence[str]) -> Rows:
    """Return the rows whose item is in ``items``, which are distinct: all integers of 64 bits, or all strings."""
    names, types = rows.collect_schema().names(), column_kinds(rows)
    if isinstance(items[0], str) != (types[1] == "String"):
        raise DataTypeError(kind_mismatch_message(names[1], items[0]))  # [check-kind]
    held, kind = rows.read_snapshot(), exact_kind(types[1])
    return Rows.from_frame(run_guarded(lambda: _filter_items(held, names, kind, items)), rows)


def _filter_items(rows: nw.LazyFrame[Any], names: list[str], kind: str, items: Sequence[Any]) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        roles = ("user", "item", "value")[: len(names)]
        named = cast_exact_columns(rows.to_native().toDF(*roles), "user", "item")
        placed = join_places(named, "item", kind, items)  # [spark-listed]
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


def _refuse_ranks(starts: Starts) -> Starts:
    raise AssertionError("a fixed order has no random ranks")


def _bound_parts(
    rows: nw.LazyFrame[Any], types: list[str], most: int, by: str, step: float, farthest: int, random_ranks: Ranks
) -> Iterator[pl.DataFrame]:
    """Yield the kept rows, one part of the users at a time."""
    import narwhals as nw

    names = rows.collect_schema().names()
    roles = ("user", "item", "value")[: len(names)]
    for known in iterate_user_parts(rows, *roles):
        part = known.drop_nulls(["user", "item"])  # [known-rows]
        every = _weigh_pairs(part, types, by, step, farthest)
        chosen = _choose_pairs(every, most, random_ranks if by == "random" else None)
        if len(names) == 3:
            chosen = _collect_streaming(part).join(chosen, on=["user", "item"], how="semi")  # [their-rows]
        yield chosen.select(nw.col(role).alias(name) for name, role in zip(names, roles, strict=True)).to_native()


def _weigh_pairs(known: nw.LazyFrame[Any], types: list[str], by: str, step: float, farthest: int) -> nw.DataFrame[Any]:
    """Return each distinct pair of user and item, with a ``weight`` if ``by`` is "rows" or "value"."""
    import narwhals as nw

    pairs = known.select("user", "item").unique()  # [pairs]
    if by == "rows":
        sizes = known.select("user", "item").group_by("user", "item").agg(nw.len().alias("weight"))
        pairs = sizes.with_columns(nw.col("weight").cast(nw.Int64()))  # [rows]
    if by == "value":
        pairs = totals_by_pair(known, types, step, farthest).select(
            "user", "item", nw.col("value").alias("weight")
        )  # [value]
    return _collect_streaming(pairs)


def _choose_pairs(every: nw.DataFrame[Any], most: int, random_ranks: Ranks | None) -> nw.DataFrame[Any]:
    """Return at most ``most`` pairs of each user: random ones, or the first by descending weight and then in order."""
    import narwhals as nw

    heavy = every.group_by("user").agg(nw.len().alias("items")).filter(nw.col("items") > most).select("user")
    light, rest = (every.join(heavy, on="user", how=how) for how in ("anti", "semi"))  # [light-and-heavy]
    order, falling = (
        (["user", "weight", "item"], [False, True, False])
        if "weight" in every.columns
        else (["user", "item"], [False, False])
    )
    ordered = rest.sort(order, descending=falling)  # [in-order]
    starts = user_start_indices(ordered["user"])
    ranks = random_ranks(starts) if random_ranks else np.arange(len(starts)) - starts  # [ranks]
    kept = nw.Series.from_numpy("kept", ranks < most, backend=ordered.implementation)  # [most]
    return nw.concat(
        [part.select("user", "item") for part in (light, ordered.with_columns(kept).filter(nw.col("kept")))]
    )


def user_start_indices(users: nw.Series[Any]) -> Starts:
    """Return the index of the first entry of each entry's user. The entries of a user must be adjacent."""
    new = (users != users.shift(1)).fill_null(True).to_numpy()
    return np.maximum.accumulate(np.where(new, np.arange(len(users)), 0))  # [first-of-user]


def _bound_in_spark(rows: Rows, most: int, by: str, step: float, farthest: int) -> nw.LazyFrame[Any]:
    import narwhals as nw

    known = identified_rows(rows.to_native())
    weighed = None
    if by == "rows":
        weighed = known.groupBy("user", "item").count().withColumnRenamed("count", "weight")  # [spark-rows]
    if by == "value":
        totals = totals_by_pair(nw.from_native(known), column_kinds(rows), step, farthest)
        weighed = totals.to_native().withColumnRenamed("value", "weight")  # [spark-value]
    kept: nw.LazyFrame[Any] = nw.from_native(
        keep_first_items(known, weighed, most).toDF(*rows.collect_schema().names())
    )
    return kept


def _fetch_from_spark(rows: Rows) -> Rows:
    import narwhals as nw
    import polars as pl

    table: Any = pl.from_arrow(fetch_rows(run_guarded(lambda: identified_rows(rows.to_native()))))
    names = dict(zip(table.columns, rows.collect_schema().names(), strict=True))
    return Rows.from_frame(nw.from_native(table.rename(names).lazy()))


# end-proof-region: capping


# Histogram of numbers on a grid, with at most ``most`` rows of each user.


# proof-region: spread
def count_rows_by_number(
    rows: Rows, step: float, farthest: int, bounds: tuple[int, int], most: int
) -> NDArray[np.int64]:
    """Return the number of rows of each whole number of steps within ``bounds``, in order.

    Numbers are rounded to whole steps as in ``totals_by_item`` and clamped to ``bounds``. If a user has n > ``most``
    rows, only ``most`` of them count, evenly spaced in the order of their numbers: those at the indices
    floor((2 j + 1) n / (2 most)), from 0. If ``most`` is 1, this is the median. Rows with a null or NaN are dropped.

    Args:
        rows: Rows of ``identifier_columns`` for users and numbers.
        step: Step size, > 0 and at most 2^22.
        farthest: Largest number of steps, as in ``totals_by_item``.
        bounds: Least and greatest number, in steps, both at most ``farthest`` from 0.
        most: Maximum number of rows per user, from 1 to 2^20.
    """
    types, held = column_kinds(rows), rows.read_snapshot()  # [held]
    return run_guarded(lambda: _count_by_number(held, types, step, farthest, bounds, most))


def _count_by_number(
    rows: nw.LazyFrame[Any], types: list[str], step: float, farthest: int, bounds: tuple[int, int], most: int
) -> NDArray[np.int64]:
    import narwhals as nw

    counts, total = np.zeros(bounds[1] - bounds[0] + 1, dtype=np.int64), 0.0
    for part in iterate_user_parts(rows, "user", "value"):  # [parts]
        within = round_to_steps(part, types, step, farthest).with_columns(nw.col("value").clip(*bounds))  # [clamp]
        found = _collect_streaming(within.group_by("user", "value").agg(nw.len().alias("rows"))).sort(
            "user", "value"
        )  # [in-order]
        sizes, numbers = (found[name].to_numpy().astype(np.int64) for name in ("rows", "value"))
        total += float(sizes.sum(dtype=np.float64))
        require_below(total, 32, "rows")  # [check-size]
        spaced = _count_evenly_spaced(sizes, user_start_indices(found["user"]), most)
        np.add.at(counts, numbers - bounds[0], spaced)  # [count]
    return counts


def _count_evenly_spaced(sizes: NDArray[np.int64], starts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return how many of ``sizes`` equal rows count. The entries of a user are adjacent and begin at ``starts``."""
    upto = np.cumsum(sizes)
    upto -= (upto - sizes)[starts]  # [of-this-user]
    own = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(own, starts, sizes)
    own = own[starts]  # [all-of-this-user]
    kept = np.minimum(own, most)

    def counted_before(first: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of the user's first ``first`` rows count."""
        return (2 * kept * first + own - 1) // (2 * own)  # [places]

    return counted_before(upto) - counted_before(upto - sizes)


# end-proof-region: spread


# Counts of successive tables, with a contribution bound per user over all of them.


# proof-region: by_step
class SeenContributions(NamedTuple):
    """Whether the users of earlier tables are strings, and how many items of each user were counted."""

    text: bool
    counted: Mapping[Any, int]


def count_time_step(
    rows: Rows, items: Sequence[Any], most: int, before: SeenContributions | None
) -> tuple[NDArray[np.int64], SeenContributions]:
    """Return the number of users counted for each item of this table, and the updated contributions.

    Args:
        rows: Rows of ``identifier_columns`` for users and items.
        items: Distinct items to count: all integers or all strings.
        most: Maximum number of items per user over all tables.
        before: Contributions to earlier tables, or None for the first table.
    """
    text = column_kinds(rows)[0] == "String"
    if before is not None and before.text != text:  # [same-kind]
        raise DataTypeError("the column of users must contain integers in the tables of all steps, or strings in all")
    kept = bound_first_items(filter_listed_items(rows, items), most)  # [first-of-table]
    if kept.implementation.is_pyspark():
        kept = _fetch_from_spark(kept)
    users, chosen = (column.to_list() for column in run_guarded(kept.collect).iter_columns())
    places = {item: place for place, item in enumerate(items)}
    counted = {} if before is None else dict(before.counted)
    counts = np.zeros(len(items), dtype=np.int64)
    for user, item in sorted(zip(users, chosen, strict=True)):  # [in-order]
        if counted.get(user, 0) < most:  # [not-used-up]
            counted[user] = counted.get(user, 0) + 1  # [use]
            counts[places[item]] += 1  # [count]
    return counts, SeenContributions(text, counted)


# end-proof-region: by_step
