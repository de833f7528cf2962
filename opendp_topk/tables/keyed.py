"""Distinct users by item, for all items that a table holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .frames import _CATEGORIES, _collect
from .guard import guarded
from .parts import in_parts
from .spark import count_keys

if TYPE_CHECKING:
    import narwhals as nw


# proof-region: count_users_by_key
def count_users_by_key(rows: nw.LazyFrame[Any], most: int | None = None) -> Mapping[Any, int]:
    """How many distinct users have each item that occurs: Python strings or integers, to Python integers.

    Rows with a null are dropped. Counts that Spark has stay there until they are asked for.

    Args:
        rows: What ``two_columns`` returned.
        most: How many items of a user count at most: the first in the order of the numbers, or of the code points.

    Raises:
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    if rows.implementation.is_pyspark():
        return guarded(lambda: count_keys(rows.to_native(), most))  # [spark]
    return guarded(lambda: _by_key(rows, types, most))


def _by_key(rows: nw.LazyFrame[Any], types: list[str], most: int | None) -> dict[Any, int]:
    import narwhals as nw

    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    labels = [name for name, kind in zip(("user", "item"), types, strict=True) if kind in _CATEGORIES]
    if labels:
        pairs = pairs.with_columns(nw.col(labels).cast(nw.String())).drop_nulls()  # [labels]
    counts: Counter[Any] = Counter()
    for part in in_parts(pairs, rows):
        counts.update(_counted(part, most))  # [parts]
    return dict(counts)


def _counted(pairs: nw.LazyFrame[Any], most: int | None) -> dict[Any, int]:
    """The counts of one part."""
    import narwhals as nw

    found: Any = pairs.unique()  # [once]
    if most is not None:
        placed = _collect(found).sort("user", "item").with_row_index("row")  # [in-order]
        first = placed.group_by("user").agg(nw.col("row").min().alias("first"))
        found = placed.join(first, on="user").filter(nw.col("row") - nw.col("first") < most).lazy()  # [first-items]
    counted = _collect(found.group_by("item").agg(nw.len().alias("count")))  # [users]
    return dict(zip(counted["item"].to_list(), map(int, counted["count"].to_list()), strict=True))  # [by-key]


# end-proof-region: count_users_by_key
