"""Weights that each user spreads over the items that she has, added up by item."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .firsts import keep_first
from .frames import _collect
from .guard import guarded, require_below
from .held import ColumnCounts
from .keyed import by_item
from .parts import in_parts, own_texts
from .spark import sum_weights

if TYPE_CHECKING:
    import narwhals as nw

    from .rows import Rows


# proof-region: baskets
class Baskets:
    """The items of each user of a table, the first ``most`` in the order of the numbers or of the code points.

    Args:
        rows: What ``two_columns`` returned.
        most: How many items of a user count, at least 1.
        unit: The length of what a user spreads: the root of the sum of the squares of her weights is at most this.
    """

    def __init__(self, rows: Rows, most: int, unit: int) -> None:
        self._rows, self._most, self._unit = rows, most, unit
        self._shares: nw.DataFrame[Any] | None = None

    def sums(self) -> ColumnCounts:
        """The weights of all users by item; ``users`` are then how many users these items have, in the same order.

        Raises:
            TableError: The back end failed.
            OutOfBoundsError: An item has 2^30 users or more.
        """
        counted = guarded(self._summed)
        self.users = counted["users"].to_numpy().astype(np.int64)  # [users]
        require_below(self.users.max(initial=0), 30, "users of one item")  # [check-users]
        self._items = counted.select("item")  # [items]
        return by_item(counted)

    def share(self, shares: NDArray[np.int64]) -> None:
        """From now on weights are in proportion to ``shares``, one for each item of the last sums, in their order.

        They are at least 1 and, for ``most`` of them, the squares have a sum of at most the square of the unit.
        """
        import narwhals as nw

        column = nw.Series.from_numpy("share", shares, backend=self._items.implementation)
        self._shares = self._items.with_columns(column)  # [shares]

    def _summed(self) -> nw.DataFrame[Any]:
        import narwhals as nw
        import polars as pl

        rows = self._rows.held()  # [held]
        if rows.implementation.is_pyspark():
            shares = None if self._shares is None else self._shares.to_arrow()
            found = sum_weights(rows.to_native(), self._most, self._unit, shares).toArrow()  # [spark]
            return nw.from_native(pl.DataFrame(pl.from_arrow(found)))
        user, item = map(nw.col, rows.collect_schema().names())
        pairs = rows.select(user.alias("user"), item.alias("item")).drop_nulls()  # [known-rows]
        each = (own_texts(self._weighed(part)) for part in in_parts(pairs, rows))
        return functools.reduce(_together, each)  # [parts]

    def _weighed(self, pairs: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
        """The sums of one part, which has all rows of its users."""
        import narwhals as nw

        kept = keep_first(_collect(pairs.unique()), self._most)  # [first-items]
        if self._shares is None:
            shared = kept.with_columns(nw.lit(1, nw.Int64()).alias("share"))  # [equal]
        else:
            shared = kept.join(self._shares, on="item")  # [in-proportion]
        square = (nw.col("share") * nw.col("share")).sum().alias("square")
        users = shared.group_by("user").agg(square)  # [squares]
        rates = nw.Series.from_numpy(
            "rate", _rates(users["square"].to_numpy(), self._unit), backend=users.implementation
        )
        weights = shared.join(users.with_columns(rates), on="user")
        weight = (nw.col("share") * nw.col("rate")).sum().alias("count")
        return weights.group_by("item").agg(weight, nw.len().alias("users"))  # [sum]


def _together(one: nw.DataFrame[Any], other: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The sums of two parts together."""
    import narwhals as nw

    both = nw.concat([one, other]).group_by("item")
    return both.agg(nw.col("count").sum(), nw.col("users").sum())  # [together]


def _rates(squares: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """The largest integers r, or some below them, for which r^2 times ``squares`` is at most the square of the unit."""
    nearly = np.floor(np.sqrt(unit * unit / squares)).astype(np.int64)
    lower = nearly - (nearly * nearly * squares > unit * unit)
    return np.where(lower * lower * squares <= unit * unit, lower, 0)  # [within]


# end-proof-region: baskets
