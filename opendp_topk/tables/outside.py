"""Rows of other items than those that are listed, no more than so many of each user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .frames import _CATEGORIES, _RANGES, _STRINGS, _collect
from .guard import guarded
from .spark import count_outside

if TYPE_CHECKING:
    import narwhals as nw


# proof-region: outside
def rows_outside(rows: nw.LazyFrame[Any], items: Sequence[int] | Sequence[str], most: int) -> int:
    """The sum over users of the number of their rows with an item that is not listed, but no more than ``most`` each.

    Rows with a null are dropped.

    Args:
        rows: What ``two_columns`` returned.
        items: Distinct, of the kind of the column of items; there may be none.
        most: At least 1 and at most 2^31.

    Raises:
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    return guarded(lambda: _outside(rows, types, items, most))


def _outside(rows: nw.LazyFrame[Any], types: list[str], items: Sequence[Any], most: int) -> int:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        kind = "String" if types[1] in _STRINGS else "Int64"
        return count_outside(rows.to_native(), kind, items, most)  # [spark]
    user, item = map(nw.col, rows.collect_schema().names())
    known = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    labels = [name for name, kind in zip(("user", "item"), types, strict=True) if kind in _CATEGORIES]
    if labels:
        known = known.with_columns(nw.col(labels).cast(nw.String())).drop_nulls()  # [labels]
    kind = "String" if types[1] in _STRINGS else "UInt64" if types[1] == "UInt64" else "Int64"  # [exact-type]
    dtype = getattr(nw, kind)()
    counted = _collect(known.group_by("user", "item").agg(nw.len().alias("rows")))  # [pairs]
    listed = nw.from_dict(
        {"item": [one for one in items if kind == "String" or one in _RANGES[kind]]},
        schema={"item": dtype},
        backend=counted.implementation,
    )
    others = counted.with_columns(nw.col("item").cast(dtype)).join(listed, on="item", how="anti")  # [others]
    by_user = others.group_by("user").agg(nw.col("rows").sum())  # [by-user]
    return int(np.minimum(by_user["rows"].to_numpy().astype(np.int64), most).sum())  # [most]


# end-proof-region: outside
