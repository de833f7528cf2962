"""A layered layout: which column and which row each node of a graph has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Edges = Mapping[str, Sequence[str]]
_SWEEPS = 12  # after about as many the order of the columns changes no more


def columns(edges: Edges) -> list[list[str]]:
    """The nodes in columns, so that edges lead to the right wherever they are not part of a circle.

    The last column holds what rests on nothing. Within a column, nodes are near those that they are joined to.
    """
    order = _without_circles(edges)
    depth: dict[str, int] = {}
    for name in reversed(_sorted(order)):
        depth[name] = 1 + max((depth[below] for below in order[name]), default=-1)
    last = max(depth.values(), default=-1)
    made = [sorted(name for name in depth if depth[name] == last - at) for at in range(last + 1)]
    near: dict[str, list[str]] = {name: [*order[name]] for name in order}
    for name, targets in order.items():
        for target in targets:
            near[target].append(name)
    for sweep in range(_SWEEPS):
        place = {name: (at + 0.5) / len(column) for column in made for at, name in enumerate(column)}
        for column in made if sweep % 2 else made[::-1]:
            middle = {
                name: sum(place[one] for one in near[name]) / len(near[name]) if near[name] else place[name]
                for name in column
            }
            column.sort(key=lambda name: (middle[name], name))
            place |= {name: (at + 0.5) / len(column) for at, name in enumerate(column)}
    return made


def _without_circles(edges: Edges) -> dict[str, list[str]]:
    """The edges, less those that close a circle in a depth-first walk in alphabetical order."""
    kept: dict[str, list[str]] = {name: [] for name in sorted(edges)}
    done: set[str] = set()
    for root in kept:
        path: list[tuple[str, list[str]]] = []
        if root not in done:
            path.append((root, sorted(set(edges[root]) & kept.keys())))
        active = {root}
        while path:
            name, waiting = path[-1]
            if not waiting:
                path.pop()
                active.discard(name)
                done.add(name)
                continue
            target = waiting.pop(0)
            if target in active:
                continue
            kept[name].append(target)
            if target not in done:
                active.add(target)
                path.append((target, sorted(set(edges[target]) & kept.keys())))
    return kept


def _sorted(edges: Edges) -> list[str]:
    """Every node before those to which it leads; the edges have no circle."""
    waiting = dict.fromkeys(edges, 0)
    for targets in edges.values():
        for target in targets:
            waiting[target] += 1
    free, found = [name for name, count in waiting.items() if not count], []
    while free:
        found.append(name := free.pop(0))
        for target in edges[name]:
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    return found
