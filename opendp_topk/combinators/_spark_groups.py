"""Selections for the groups of a Spark frame, drawn by the workers that hold the counts.

The counts of many groups and candidates are more than a driver should hold. Then each worker draws for the groups of
which it has the counts, and what comes to the driver is the winners' places alone.

Proof: proofs/combinators/together.tex
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.measurement import Measurement
from ..errors import ForeignError, PickleError
from ..tables.grouping import cells_by_group
from ..tables.packed import CountsByGroup, Integers, build_cell_counts
from ..tables.spark import run_partition_tasks
from ._selecting import CountedSelection, match_counted_selection

if TYPE_CHECKING:
    import pyarrow as pa

    Drawn = tuple[Integers, Any]

FEW = 10_000_000  # groups times candidates: up to there the driver takes as long, and 0.8 GB
_AT_ONCE = 2**20  # counts that a worker takes at a time, 24 MiB
_CELLS = 2**22  # scores that are drawn for at a time, 32 MiB


# proof-region: spark_groups
def task_for_workers(rows: Any, size: int, members: Sequence[Measurement], places: Sequence[int]) -> bytes | None:
    """What workers need to draw for the ``members`` at these places, from so many counts.

    None if the driver should draw: where the counts are few or not of Spark, and where the members are several objects
    or one that cannot be sent.
    """
    if not rows.implementation.is_pyspark() or size <= FEW:
        return None  # [few]
    member = members[places[0]]
    if any(members[at] is not member for at in places):
        return None  # [one-member]
    try:
        wanted = None if len(places) == len(members) else np.asarray(places, dtype=np.int64)
        return pickle.dumps(partial(draw_for_groups, member, wanted))  # [task]
    except PickleError:
        return None


def select_in_workers(
    rows: Any, groups: Sequence[Any], most: int, kind: CountedSelection, task: bytes, places: Sequence[int]
) -> Any:
    """The release of ``kind.select`` for the group at each of ``places``, an array with a row each.

    Args:
        rows: What ``identifier_columns`` returned for the roles user, item and group; a frame of Spark.
        groups: As for ``split_by_group``.
        most: As there.
        kind: The parts of the member.
        task: What ``task_for_workers`` returned.
        places: Ascending places in ``groups``.

    Raises:
        ForeignError: Spark failed, lost a partition, or tore a group apart. Nothing was released.
    """
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
    """Places of groups, all or those ``wanted``, and a release for each, from cells in the order of groups."""
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
    """The releases on the rows of ``table``, with the names of these, some at a time."""
    height = max(_CELLS // table.width, 1)
    for start in range(0, len(names), height):
        here = names[start : start + height]
        scores: Any = table.dense_counts(start, start + len(here))
        yield here, kind.select.each(scores)  # [draw]


def _whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """The cells, an array of three rows at a time, which ends where a group does if groups come one after the other."""
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
