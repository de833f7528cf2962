"""The listed items of each user of a table, as indices of the list, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataTypeError
from .frames import _collect_streaming, column_kinds, iterate_user_parts, kind_mismatch_message
from .grouping import join_places
from .guard import require_below, run_guarded
from .rows import Rows

if TYPE_CHECKING:
    import narwhals as nw

Indices = NDArray[np.int64]


# proof-region: memberships
@dataclass(frozen=True, eq=False)
class Memberships:
    """Which of ``size`` items each user has, each item once.

    User u has the items ``items[starts[u] : starts[u + 1]]``. Users without a listed item are left out.
    """

    size: int
    items: NDArray[np.int32]
    starts: Indices

    def count_users(self, users: Indices) -> Indices:
        """Return how many of ``users``, which are distinct, have each item."""
        lengths = self.starts[users + 1] - self.starts[users]
        first = np.repeat(self.starts[users] - np.cumsum(lengths) + lengths, lengths)
        held = self.items[first + np.arange(lengths.sum())]  # [items-of-users]
        return np.bincount(held, minlength=self.size)  # [count]

    def group_users_by_item(self) -> tuple[Indices, Indices]:
        """Return all users of all items, and for each item where its users begin; after the last one their number."""
        users = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        ends = np.cumsum(np.bincount(self.items, minlength=self.size))
        users += self.items.astype(np.int64) << 32
        users.sort()
        users &= 0xFFFFFFFF
        return users, np.append(0, ends)  # [users-of-items]


def read_memberships(rows: Rows, candidates: Sequence[int] | Sequence[str]) -> Memberships:
    """Return which of the candidates each user has. Rows with a null are dropped.

    Args:
        rows: Rows of ``identifier_columns`` for users and items.
        candidates: Distinct and not empty: all Python integers of 64 bits, or all strings.

    Raises:
        DataTypeError: The items are of another kind than the candidates, or the table is in Spark.
    """
    if rows.implementation.is_pyspark():
        raise DataTypeError("the table must not be in Spark, because every choice counts users again: read its files")
    types = column_kinds(rows)
    if isinstance(candidates[0], str) != (types[1] == "String"):  # [check-kind]
        raise DataTypeError(kind_mismatch_message(rows.collect_schema().names()[1], candidates[0]))
    require_below(len(candidates), 31, "candidates")  # [check-candidates]
    held = rows.read_snapshot()  # [held]
    return run_guarded(lambda: _read_parts(held, types[1], candidates))


def _read_parts(rows: nw.LazyFrame[Any], kind: str, candidates: Sequence[Any]) -> Memberships:
    import polars as pl

    items, lengths = [], []
    for part in iterate_user_parts(rows, "user", "item"):  # [parts]
        known = _collect_streaming(part.drop_nulls())  # [known-rows]
        listed: pl.DataFrame = join_places(known, "item", kind, candidates, "place").to_native()
        by_user = listed.lazy().group_by("user").agg(pl.col("place").unique())  # [each-once]
        held = by_user.collect(engine="streaming")["place"]
        lengths.append(held.list.len().to_numpy().astype(np.int64))  # [lengths]
        items.append(held.explode().to_numpy().astype(np.int32))  # [in-order]
    starts = np.append(0, np.cumsum(np.concatenate(lengths)))
    require_below(len(starts), 32, "users")  # [check-users]
    return Memberships(len(candidates), np.concatenate(items), starts)


# end-proof-region: memberships
