"""Selections for the groups of a Spark table, drawn by the workers that have the counts.

The counts of many groups and candidates may not fit into the driver's memory. Each worker then draws for the groups
that it has.

Proof: proofs/combinators/together.tex
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.measurement import Measurement
from ..errors import ForeignError, ParameterTypeError
from ..tables.grouping import cells_by_group
from ..tables.packed import CountsByGroup, Integers, build_cell_counts
from ..tables.spark import run_partition_tasks
from ._selecting import CountedSelection, match_counted_selection

if TYPE_CHECKING:
    import pyarrow as pa

    Drawn = tuple[Integers, Any]

FEW = 10_000_000  # groups times candidates: up to this size the driver is as fast, and needs 0.8 GB
_AT_ONCE = 2**20  # counts that a worker processes at a time, 24 MiB
_CELLS = 2**22  # scores per batch of draws, 32 MiB


# proof-region: spark_groups
def task_for_workers(rows: Any, size: int, members: Sequence[Measurement], places: Sequence[int]) -> bytes | None:
    """Return the pickled task with which workers draw for the ``members`` at ``places``, or None.

    None means that the driver draws: the table is not a Spark table, ``size`` (groups times candidates) is at most
    ``FEW``, the members are not one object, or that object cannot be pickled.
    """
    if not rows.implementation.is_pyspark() or size <= FEW:
        return None  # [few]
    member = members[places[0]]
    if any(members[at] is not member for at in places):
        return None  # [one-member]
    try:
        wanted = None if len(places) == len(members) else np.asarray(places, dtype=np.int64)
        return pickle.dumps(partial(draw_for_groups, member, wanted))  # [task]
    except ParameterTypeError:
        return None


def select_in_workers(
    rows: Any, groups: Sequence[Any], most: int, kind: CountedSelection, task: bytes, places: Sequence[int]
) -> Any:
    """Return the releases of ``kind.select`` for the groups at ascending ``places``, one row per group."""
    cells = partial(cells_by_group, rows, groups, kind.items, most)
    found = [one for answer in run_partition_tasks(cells, task) for one in answer]  # [answers]
    homes = np.concatenate([np.zeros(0, dtype=np.int64), *(names for names, _ in found)])
    if len(np.unique(homes)) < len(homes):
        raise ForeignError("Spark split the counts of a group: nothing was released")  # [one-place]
    empty = np.setdiff1d(np.asarray(places, dtype=np.int64), homes)  # [empty]
    found += _draw_in_chunks(kind, empty, build_cell_counts(homes[:0], homes[:0], len(kind.items)))  # [zeros]
    order = np.argsort(np.concatenate([homes, empty]))
    return np.concatenate([releases for _, releases in found])[order]  # [places]


def draw_for_groups(member: Measurement, wanted: Integers | None, batches: Iterable[pa.RecordBatch]) -> list[Drawn]:
    """Return positions of groups, all or those ``wanted``, each with its release. Cells must be sorted by group."""
    kind = match_counted_selection(member)
    assert kind is not None
    found: list[Drawn] = []
    for cells in _whole_groups(batches):
        homes, places, counts = cells if wanted is None else cells[:, np.isin(cells[0], wanted)]  # [wanted]
        names, at = np.unique(homes, return_inverse=True)  # [groups]
        found += _draw_in_chunks(
            kind, names, build_cell_counts(at * len(kind.items) + places, counts, len(kind.items))
        )  # [each-group]
    return found


def _draw_in_chunks(kind: CountedSelection, names: Integers, table: CountsByGroup) -> Iterator[Drawn]:
    """Yield releases on the rows of ``table`` together with the positions of their groups, in batches."""
    height = max(_CELLS // table.width, 1)
    for start in range(0, len(names), height):
        here = names[start : start + height]
        scores: Any = table.dense_counts(start, start + len(here))
        yield here, kind.select.each(scores)  # [draw]


def _whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Yield the cells as arrays of three rows (group, candidate, count). If sorted by group, no group is split."""
    held, taken = [np.zeros((3, 0), dtype=np.int64)], 0
    for batch in batches:
        held.append(np.stack([column.to_numpy() for column in batch.columns]))
        taken += batch.num_rows
        if taken >= _AT_ONCE:
            cells = np.concatenate(held, axis=1)
            end = int(np.searchsorted(cells[0], cells[0][-1]))
            yield cells[:, :end]  # [cut]
            held, taken = [cells[:, end:]], 0
    yield np.concatenate(held, axis=1)  # [rest]


# end-proof-region: spark_groups
