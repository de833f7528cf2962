"""Tables by group, and counts of rows outside a public list."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataTypeError
from .frames import RANGES, _collect_streaming, column_kinds, exact_kind, iterate_user_parts, kind_mismatch_message
from .guard import require_below, run_guarded
from .held import ColumnCounts
from .keyed import add_up_parts, keep_first_items, to_column_counts
from .packed import CountsByGroup, add_cell_counts, build_cell_counts, count_packed_cells, count_repeated_cells
from .rows import Rows
from .spark import count_cells, count_outside, split_spark_groups, sum_weights

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    from pyspark.sql import DataFrame


# Tables by group, with a bound on the number of groups per user, for all back ends.


# proof-region: split_by_group
def split_by_group(
    rows: Rows, groups: Sequence[int] | Sequence[str], most: int = 1, chosen: Sequence[int] | None = None
) -> list[Rows]:
    """Return one table of (user, item) rows for each of ``groups``, in order, or for those at the ``chosen`` indices.

    A user with rows in more than ``most`` groups belongs to the first ``most`` of them, in the order of ``groups``. Her
    rows in other groups are dropped. So are rows with a null user or group, and rows of unlisted groups.

    Args:
        rows: Rows of ``identifier_columns`` for the roles user, item and group.
        groups: Distinct and not empty: all Python integers of 64 bits, or all strings.
        most: Maximum number of groups per user, at least 1.
        chosen: Ascending indices of ``groups``; default all.
    """
    types, held = _checked_group_types(rows, groups), rows.read_snapshot()  # [held]
    places = range(len(groups)) if chosen is None else chosen
    return run_guarded(lambda: _rows_of_groups(held, types, groups, most, places))


def _checked_group_types(rows: Rows, groups: Sequence[Any]) -> list[str]:
    types = column_kinds(rows)
    if isinstance(groups[0], str) != (types[2] == "String"):  # [check-group-kind]
        held = "strings" if types[2] == "String" else "integers"
        raise DataTypeError(
            f"column {rows.collect_schema().names()[2]!r} contains {held}, so the groups must be {held}"
        )
    return types


def _rows_of_groups(
    rows: nw.LazyFrame[Any], types: Sequence[str], groups: Sequence[Any], most: int, chosen: Sequence[int]
) -> list[Rows]:
    import narwhals as nw
    import polars as pl

    if rows.implementation.is_pyspark():
        tables = split_spark_groups(rows.to_native(), exact_kind(types[2]), groups, most)
        return [Rows.from_frame(nw.from_native(tables[at])) for at in chosen]  # [spark]
    (user, one), (item, other), _ = rows.collect_schema().items()
    ends: list[NDArray[np.int64]] = []

    def sorted_parts() -> Iterator[pl.DataFrame]:
        begin = 0
        for part in _parts_in_groups(rows):
            kept = _rows_of_first_groups(part, types, groups, most).sort("place")  # [in-order]
            ends.append(begin + np.searchsorted(kept["place"].to_numpy(), np.arange(len(groups) + 1)))  # [ends]
            begin += len(kept)
            yield kept.select(nw.col("user").alias(user), nw.col("item").alias(item)).to_native()

    kept = Rows(nw.Schema({user: one, item: other}), sorted_parts)
    held: pl.LazyFrame = kept.to_native()  # [one-after-another]

    def rows_of_group(at: int) -> pl.LazyFrame:
        return pl.concat(held.slice(own[at], own[at + 1] - own[at]) for own in ends)  # [split]

    return [Rows.from_frame(nw.from_native(rows_of_group(at)), kept) for at in chosen]  # [each-table]


def _parts_in_groups(rows: nw.LazyFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
    """Yield the rows with a non-null user and group in parts, as columns user, item and group."""
    import narwhals as nw

    for part in iterate_user_parts(rows, "user", "item", "group"):
        yield _collect_streaming(part.filter(~nw.col("user").is_null() & ~nw.col("group").is_null()))  # [drop-nobody]


def _rows_of_first_groups(
    known: nw.DataFrame[Any], types: Sequence[str], groups: Sequence[Any], most: int
) -> nw.DataFrame[Any]:
    """Return the rows in each user's first ``most`` of ``groups``, with the index of the group."""
    import narwhals as nw

    placed = join_places(known, "group", types[2], groups, "place")  # [known-groups]
    pairs = placed.select("user", nw.col("place").alias("item")).unique()  # [user-and-group]
    homes = keep_first_items(pairs, most).select("user", nw.col("item").alias("place"))  # [first-groups]
    return placed.join(homes, on=["user", "place"])  # [at-home]


# end-proof-region: split_by_group


# proof-region: join_places
def join_places(
    table: nw.DataFrame[Any], role: str, type_name: str, listed: Sequence[Any], place: str
) -> nw.DataFrame[Any]:
    """Return the rows whose ``role`` is in ``listed``, with its index there in the column named by ``place``."""
    import narwhals as nw

    kind = exact_kind(type_name)
    dtype = getattr(nw, kind)()
    places = [at for at, one in enumerate(listed) if kind == "String" or one in RANGES[kind]]
    known = nw.from_dict(
        {role: [listed[at] for at in places], place: places},
        schema={role: dtype, place: nw.Int64()},
        backend=table.implementation,
    )
    return table.with_columns(nw.col(role).cast(dtype)).join(known, on=role)  # [known-values]


# end-proof-region: join_places


# proof-region: count_by_group
def count_by_group(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any], most: int = 1) -> CountsByGroup:
    """Return the number of distinct users of each candidate in each group.

    Args:
        rows: Rows of ``identifier_columns`` for the roles user, item and group.
        groups: As for :func:`split_by_group`, which defines the groups of a user.
        candidates: Distinct and not empty: all Python integers of 64 bits, or all strings.
        most: Maximum number of groups per user, at least 1.
    """
    if rows.implementation.is_pyspark():
        kinds = _exact_kinds(rows, groups, candidates)
        found = run_guarded(
            lambda: _count_cells_in_spark(rows, kinds, groups, candidates, most).toArrow()
        )  # [spark-counts]
        cells = found["home"].to_numpy() * len(candidates) + found["place"].to_numpy()
        return build_cell_counts(cells, found["count"].to_numpy(), len(candidates))  # [spark-places]
    types, held = _checked_column_types(rows, groups, candidates), rows.read_snapshot()
    parts = (_count_part(part, types, groups, candidates, most) for part in _parts_in_groups(held))  # [held-cells]
    return run_guarded(lambda: functools.reduce(add_cell_counts, parts))  # [parts]


def cells_by_group(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any], most: int) -> DataFrame:
    """Return the nonzero counts of a Spark frame. Each group is in one partition, and groups ascend within a partition.

    The columns are the index of the group, the index of the candidate, and the count; see ``count_by_group``.
    Exceptions of Spark are not caught here, since the caller starts the job.
    """
    kinds = _exact_kinds(rows, groups, candidates)
    return (
        _count_cells_in_spark(rows, kinds, groups, candidates, most).repartition("home").sortWithinPartitions("home")
    )  # [by-home]


def _checked_column_types(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any]) -> list[str]:
    types = _checked_group_types(rows, groups)
    if isinstance(candidates[0], str) != (types[1] == "String"):  # [check-item-kind]
        raise DataTypeError(kind_mismatch_message(rows.collect_schema().names()[1], candidates[0]))
    return types


def _exact_kinds(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any]) -> list[str]:
    return [exact_kind(name) for name in _checked_column_types(rows, groups, candidates)[1:]]


def _count_cells_in_spark(
    rows: Rows, kinds: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> DataFrame:
    return count_cells(rows.to_native(), kinds, groups, candidates, most)  # [spark-cells-of]


def _count_part(
    known: nw.DataFrame[Any], types: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> CountsByGroup:
    import narwhals as nw

    numbered = _number_strings(known, types, groups, candidates)
    users, items, held = (numbered[role].to_numpy() for role in ("user", "item", "group"))
    if {column.dtype.kind for column in (users, items, held)} <= {"i", "u"}:
        listed, wanted = (
            range(len(one)) if kind == "String" else one for one, kind in ((groups, types[2]), (candidates, types[1]))
        )
        packed = count_packed_cells(users, items, held, listed, wanted, most)  # [packed]
        if packed is not None:
            return packed
    kept = _rows_of_first_groups(known, types, groups, most).filter(~nw.col("item").is_null())
    found = join_places(kept, "item", types[1], candidates, "at").select("user", "place", "at").unique()  # [distinct]
    return count_repeated_cells(
        found["place"].to_numpy() * len(candidates) + found["at"].to_numpy(), len(candidates)
    )  # [cells]


def _number_strings(
    known: nw.DataFrame[Any], types: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any]
) -> pl.DataFrame:
    """Return the rows with numbers for strings: users in any order, groups and items by their lists, others as -1."""
    import polars as pl

    numbered: pl.DataFrame = known.to_native()
    for role, kind, listed in (("group", types[2], groups), ("item", types[1], candidates)):
        if kind == "String":
            places = pl.LazyFrame({role: listed, "place": range(len(listed))}, {role: pl.String, "place": pl.Int64})
            joined = numbered.lazy().join(places, on=role, how="left")  # [place-in-list]
            placed = joined.with_columns(pl.col("place").fill_null(-1).alias(role)).drop("place")  # [not-listed]
            numbered = placed.collect(engine="streaming")
    if types[0] == "String":
        users = numbered.lazy().select(pl.col("user").unique()).with_row_index("number")  # [user-numbers]
        numbered = numbered.lazy().join(users, on="user").collect(engine="streaming")  # [number-of-user]
        numbered = numbered.drop("user").rename({"number": "user"})
    return numbered


# end-proof-region: count_by_group


# Number of rows with unlisted items, bounded per user.


# proof-region: outside
def count_rows_outside(rows: Rows, items: Sequence[int] | Sequence[str], most: int) -> int:
    """Return the sum over users of the number of their rows with an unlisted item, at most ``most`` for each user.

    Rows with a null are dropped.
    """
    kind, held = exact_kind(column_kinds(rows)[1]), rows.read_snapshot()  # [held]
    return run_guarded(lambda: _sum_capped_rows(held, kind, items, most))


def _sum_capped_rows(rows: nw.LazyFrame[Any], kind: str, items: Sequence[Any], most: int) -> int:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        return count_outside(rows.to_native(), kind, items, most)  # [spark]
    dtype = getattr(nw, kind)()
    listed = nw.from_dict(
        {"item": [one for one in items if kind == "String" or one in RANGES[kind]]},
        schema={"item": dtype},
        backend=rows.implementation,
    )
    found, total = 0, 0.0
    for part in iterate_user_parts(rows, "user", "item"):  # [parts]
        known = part.drop_nulls()  # [known-rows]
        counted = _collect_streaming(known.group_by("user", "item").agg(nw.len().alias("rows")))  # [pairs]
        others = counted.with_columns(nw.col("item").cast(dtype)).join(listed, on="item", how="anti")  # [others]
        total += float(others["rows"].to_numpy().astype(np.float64).sum())
        require_below(total, 32, "rows")  # [check-size]
        by_user = others.group_by("user").agg(nw.col("rows").sum())  # [by-user]
        found += int(np.minimum(by_user["rows"].to_numpy().astype(np.int64), most).sum())  # [most]
    return found


# end-proof-region: outside


# Number of distinct items per user.


# proof-region: breadth
def distinct_items_per_user(rows: Rows) -> NDArray[np.int64]:
    """Return the number of distinct items of each user, in no particular order. Rows with a null are dropped."""
    held = rows.read_snapshot()  # [held]
    return run_guarded(lambda: _count_items_per_user(held))


def _count_items_per_user(rows: nw.LazyFrame[Any]) -> NDArray[np.int64]:
    import narwhals as nw

    users, sizes = 0, []
    for part in iterate_user_parts(rows, "user", "item"):  # [parts]
        pairs = part.drop_nulls().unique()  # [known-rows]
        counted = _collect_streaming(pairs.group_by("user").agg(nw.len().alias("items")))  # [by-user]
        users += len(counted)
        require_below(users, 32, "users")  # [check-users]
        sizes.append(counted["items"].to_numpy().astype(np.int64))
    return np.concatenate(sizes)


# end-proof-region: breadth


# Weights that each user distributes over her items, summed by item.


# proof-region: baskets
class Baskets:
    """Each user's first ``most`` items in numeric or code point order.

    Args:
        rows: Rows of ``identifier_columns`` for users and items.
        most: Maximum number of items per user, at least 1.
        unit: Bound on the L2 norm of the weights of a user.
    """

    def __init__(self, rows: Rows, most: int, unit: int) -> None:
        self._rows, self._most, self._unit = rows, most, unit
        self._shares: nw.DataFrame[Any] | None = None
        self._only_part: nw.DataFrame[Any] | None = None

    def sum_item_weights(self) -> ColumnCounts:
        """Return the sum of all weights by item. This sets ``users`` to the number of users of each item, in order."""
        counted = run_guarded(self._sum_weights)
        self.users = counted["users"].to_numpy().astype(np.int64)  # [users]
        require_below(self.users.max(initial=0), 30, "users of one item")  # [check-users]
        self._items = counted.select("item")  # [items]
        return to_column_counts(counted)

    def set_item_shares(self, shares: NDArray[np.int64]) -> None:
        """Make later weights proportional to ``shares``, one for each item of the last sums, in their order.

        Items with the share 0 are left out. The squares of any ``most`` shares have a sum of at most that of ``unit``.
        """
        import narwhals as nw

        column = nw.Series.from_numpy("share", shares, backend=self._items.implementation)
        self._shares = self._items.with_columns(column).filter(nw.col("share") > 0)  # [shares]

    def _sum_weights(self) -> nw.DataFrame[Any]:
        import narwhals as nw
        import polars as pl

        rows = self._rows.read_snapshot()  # [held]
        if rows.implementation.is_pyspark():
            shares = None if self._shares is None else self._shares.to_arrow()
            found = sum_weights(rows.to_native(), self._most, self._unit, shares).toArrow()  # [spark]
            return nw.from_native(pl.DataFrame(pl.from_arrow(found)))
        return add_up_parts(map(self._weigh_part, self._iterate_first_items(rows)))

    def _iterate_first_items(self, rows: nw.LazyFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
        """Yield the pairs of each part, which contains all rows of its users. If there is only one, it is kept."""
        if self._only_part is not None:
            yield self._only_part  # [same-pairs]
            return
        several = False
        for part in iterate_user_parts(rows, "user", "item"):
            several, self._only_part = self._only_part is not None, None
            pairs = part.drop_nulls().unique()  # [known-rows]
            self._only_part = keep_first_items(_collect_streaming(pairs), self._most)  # [first-items]
            yield self._only_part
        if several:
            self._only_part = None  # [several-parts]

    def _weigh_part(self, kept: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
        """Return the sums of one part."""
        import narwhals as nw

        if self._shares is None:
            shared = kept.with_columns(nw.lit(1, nw.Int64()).alias("share"))  # [equal]
        else:
            shared = kept.join(self._shares, on="item")  # [in-proportion]
        square = (nw.col("share") * nw.col("share")).sum().alias("square")
        users = shared.group_by("user").agg(square)  # [squares]
        rates = nw.Series.from_numpy(
            "rate", _largest_rates(users["square"].to_numpy(), self._unit), backend=users.implementation
        )
        weights = shared.join(users.with_columns(rates), on="user")
        weight = (nw.col("share") * nw.col("rate")).sum().alias("count")
        return weights.group_by("item").agg(weight, nw.len().alias("users"))  # [sum]


def _largest_rates(squares: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return the largest integers r, or slightly smaller ones, with r^2 times ``squares`` at most ``unit``^2."""
    nearly = np.floor(np.sqrt(unit * unit / squares)).astype(np.int64)
    lower = nearly - (nearly * nearly * squares > unit * unit)
    return np.where(lower * lower * squares <= unit * unit, lower, 0)  # [within]


# end-proof-region: baskets
