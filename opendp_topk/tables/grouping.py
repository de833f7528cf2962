"""Tables by group: each user's rows go to no more than so many groups, whatever the back end of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError
from .cells import CountsByGroup, count_packed_cells, counted, sparse
from .firsts import keep_first
from .frames import RANGES, _collect, exact_kind, kinds, mismatch
from .guard import guarded
from .rows import Rows
from .spark import count_cells, split

if TYPE_CHECKING:
    import narwhals as nw
    from pyspark.sql import DataFrame


# proof-region: split_by_group
def split_by_group(
    rows: Rows, groups: Sequence[int] | Sequence[str], most: int = 1, chosen: Sequence[int] | None = None
) -> list[Rows]:
    """One table of (user, item) rows for each of ``groups``, in their order, or for those at the ``chosen`` places.

    A user with rows in more than ``most`` groups belongs to the first ``most`` of them, and the rows elsewhere are
    dropped. So are rows whose user or group is null, and rows of other groups.

    Args:
        rows: What ``identifier_columns`` returned for the roles user, item and group.
        groups: Distinct and not empty: all Python integers of 64 bits, or all strings.
        most: To how many groups a user belongs at most, at least 1.
        chosen: Ascending places in ``groups``; by default all.

    Raises:
        ColumnError: The groups in the table are strings and those given integers, or the other way round.
        TableError: The back end failed.
    """
    types, held = _types(rows, groups), rows.held()  # [held]
    places = range(len(groups)) if chosen is None else chosen
    tables = guarded(lambda: _split(held, types, groups, most, places))
    return [Rows.of(table) for table in tables]  # [each-table]


def _types(rows: Rows, groups: Sequence[Any]) -> list[str]:
    types = kinds(rows)
    if isinstance(groups[0], str) != (types[2] == "String"):  # [check-group-kind]
        held = "strings" if types[2] == "String" else "integers"
        raise ColumnError(f"column {rows.collect_schema().names()[2]!r} holds {held}, so the groups must be {held} too")
    return types


def _split(
    rows: nw.LazyFrame[Any], types: Sequence[str], groups: Sequence[Any], most: int, chosen: Sequence[int]
) -> list[nw.LazyFrame[Any]]:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        tables = split(rows.to_native(), exact_kind(types[2]), groups, most)
        return [nw.from_native(tables[at]) for at in chosen]  # [spark]
    names = rows.collect_schema().names()
    kept = _at_home(_known(rows), types, groups, most).sort("place")  # [in-order]
    ends = np.searchsorted(kept["place"].to_numpy(), np.arange(len(groups) + 1)).tolist()  # [ends]
    columns = [nw.col(role).alias(name) for role, name in zip(("user", "item"), names[:2], strict=True)]
    sorted_rows = kept.select(columns)
    return [sorted_rows[ends[at] : ends[at + 1]].lazy() for at in chosen]  # [split]


def _known(rows: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """The rows of somebody in some group, as columns user, item and group."""
    import narwhals as nw

    roles = ("user", "item", "group")
    names = rows.collect_schema().names()
    table = rows.select(nw.col(name).alias(role) for name, role in zip(names, roles, strict=True))
    return _collect(table.filter(~nw.col("user").is_null() & ~nw.col("group").is_null()))  # [drop-nobody]


def _at_home(known: nw.DataFrame[Any], types: Sequence[str], groups: Sequence[Any], most: int) -> nw.DataFrame[Any]:
    """The rows of users in the first ``most`` of ``groups`` in which they have one, with the places of these groups."""
    import narwhals as nw

    placed = _listed(known, "group", types[2], groups, "place")  # [known-groups]
    pairs = placed.select("user", nw.col("place").alias("item")).unique()  # [user-and-group]
    homes = keep_first(pairs, most).select("user", nw.col("item").alias("place"))  # [first-groups]
    return placed.join(homes, on=["user", "place"])  # [at-home]


def _listed(
    table: nw.DataFrame[Any], role: str, type_name: str, listed: Sequence[Any], place: str
) -> nw.DataFrame[Any]:
    """The rows whose ``role`` is among ``listed``, with its place there."""
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


# end-proof-region: split_by_group


# proof-region: count_by_group
def count_by_group(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any], most: int = 1) -> CountsByGroup:
    """How many distinct users of each group have each candidate.

    Args:
        rows: What ``identifier_columns`` returned for the roles user, item and group.
        groups: As for :func:`split_by_group`, which says to which ones a user belongs.
        candidates: Distinct and not empty: all Python integers of 64 bits, or all strings.
        most: As there.

    Raises:
        ColumnError: Groups or candidates are strings and the column holds integers, or the other way round.
        TableError: The back end failed.
    """
    if rows.implementation.is_pyspark():
        kinds = _kinds(rows, groups, candidates)
        found = guarded(lambda: _on_spark(rows, kinds, groups, candidates, most).toArrow())  # [spark-counts]
        cells = found["home"].to_numpy() * len(candidates) + found["place"].to_numpy()
        return counted(cells, found["count"].to_numpy(), len(candidates))  # [spark-places]
    types, held = _types_of_all(rows, groups, candidates), rows.held()
    return guarded(lambda: _cells(_known(held), types, groups, candidates, most))  # [held-cells]


def cells_by_group(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any], most: int) -> DataFrame:
    """The counts of a Spark frame that are not 0, those of a group in one partition, where groups ascend.

    The columns are the place of the group, the place of the candidate, and the count; otherwise as ``count_by_group``,
    but that what Spark raises is handed on: whoever starts the job tells of it.
    """
    kinds = _kinds(rows, groups, candidates)
    return (
        _on_spark(rows, kinds, groups, candidates, most).repartition("home").sortWithinPartitions("home")
    )  # [by-home]


def _types_of_all(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any]) -> list[str]:
    types = _types(rows, groups)
    if isinstance(candidates[0], str) != (types[1] == "String"):  # [check-item-kind]
        raise ColumnError(mismatch(rows.collect_schema().names()[1], candidates[0]))
    return types


def _kinds(rows: Rows, groups: Sequence[Any], candidates: Sequence[Any]) -> list[str]:
    return [exact_kind(name) for name in _types_of_all(rows, groups, candidates)[1:]]


def _on_spark(
    rows: Rows, kinds: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> DataFrame:
    return count_cells(rows.to_native(), kinds, groups, candidates, most)  # [spark-cells-of]


def _cells(
    known: nw.DataFrame[Any], types: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> CountsByGroup:
    import narwhals as nw

    if "String" not in types:
        users, items, held = (known[role].to_numpy() for role in ("user", "item", "group"))
        if {column.dtype.kind for column in (users, items, held)} <= {"i", "u"}:
            packed = count_packed_cells(users, items, held, groups, candidates, most)  # [packed]
            if packed is not None:
                return packed
    kept = _at_home(known, types, groups, most).filter(~nw.col("item").is_null())
    found = _listed(kept, "item", types[1], candidates, "at").select("user", "place", "at").unique()  # [distinct]
    return sparse(found["place"].to_numpy() * len(candidates) + found["at"].to_numpy(), len(candidates))  # [cells]


# end-proof-region: count_by_group
