"""Counts of groups by candidate: a cell for each group and candidate; only those that are not 0 are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packed import _MOST

Integers = NDArray[np.int64]
_SPARSE = 4  # a table of places may have so many entries for each element that is looked up, to be faster than a search


# proof-region: cells_by_group
@dataclass(frozen=True, eq=False)
class CountsByGroup:
    """The count of group g and candidate c is ``counts`` where ``cells`` is g width + c, and 0 where it is nowhere."""

    width: int
    cells: Integers
    counts: Integers

    def rows(self, first: int, last: int) -> Integers:
        """The counts of the groups ``first``, ..., ``last - 1``, shape (last - first, width)."""
        start, stop = np.searchsorted(self.cells, [first * self.width, last * self.width])  # [between]
        table = np.zeros((last - first) * self.width, dtype=np.int64)
        table[self.cells[start:stop] - first * self.width] = self.counts[start:stop]  # [place]
        return table.reshape(-1, self.width)


def counted(cells: Integers, counts: Integers, width: int) -> CountsByGroup:
    """The counts of distinct cells, in any order."""
    order = np.argsort(cells)
    return CountsByGroup(width, cells[order], counts[order])  # [ascending]


def sparse(cells: Integers, width: int) -> CountsByGroup:
    """The counts of cells that are given once for each distinct user."""
    ordered = np.sort(cells)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return CountsByGroup(width, ordered[first], np.diff(first, append=len(ordered)))  # [run-lengths]


def count_packed_cells(
    users: NDArray[Any],
    items: NDArray[Any],
    groups: NDArray[Any],
    listed: Sequence[int],
    candidates: Sequence[int],
    most: int,
) -> CountsByGroup | None:
    """The counts of users who belong to the first ``most`` of the ``listed`` groups in which they have a row.

    None where a user, a group and a candidate may not fit into 63 bits.

    Args:
        users: Integers, one a row.
        items: As many integers.
        groups: As many integers.
        listed: Distinct Python integers, the groups.
        candidates: Distinct Python integers.
        most: At least 1.
    """
    width = len(candidates)
    if len(users) == 0:
        return sparse(np.zeros(0, dtype=np.int64), width)  # [no-rows]
    if max(int(column.max()) for column in (users, items, groups)) > _MOST:
        return None  # [signed]
    low, middle = width.bit_length(), (len(listed) - 1).bit_length()
    least = int(users.min())
    if (int(users.max()) - least).bit_length() + middle + low > _MOST.bit_length():
        return None  # [bits-check]
    place, at = _places(groups, listed), _places(items, candidates)
    here = place >= 0  # [listed-groups]
    keys = users.astype(np.int64)[here] - least
    keys = ((keys << middle | place[here]) << low) | np.where(at[here] < 0, width, at[here])  # [pack]
    keys.sort()
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]  # [distinct]
    homes = keys >> low
    turns = np.append(0, np.cumsum(homes[1:] != homes[:-1]))[: len(keys)]  # [turns]
    newcomer = np.append(True, (homes[1:] ^ homes[:-1]) >> middle != 0)[: len(keys)]
    first = np.maximum.accumulate(np.where(newcomer, turns, 0))  # [first-place]
    at = keys & (1 << low) - 1
    kept = (turns - first < most) & (at < width)  # [kept-cells]
    return sparse((homes[kept] & (1 << middle) - 1) * width + at[kept], width)


def _places(column: NDArray[Any], listed: Sequence[int]) -> Integers:
    """For each element of ``column``, which holds no number beyond int64, its place among ``listed``, or -1."""
    first, last = int(column.min()), int(column.max())
    inside = [at for at, one in enumerate(listed) if first <= one <= last]  # [inside]
    places, values = np.array(inside, dtype=np.int64), np.array([listed[at] for at in inside], dtype=np.int64)
    if last - first < _SPARSE * len(column):
        table = np.full(last - first + 1, -1)
        table[values - first] = places
        return np.asarray(table[column.astype(np.int64, copy=False) - first])  # [look-up]
    order = np.argsort(values)
    ordered = np.append(values[order], last)
    found = np.searchsorted(ordered[:-1], column.astype(np.int64, copy=False))
    return np.where(ordered[found] == column, np.append(places[order], -1)[found], -1)  # [search]


# end-proof-region: cells_by_group
