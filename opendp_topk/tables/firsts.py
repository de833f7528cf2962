"""The first items of each user in a public order: pairs become numbers, which sort faster than strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import narwhals as nw

Numbers = NDArray[np.int64]

_MOST = 2**63 - 1  # the largest int64


# proof-region: first_items
def count_first(rows: nw.DataFrame[Any], most: int) -> nw.DataFrame[Any]:
    """By item (columns ``item`` and ``count``) how many users have it among their first ``most``, where any have.

    Args:
        rows: Columns ``user`` and ``item``, without nulls. Equal rows are one.
        most: At least 1. Items are ordered as numbers, or by code points.
    """
    import narwhals as nw

    _, items, pairs = _numbered(rows)
    pairs.sort()
    distinct = pairs[_starts(pairs)]  # [distinct]
    users = distinct // max(1, len(items))
    kept = _leading(users, most)  # [first-ranks]
    ranks = distinct[kept] - users[kept] * len(items)
    counts = nw.Series.from_numpy("count", np.bincount(ranks, minlength=len(items)), backend=items.implementation)
    return items.with_columns(counts).filter(nw.col("count") > 0).select("item", "count")  # [counted-ranks]


def keep_first(rows: nw.DataFrame[Any], most: int) -> nw.DataFrame[Any]:
    """The rows whose item is among the first ``most`` of the user; each user has one row for an item."""
    import narwhals as nw

    placed, items, pairs = _numbered(rows)
    order = np.argsort(pairs)
    kept = np.zeros(len(pairs), dtype=np.bool_)
    kept[order] = _leading(pairs[order] // max(1, len(items)), most)  # [first-rows]
    chosen = nw.Series.from_numpy("kept", kept, backend=placed.implementation)
    return placed.with_columns(chosen).filter(nw.col("kept")).select(rows.columns)


def _numbered(rows: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], nw.DataFrame[Any], Numbers]:
    """The rows in some order, the items in theirs, and a number for each row: by user, then by item."""
    items = rows.select("item").unique().sort("item").with_row_index("rank")  # [ranks]
    placed = rows.join(items, on="item")
    users = placed["user"].to_numpy()
    if not _fit(users, len(items)):
        codes = rows.select("user").unique().with_row_index("code")  # [codes]
        placed = placed.join(codes, on="user")
        users = placed["code"].to_numpy()
        if len(codes) * len(items) > _MOST:
            raise OverflowError("pairs of users and items do not fit into 63 bits")
    ranks = placed["rank"].to_numpy().astype(np.int64)
    least = int(users.min()) if len(users) else 0
    return placed, items, (users.astype(np.int64) - least) * len(items) + ranks  # [numbered]


def _fit(users: NDArray[Any], size: int) -> bool:
    """Whether these are integers, and their range times ``size`` fits into 63 bits."""
    if users.dtype.kind not in "iu" or len(users) == 0:
        return False
    least, most = int(users.min()), int(users.max())
    return max(most, (most - least + 1) * size) <= _MOST  # [range-check]


def _starts(ordered: Numbers) -> NDArray[np.bool_]:
    """Where a new value begins."""
    return np.append(np.ones(min(1, len(ordered)), dtype=np.bool_), ordered[1:] != ordered[:-1])  # [starts]


def _leading(users: Numbers, most: int) -> NDArray[np.bool_]:
    """Which entries are among the first ``most`` of the equal ones that lie side by side."""
    kept = np.ones(len(users), dtype=np.bool_)
    kept[most:] = users[most:] != users[:-most]  # [leading]
    return kept


# end-proof-region: first_items
