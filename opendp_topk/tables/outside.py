"""Rows of other items than those that are listed, no more than so many of each user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .frames import RANGES, _collect, exact_kind, kinds
from .guard import guarded, require_below
from .spark import count_outside

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# proof-region: outside
def rows_outside(rows: Rows, items: Sequence[int] | Sequence[str], most: int) -> int:
    """The sum over users of the number of their rows with an item that is not listed, but no more than ``most`` each.

    Rows with a null are dropped.

    Args:
        rows: What ``two_columns`` returned.
        items: Distinct, of the kind of the column of items; there may be none.
        most: At least 1 and at most 2^31.

    Raises:
        TableError: The back end failed.
        OutOfBoundsError: There are 2^32 rows or more of other items.
    """
    kind, held = exact_kind(kinds(rows)[1]), rows.held()  # [held]
    return guarded(lambda: _outside(held, kind, items, most))


def _outside(rows: nw.LazyFrame[Any], kind: str, items: Sequence[Any], most: int) -> int:
    import narwhals as nw

    if rows.implementation.is_pyspark():
        return count_outside(rows.to_native(), kind, items, most)  # [spark]
    user, item = map(nw.col, rows.collect_schema().names())
    known = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    dtype = getattr(nw, kind)()
    counted = _collect(known.group_by("user", "item").agg(nw.len().alias("rows")))  # [pairs]
    listed = nw.from_dict(
        {"item": [one for one in items if kind == "String" or one in RANGES[kind]]},
        schema={"item": dtype},
        backend=counted.implementation,
    )
    others = counted.with_columns(nw.col("item").cast(dtype)).join(listed, on="item", how="anti")  # [others]
    require_below(float(others["rows"].to_numpy().astype(np.float64).sum()), 32, "rows")  # [check-size]
    by_user = others.group_by("user").agg(nw.col("rows").sum())  # [by-user]
    return int(np.minimum(by_user["rows"].to_numpy().astype(np.int64), most).sum())  # [most]


# end-proof-region: outside
