"""How many different items each user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .frames import _collect
from .guard import guarded, require_below

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# proof-region: breadth
def items_of_users(rows: Rows) -> NDArray[np.int64]:
    """For each user, in no order, the number of different items; rows with a null are dropped.

    Args:
        rows: What ``two_columns`` returned.

    Raises:
        TableError: The back end failed.
        OutOfBoundsError: There are 2^32 users or more.
    """
    held = rows.held()  # [held]
    return guarded(lambda: _items_of_users(held))


def _items_of_users(rows: nw.LazyFrame[Any]) -> NDArray[np.int64]:
    import narwhals as nw

    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
    counted = _collect(pairs.unique().group_by("user").agg(nw.len().alias("items")))  # [by-user]
    require_below(len(counted), 32, "users")  # [check-users]
    return counted["items"].to_numpy().astype(np.int64)


# end-proof-region: breadth
