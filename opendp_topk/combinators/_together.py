"""One release per group of a table; selections from equal candidate lists are released together.

Proof: proofs/combinators/together.tex
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.measurement import Measurement
from ..core.queryable import call_sealed
from ._selecting import CountedSelection, match_counted_selection

if TYPE_CHECKING:
    from ..tables.packed import CountsByGroup

_CELLS = 2**22  # counts per batch, 32 MiB
_LISTS = 16  # the largest number of candidate lists that are counted for all groups: each takes a pass of its own


# proof-region: together
class GroupReleasePlan(NamedTuple):
    """Plan of which members are released alone, and which together: candidate lists with the positions of members."""

    members: Sequence[Measurement]
    parts: dict[int, CountedSelection]
    lists: dict[tuple[Any, ...], list[int]]
    alone: list[int]


def plan_group_releases(members: Sequence[Measurement]) -> GroupReleasePlan:
    """Return the plan for ``members``, one per group."""
    distinct = {id(one): one for one in members}
    parts = {name: kind for name, one in distinct.items() if (kind := match_counted_selection(one)) is not None}
    places: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(members):
        if id(one) in parts:
            places.setdefault(parts[id(one)].items, []).append(at)
    lists = {items: found for items, found in places.items() if _LISTS * len(found) >= len(members)}  # [common-lists]
    listed = {at for found in lists.values() for at in found}
    return GroupReleasePlan(members, parts, lists, [at for at in range(len(members)) if at not in listed])  # [alone]


def release_by_group(rows: Any, groups: Sequence[Any], most: int, plan: GroupReleasePlan) -> tuple[Any, ...]:
    """Return the releases of the members of ``plan``, each on the rows of the users who belong to its group.

    A user belongs to the first ``most`` of ``groups`` in which the user has a row.
    """
    from ..tables.grouping import count_by_group, split_by_group
    from ._spark_groups import select_in_workers, task_for_workers

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
        releases[at] = call_sealed(plan.members[at].function, table)  # [release-each]
    for (places, task), found in zip(listed, counts, strict=True):
        if found is not None:
            _release_at_once(found, places, plan, releases)
        elif task is not None:
            kind = plan.parts[id(plan.members[places[0]])]
            _fill_releases(
                kind, select_in_workers(rows, groups, most, kind, task, places), places, releases
            )  # [workers]
    return tuple(releases)


def _release_at_once(found: CountsByGroup, places: Sequence[int], plan: GroupReleasePlan, releases: list[Any]) -> None:
    """Compute the releases at ``places`` from the counts of all groups."""
    height = max(_CELLS // found.width, 1)
    for start in range(0, len(releases), height):
        table = found.dense_counts(start, min(start + height, len(releases)))
        same: dict[int, list[int]] = {}
        for at in places[bisect_left(places, start) : bisect_left(places, start + height)]:
            same.setdefault(id(plan.members[at]), []).append(at)
        for name, here in same.items():
            kind = plan.parts[name]
            _fill_releases(kind, kind.select.each(table[np.array(here) - start]), here, releases)  # [same-member]


def _fill_releases(kind: CountedSelection, found: Any, places: Sequence[int], releases: list[Any]) -> None:
    for at, release in zip(places, found.tolist() if found.ndim == 1 else found, strict=True):  # [indices]
        releases[at] = call_sealed(kind.apply_postprocessing, release) if kind.after else release  # [each]


# end-proof-region: together
