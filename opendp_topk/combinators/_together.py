"""Measurements of the groups of one table, made together, on Spark by its workers."""

from __future__ import annotations

import pickle
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.measurement import Measurement
from ..core.queryable import sealed
from ..core.repeatable import Composed, Repeatable
from ..errors import ForeignError, PickleError
from ..tables.grouping import cells_by_group
from ..tables.packed import CountsByGroup, Integers, counted
from ..tables.spark import answers
from ..transformations.count_by_item import DistinctUsers

# What a measurement does that counts the users of listed items and selects some of them.
#
# Proof: proofs/combinators/together.tex


class Selecting(NamedTuple):
    """A measurement that counts the distinct users of ``items``, selects, and hands the release to ``after``."""

    items: tuple[Any, ...]
    select: Repeatable
    after: tuple[Callable[[Any], Any], ...]

    def finished(self, release: Any) -> Any:
        """What becomes of one release."""
        for step in self.after:
            release = step(release)
        return release


# proof-region: selecting
def selecting(member: Measurement) -> Selecting | None:
    """The parts of a measurement that counts listed items and selects from them; None of any other."""
    steps = _steps(member.function)
    if len(steps) < 2 or not isinstance(steps[0], DistinctUsers) or not isinstance(steps[1], Repeatable):
        return None
    return Selecting(tuple(steps[0].items), steps[1], tuple(steps[2:]))  # [steps]


def _steps(function: Any) -> list[Any]:
    """The functions that are applied one after the other."""
    if isinstance(function, Composed):
        return [*_steps(function.first), *_steps(function.then)]
    return _steps(function.function) if isinstance(function, Measurement) else [function]  # [flat]


# end-proof-region: selecting


# Selections for the groups of a Spark frame, drawn by the workers that hold the counts.
#
# The counts of many groups and candidates are more than a driver should hold. Then each worker draws for the groups of
# which it has the counts, and what comes to the driver is the winners' places alone.
#
# Proof: proofs/combinators/together.tex

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
        return pickle.dumps(partial(drawn, member, wanted))  # [task]
    except PickleError:
        return None


def select_in_workers(
    rows: Any, groups: Sequence[Any], most: int, kind: Selecting, task: bytes, places: Sequence[int]
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
    found = [one for answer in answers(cells, task) for one in answer]  # [answers]
    homes = np.concatenate([np.zeros(0, dtype=np.int64), *(names for names, _ in found)])
    if len(np.unique(homes)) < len(homes):
        raise ForeignError("Spark split the counts of a group: nothing was released")  # [one-place]
    empty = np.setdiff1d(np.asarray(places, dtype=np.int64), homes)  # [empty]
    found += _each(kind, empty, counted(homes[:0], homes[:0], len(kind.items)))  # [zeros]
    order = np.argsort(np.concatenate([homes, empty]))
    return np.concatenate([releases for _, releases in found])[order]  # [places]


def drawn(member: Measurement, wanted: Integers | None, batches: Iterable[pa.RecordBatch]) -> list[Drawn]:
    """Places of groups, all or those ``wanted``, and a release for each, from cells in the order of groups."""
    kind = selecting(member)
    assert kind is not None
    found: list[Drawn] = []
    for cells in _whole_groups(batches):
        homes, places, counts = cells if wanted is None else cells[:, np.isin(cells[0], wanted)]  # [wanted]
        names, at = np.unique(homes, return_inverse=True)  # [groups]
        found += _each(kind, names, counted(at * len(kind.items) + places, counts, len(kind.items)))  # [each-group]
    return found


def _each(kind: Selecting, names: Integers, table: CountsByGroup) -> Iterator[Drawn]:
    """The releases on the rows of ``table``, with the names of these, some at a time."""
    height = max(_CELLS // table.width, 1)
    for start in range(0, len(names), height):
        here = names[start : start + height]
        scores: Any = table.rows(start, start + len(here))
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


# One release for each group of a table, those of selections from equal lists of candidates all at once.
#
# Proof: proofs/combinators/together.tex

_LISTS = 16  # lists of candidates at most are counted at once, since each of them takes a pass of its own


# proof-region: together
class Plan(NamedTuple):
    """Which members are released alone, and which at once: lists of candidates, and the places of those who select."""

    members: Sequence[Measurement]
    parts: dict[int, Selecting]
    lists: dict[tuple[Any, ...], list[int]]
    alone: list[int]


def planned(members: Sequence[Measurement]) -> Plan:
    """The plan for ``members``, one a group."""
    distinct = {id(one): one for one in members}
    parts = {name: kind for name, one in distinct.items() if (kind := selecting(one)) is not None}
    places: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(members):
        if id(one) in parts:
            places.setdefault(parts[id(one)].items, []).append(at)
    lists = {items: found for items, found in places.items() if _LISTS * len(found) >= len(members)}  # [common-lists]
    listed = {at for found in lists.values() for at in found}
    return Plan(members, parts, lists, [at for at in range(len(members)) if at not in listed])  # [alone]


def release_by_group(rows: Any, groups: Sequence[Any], most: int, plan: Plan) -> tuple[Any, ...]:
    """The releases of the members of ``plan``, each on the rows of the users who belong to the group in its place.

    A user belongs to the first ``most`` of ``groups`` in which the user has a row.
    """
    from ..tables.grouping import count_by_group, split_by_group

    releases: list[Any] = [None] * len(plan.members)
    listed = [
        (places, task_for_workers(rows, len(groups) * len(items), plan.members, places))
        for items, places in plan.lists.items()
    ]
    tables = split_by_group(rows, groups, most, plan.alone) if plan.alone else []
    counts = [
        count_by_group(rows, groups, items, most) if task is None else None
        for items, (_, task) in zip(plan.lists, listed, strict=True)
    ]  # [counts]
    for at, table in zip(plan.alone, tables, strict=True):
        releases[at] = sealed(plan.members[at].function, table)  # [release-each]
    for (places, task), found in zip(listed, counts, strict=True):
        if found is not None:
            _release_at_once(found, places, plan, releases)
        elif task is not None:
            kind = plan.parts[id(plan.members[places[0]])]
            _fill(kind, select_in_workers(rows, groups, most, kind, task, places), places, releases)  # [workers]
    return tuple(releases)


def _release_at_once(found: CountsByGroup, places: Sequence[int], plan: Plan, releases: list[Any]) -> None:
    """Fill in the releases at ``places``, from the counts of all groups."""
    height = max(_CELLS // found.width, 1)
    for start in range(0, len(releases), height):
        table = found.rows(start, min(start + height, len(releases)))
        same: dict[int, list[int]] = {}
        for at in places[bisect_left(places, start) : bisect_left(places, start + height)]:
            same.setdefault(id(plan.members[at]), []).append(at)
        for name, here in same.items():
            kind = plan.parts[name]
            _fill(kind, kind.select.each(table[np.array(here) - start]), here, releases)  # [same-member]


def _fill(kind: Selecting, found: Any, places: Sequence[int], releases: list[Any]) -> None:
    for at, release in zip(places, found.tolist() if found.ndim == 1 else found, strict=True):  # [indices]
        releases[at] = sealed(kind.finished, release) if kind.after else release  # [each]


# end-proof-region: together
