"""Classes of k-subsets against a list of all of them."""

from __future__ import annotations

import itertools
from collections import Counter

from ....samplers import subsets
from ....samplers.subsets import Cell
from ..bits import Streams
from ..oracles import expect, expect_law

_SIZES = ((4, 1), (5, 2), (6, 3), (7, 4), (6, 5))


def check() -> None:
    """Counts of cells are those of a list, and members of a cell are drawn uniformly."""
    for d, k in _SIZES:
        listed = [(_class(subset, k), subset) for subset in itertools.combinations(range(1, d + 1), k)]
        listed = [(one, subset) for one, subset in listed if one != (k, k)]
        for cell in _cells(d, k):
            inside = sum(_in(cell, one) for one, _ in listed)
            expect(subsets.size(k, cell) == inside, f"d = {d}, k = {k}: the count of {cell} is not that of a list")
        _uniform(k, Cell(0, k - 1, k + 1, d), listed)


def _class(subset: tuple[int, ...], k: int) -> tuple[int, int]:
    """How many of the best are in it, and its lowest rank; (k, k) for the k best."""
    best = next((h for h, rank in enumerate(subset) if rank != h + 1), k)
    return best, subset[-1]


def _cells(d: int, k: int) -> list[Cell]:
    edges = itertools.product(range(k), range(k), range(k + 1, d + 1), range(k + 1, d + 1))
    return [Cell(a, b, c, e) for a, b, c, e in edges if a <= b and c <= e]


def _in(cell: Cell, one: tuple[int, int]) -> bool:
    return cell.first_h <= one[0] <= cell.last_h and cell.first_t <= one[1] <= cell.last_t


def _uniform(k: int, cell: Cell, listed: list[tuple[tuple[int, int], tuple[int, ...]]]) -> None:
    entropy = Streams(f"classes/{k}/{cell}")
    drawn: Counter[tuple[int, ...]] = Counter()
    for _ in range(20 * len(listed)):
        h, t = subsets.draw_class(k, cell, entropy)
        chosen = tuple((subsets.members(k, h, t, entropy) + 1).tolist())
        expect(_class(chosen, k) == (h, t), f"k = {k}: a subset drawn from one class belongs to another")
        drawn[chosen] += 1
    if len(listed) > 1:
        expect_law(f"subsets of {k}", drawn, {subset: 1 / len(listed) for _, subset in listed})
