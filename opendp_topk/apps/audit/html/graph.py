"""Graphs of the foundations of a proof."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ....markup.elements import Markup, el
from .page import ProofDocument

# A layered layout: the column and row of each node of a graph.

Edges = Mapping[str, Sequence[str]]
_SWEEPS = 12  # after about as many the order of the columns is stable


def layout_columns(edges: Edges) -> list[list[str]]:
    """Return the nodes in columns, so that edges lead to the right unless they are part of a cycle.

    The last column contains the nodes without outgoing edges. Within a column, nodes are near their neighbours.
    """
    order = _remove_cycles(edges)
    depth: dict[str, int] = {}
    for name in reversed(_topological_order(order)):
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


def _remove_cycles(edges: Edges) -> dict[str, list[str]]:
    """Return the edges without those that close a cycle in a depth-first walk in alphabetical order."""
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


def _topological_order(edges: Edges) -> list[str]:
    """Return the nodes in topological order; the edges have no cycle."""
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


# The graph of documents and statements as inline SVG with links.

# In pixels: the heights of a row and of a title, the width of a letter, the gaps between boxes, and an edge.
_ROW, _HEAD, _CHARACTER, _ACROSS, _DOWN, _EDGE = 17, 24, 7.4, 90, 14, 12


def draw_graph(
    documents: dict[str, ProofDocument], shown: Collection[str], address: Callable[[str, str], str], root: str = ""
) -> Markup:
    """Return each document as a box with those of its statements that others in the graph rely on.

    Args:
        documents: All documents.
        shown: The names of the documents to draw.
        address: Document and label (may be empty) -> the address of its page.
        root: The document to emphasise. Default: none.
    """
    names = sorted(name for name in shown if name in documents)
    joined = {name: [one for one in documents[name].relies_on if one.target in names] for name in names}
    rows: dict[str, list[str]] = {
        name: sorted({one.label for ones in joined.values() for one in ones if one.target == name and one.label})
        for name in names
    }
    boxes, edges = [], []
    spots, width, height = _box_positions(
        layout_columns({name: [one.target for one in joined[name]] for name in names}), rows
    )
    for name in names:
        x, y, wide = spots[name]
        boxes.append(_draw_box(documents[name], rows[name], x, y, wide, address, name == root))
        for one in joined[name]:
            to_x, to_y, to_wide = spots[one.target]
            drop = _HEAD / 2 + (_ROW * (1 + rows[one.target].index(one.label)) if one.label else 0)
            backwards = to_x <= x
            end = (to_x + (to_wide if backwards else 0), to_y + drop)
            start = (x + wide, y + _HEAD / 2)
            bend = max(40.0, abs(end[0] - start[0]) / 2)
            edges.append(
                el(
                    "path",
                    d=f"M{start[0]:.0f},{start[1]:.0f} C{start[0] + bend:.0f},{start[1]:.0f} "
                    f"{end[0] + (bend if backwards else -bend):.0f},{end[1]:.0f} {end[0]:.0f},{end[1]:.0f}",
                    class_="edge" if one.is_current else "edge stale",
                    data_from=name,
                    data_to=one.target,
                )
            )
    label = f"The documents on which {root} relies" if root else "All documents, and the statements that connect them"
    drawn = el(
        "svg",
        el("g", *edges, aria_hidden="true"),
        *boxes,
        width=round(width),
        height=round(height),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="group",
        aria_label=f"{label}: {len(names)} documents, {len(edges)} dependencies; the table lists them",
        class_="graph",
    )
    return el("div", drawn, class_="scroll canvas", tabindex="0", role="region", aria_label=label)


def _box_positions(
    placed: list[list[str]], rows: dict[str, list[str]]
) -> tuple[dict[str, tuple[float, float, float]], float, float]:
    """Return the upper left corner and the width of each box, and the size of the whole."""
    tall = {name: _HEAD + _ROW * len(labels) for name, labels in rows.items()}
    total = [sum(tall[name] + _DOWN for name in column) - _DOWN for column in placed]
    height = max(total, default=0)
    spots, x = {}, float(_EDGE)
    for column, own in zip(placed, total, strict=True):
        wide = max(_CHARACTER * max(len(text) for name in column for text in (name, "  ", *rows[name])) + 20, 80)
        y = _EDGE + (height - own) / 2
        for name in column:
            spots[name] = x, y, wide
            y += tall[name] + _DOWN
        x += wide + _ACROSS
    return spots, x - _ACROSS + _EDGE, height + 2 * _EDGE


def _draw_box(
    document: ProofDocument,
    labels: list[str],
    x: float,
    y: float,
    wide: float,
    address: Callable[[str, str], str],
    is_root: bool,
) -> Markup:
    size = {"x": round(x), "y": round(y), "width": round(wide), "rx": 4}
    head = el(
        "a",
        el("title", f"{document.title} ({document.status})"),
        el("rect", **size, height=_HEAD + _ROW * len(labels), class_="box"),
        el("text", document.name, x=round(x) + 10, y=round(y) + 16, class_="name"),
        href=address(document.name, ""),
    )
    stated = [
        el(
            "a",
            el("text", label, x=round(x) + 18, y=round(y) + _HEAD + _ROW * at + 11, class_="label"),
            href=address(document.name, label),
        )
        for at, label in enumerate(labels)
    ]
    kind = f"node {document.status}" + (" root" if is_root else "")
    return el("g", head, *stated, class_=kind, data_name=document.name)
