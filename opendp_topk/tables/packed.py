"""Integer pairs of user and item packed into one integer each, and counts by cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

# Parallel work on all processors of this process: NumPy releases the GIL while it reads and sorts numbers.

A = TypeVar("A")
B = TypeVar("B")

PIECE = 2**17  # Numbers per piece: 1 MiB, which fits into a cache and takes longer than the handover to a thread.


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# proof-region: on_cores
def map_on_cores(work: Callable[[A], B], pieces: Sequence[A]) -> list[B]:
    """Return ``work(piece)`` for each of ``pieces``, in order. An exception of ``work`` is raised here."""
    threads = min(len(pieces), processor_count())
    if threads < 2:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, pieces))  # [each-once]


def sort_on_cores(numbers: NDArray[Any]) -> None:
    _sort_on_cores(processor_count(), numbers)


def _sort_on_cores(cores: int, numbers: NDArray[Any]) -> None:
    if cores < 2 or len(numbers) < 2 * PIECE:
        numbers.sort()  # [sort]
        return
    middle = len(numbers) // 2
    numbers.partition(middle)  # [halves]
    map_on_cores(partial(_sort_on_cores, cores // 2), [numbers[:middle], numbers[middle:]])  # [both]


# end-proof-region: on_cores


# Pairs of integer identifiers, packed into one integer each, sorted, and counted between the bounds of each candidate.

Block = tuple[NDArray[Any], NDArray[Any]]

_MOST = 2**63 - 1  # the largest int64
_NARROW = 2**32 - 1  # the largest uint32, which sorts twice as fast as int64
_SHARE = 2**14  # Candidates per lookup task, which takes ten times longer than the handover to a thread.


# proof-region: count_packed
def count_packed(blocks: Sequence[Block], candidates: Sequence[int]) -> NDArray[Any] | None:
    """Return the number of distinct users of each candidate, as int64, or None if the pairs may not fit into 63 bits.

    Args:
        blocks: The rows in blocks of two arrays of integers: users, and as many items.
        candidates: Distinct Python integers of 64 bits, at least one. A range must have step 1.
    """
    scores = np.zeros(len(candidates), dtype=np.int64)
    pieces = _cut_into_pieces(blocks)
    if not pieces:
        return scores  # [no-rows]
    ends = list(zip(*map_on_cores(_column_bounds, pieces), strict=True))
    least, most, first, last = min(ends[0]), max(ends[1]), min(ends[2]), max(ends[3])  # [all-ends]
    span = most - least + 1
    size = span * (last - first + 1)
    if max(most, last, size) > _MOST:
        return None  # [range-check]
    bounds = np.cumsum([0, *(len(users) for users, _ in pieces)]).tolist()
    pairs = np.empty(bounds[-1], dtype=np.uint32 if size <= _NARROW else np.int64)  # [narrow]
    slots = [pairs[start:stop] for start, stop in pairwise(bounds)]
    map_on_cores(partial(_pack_pairs, least, first, span), list(zip(slots, pieces, strict=True)))
    sort_on_cores(pairs)
    if isinstance(candidates, range):
        return _count_consecutive(pairs, first, last, span, candidates)  # [consecutive]
    places, wanted = _candidates_in_range(candidates, first, last)
    starts = ((wanted - first) * span).astype(pairs.dtype)
    repeats = np.flatnonzero(pairs[1:] == pairs[:-1])  # [repeats]
    shares = np.array_split(starts, 1 + len(starts) // _SHARE)  # [shares]
    scores[places] = np.concatenate(map_on_cores(partial(_count_between, pairs, repeats, span), shares))
    return scores


def _count_consecutive(pairs: NDArray[Any], first: int, last: int, span: int, candidates: range) -> NDArray[np.int64]:
    """Return the number of distinct values of sorted ``pairs`` for each of consecutive candidates."""
    scores = np.zeros(len(candidates), dtype=np.int64)
    low, high = max(first, candidates[0]), min(last, candidates[-1])  # [common]
    if low <= high:
        new = np.concatenate([[True], pairs[1:] != pairs[:-1]])  # [new]
        items = pairs[new].astype(np.int64) // span
        found = items[(low - first <= items) & (items <= high - first)] - (low - first)  # [found]
        begin = low - candidates[0]
        scores[begin : begin + high - low + 1] = np.bincount(found, minlength=high - low + 1)  # [each]
    return scores


def _cut_into_pieces(blocks: Sequence[Block]) -> list[Block]:
    """Return the same rows in pieces that are neither empty nor longer than ``PIECE``."""
    return [
        (users[start : start + PIECE], items[start : start + PIECE])
        for users, items in blocks
        for start in range(0, len(users), PIECE)  # [cut]
    ]


def _column_bounds(piece: Block) -> list[int]:
    return [int(end) for column in piece for end in (column.min(), column.max())]  # [ends]


def _pack_pairs(least: int, first: int, span: int, task: tuple[NDArray[Any], Block]) -> None:
    slot, (users, items) = task
    np.subtract(items, first, out=slot, dtype=np.int64, casting="unsafe")
    slot *= span
    slot += np.subtract(users, least, dtype=np.int64, casting="unsafe").astype(slot.dtype, copy=False)  # [pack]


def _candidates_in_range(candidates: Sequence[int], first: int, last: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the indices of the candidates from ``first`` to ``last``, both int64, and these candidates."""
    places = np.arange(len(candidates))
    if max(candidates) > _MOST:
        places = np.array([at for at, one in enumerate(candidates) if one <= _MOST], dtype=np.int64)  # [signed]
        candidates = [candidates[at] for at in places.tolist()]
    values = np.array(candidates, dtype=np.int64)
    inside = (first <= values) & (values <= last)  # [in-range]
    return places[inside], values[inside]


def _count_between(pairs: NDArray[Any], repeats: NDArray[Any], span: int, starts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of distinct values of sorted ``pairs`` in the ``span`` from each start.

    ``repeats`` are the indices of the values that equal the next one.
    """
    begins, ends = np.searchsorted(pairs, starts), np.searchsorted(pairs, starts + span)
    return ends - begins - (np.searchsorted(repeats, ends) - np.searchsorted(repeats, begins))  # [between]


# end-proof-region: count_packed


# Counts by group and candidate: a cell for each pair of them. Only nonzero cells are stored.

Integers = NDArray[np.int64]
_SPARSE = 4  # a lookup table with at most so many entries per element is faster than a search


# proof-region: cells_by_group
@dataclass(frozen=True, eq=False)
class CountsByGroup:
    """Counts by group g and candidate c: the entry of ``counts`` where ``cells`` is g width + c, or 0 if none is."""

    width: int
    cells: Integers
    counts: Integers

    def dense_counts(self, first: int, last: int) -> Integers:
        """Return the counts of the groups ``first``, ..., ``last - 1``, shape (last - first, width)."""
        start, stop = np.searchsorted(self.cells, [first * self.width, last * self.width])  # [between]
        table = np.zeros((last - first) * self.width, dtype=np.int64)
        table[self.cells[start:stop] - first * self.width] = self.counts[start:stop]  # [place]
        return table.reshape(-1, self.width)


def build_cell_counts(cells: Integers, counts: Integers, width: int) -> CountsByGroup:
    """Return the sums of ``counts`` by cell. The cells are in any order."""
    order = np.argsort(cells)
    ordered = cells[order]
    first = _run_starts(ordered)
    return CountsByGroup(width, ordered[first], np.add.reduceat(counts[order], first))  # [run-sums]


def add_cell_counts(one: CountsByGroup, other: CountsByGroup) -> CountsByGroup:
    return build_cell_counts(np.append(one.cells, other.cells), np.append(one.counts, other.counts), one.width)


def count_repeated_cells(cells: Integers, width: int) -> CountsByGroup:
    """Return how often each cell occurs in ``cells``, which has one entry for each distinct user of a cell."""
    ordered = np.sort(cells)
    first = _run_starts(ordered)
    return CountsByGroup(width, ordered[first], np.diff(first, append=len(ordered)))  # [run-lengths]


def _run_starts(ordered: Integers) -> Integers:
    """Return the indices at which a new value begins."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])  # [starts]


def count_packed_cells(
    users: NDArray[Any],
    items: NDArray[Any],
    groups: NDArray[Any],
    listed: Sequence[int],
    candidates: Sequence[int],
    most: int,
) -> CountsByGroup | None:
    """Return the counts of users in the first ``most`` of the ``listed`` groups in which they have a row.

    Return None if a user, a group and a candidate may not fit into 63 bits.
    """
    width = len(candidates)
    if len(users) == 0:
        return count_repeated_cells(np.zeros(0, dtype=np.int64), width)  # [no-rows]
    if max(int(column.max()) for column in (users, items, groups)) > _MOST:
        return None  # [signed]
    low, middle = width.bit_length(), (len(listed) - 1).bit_length()
    least = int(users.min())
    if (int(users.max()) - least).bit_length() + middle + low > _MOST.bit_length():
        return None  # [bits-check]
    place, at = _places_in_list(groups, listed), _places_in_list(items, candidates)
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
    return count_repeated_cells((homes[kept] & (1 << middle) - 1) * width + at[kept], width)


def _places_in_list(column: NDArray[Any], listed: Sequence[int]) -> Integers:
    """Return the index in ``listed`` of each element of ``column``, or -1. No element exceeds int64."""
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
