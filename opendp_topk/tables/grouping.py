"""Tables by group: each user's rows go to one group, whatever the back end of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ColumnError
from .frames import _CATEGORIES, _RANGES, _STRINGS, _collect
from .guard import guarded
from .spark import split

if TYPE_CHECKING:
    import narwhals as nw


# proof-region: split_by_group
def split_by_group(rows: nw.LazyFrame[Any], groups: Sequence[int] | Sequence[str]) -> list[nw.LazyFrame[Any]]:
    """One table of (user, item) rows for each of ``groups``, in their order.

    A user with rows in several groups belongs to the first of them, and the rows elsewhere are dropped. So are rows
    whose user or group is null, and rows of other groups.

    Args:
        rows: What ``identifier_columns`` returned for the roles user, item and group.
        groups: Distinct and not empty: all Python integers of 64 bits, or all strings.

    Raises:
        ColumnError: The groups in the table are strings and those given integers, or the other way round.
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    if isinstance(groups[0], str) != (types[2] in _STRINGS):  # [check-group-kind]
        held = "strings" if types[2] in _STRINGS else "integers"
        raise ColumnError(f"column {schema.names()[2]!r} holds {held}, so the groups must be {held} too")
    return guarded(lambda: _split(rows, types, groups))


def _split(rows: nw.LazyFrame[Any], types: Sequence[str], groups: Sequence[Any]) -> list[nw.LazyFrame[Any]]:
    import narwhals as nw

    kind = "String" if types[2] in _STRINGS else "UInt64" if types[2] == "UInt64" else "Int64"  # [group-type]
    if rows.implementation.is_pyspark():
        return [nw.from_native(table) for table in split(rows.to_native(), kind, groups)]  # [spark]
    roles = ("user", "item", "group")
    names = rows.collect_schema().names()
    table = rows.select(nw.col(name).alias(role) for name, role in zip(names, roles, strict=True))
    labels = [role for role, kind in zip(roles, types, strict=True) if kind in _CATEGORIES]
    if labels:
        table = table.with_columns(nw.col(labels).cast(nw.String()))  # [labels]
    known = _collect(table.filter(~nw.col("user").is_null() & ~nw.col("group").is_null()))  # [drop-nobody]
    places = [at for at, one in enumerate(groups) if kind == "String" or one in _RANGES[kind]]
    listed = nw.from_dict(
        {"group": [groups[at] for at in places], "place": places},
        schema={"group": getattr(nw, kind)(), "place": nw.Int64()},
        backend=known.implementation,
    )
    placed = known.with_columns(nw.col("group").cast(getattr(nw, kind)())).join(listed, on="group")  # [known-groups]
    first = placed.group_by("user").agg(nw.col("place").min())  # [first-group]
    kept = placed.join(first, on=["user", "place"])  # [one-group]
    columns = [nw.col(role).alias(name) for role, name in zip(roles[:2], names[:2], strict=True)]
    return [kept.filter(nw.col("place") == at).select(columns).lazy() for at in range(len(groups))]  # [split]


# end-proof-region: split_by_group
