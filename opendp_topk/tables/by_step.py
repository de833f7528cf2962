"""Counts of one table after another, of which one user moves no more than so many over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnError
from .capping import _fetched, first_items, listed
from .frames import kinds
from .guard import guarded

if TYPE_CHECKING:
    from .rows import Rows


# proof-region: by_step
class Seen(NamedTuple):
    """Whether the users of earlier tables are strings, and how many items of each counted."""

    text: bool
    counted: Mapping[Any, int]


def counts_of_step(rows: Rows, items: Sequence[Any], most: int, before: Seen | None) -> tuple[NDArray[np.int64], Seen]:
    """How many users of this table count for each item, and what has been seen afterwards.

    Args:
        rows: What ``two_columns`` returned.
        items: The items to count, distinct: all integers or all strings.
        most: How many items of one user count, over all tables.
        before: What was seen of the tables before, None where there were none.

    Raises:
        ColumnError: The items of the table are of the other kind, or the users are of another than before.
        TableError: The back end failed.
    """
    text = kinds(rows)[0] == "String"
    if before is not None and before.text != text:  # [same-kind]
        raise ColumnError(
            "the column of users must hold integers in the tables of all steps, or strings in all of them"
        )
    kept = first_items(listed(rows, items), most)  # [first-of-table]
    if kept.implementation.is_pyspark():
        kept = _fetched(kept)
    users, chosen = (column.to_list() for column in guarded(kept.collect).iter_columns())
    places = {item: place for place, item in enumerate(items)}
    counted = {} if before is None else dict(before.counted)
    counts = np.zeros(len(items), dtype=np.int64)
    for user, item in sorted(zip(users, chosen, strict=True)):  # [in-order]
        if counted.get(user, 0) < most:  # [not-used-up]
            counted[user] = counted.get(user, 0) + 1  # [use]
            counts[places[item]] += 1  # [count]
    return counts, Seen(text, counted)


# end-proof-region: by_step
