"""How many different items each user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .frames import _CATEGORIES, _collect
from .guard import guarded

if TYPE_CHECKING:
    import narwhals as nw


# proof-region: breadth
def items_of_users(rows: nw.LazyFrame[Any]) -> NDArray[np.int64]:
    """For each user, in no order, the number of different items; rows with a null are dropped.

    Args:
        rows: What ``two_columns`` returned.

    Raises:
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    return guarded(lambda: _items_of_users(rows, types))


def _items_of_users(rows: nw.LazyFrame[Any], types: list[str]) -> NDArray[np.int64]:
    import narwhals as nw

    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    labels = [name for name, kind in zip(("user", "item"), types, strict=True) if kind in _CATEGORIES]
    if labels:
        pairs = pairs.with_columns(nw.col(labels).cast(nw.String())).drop_nulls()  # [labels]
    counted = _collect(pairs.unique().group_by("user").agg(nw.len().alias("items")))  # [by-user]
    return counted["items"].to_numpy().astype(np.int64)


# end-proof-region: breadth
