"""Classes of k-subsets against a list of all of them."""

from __future__ import annotations

import itertools
import operator
from collections import Counter

from opendp_topk.samplers import ceilings, subsets
from opendp_topk.samplers.subsets import Cell
from tests.mutation.bits import Streams
from tests.mutation.oracles import expect, expect_law

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
    for limits in ((2, 4), (1, 2, 5), (3, 3, 4), (2, 5, 5)):
        _under(limits)


def _under(limits: tuple[int, ...]) -> None:
    """Rankings whose i-th rank, and sets whose i-th best rank, is at most the i-th limit."""
    ranks = range(max(limits))
    rankings = [one for one in itertools.permutations(ranks, len(limits)) if all(map(operator.lt, one, limits))]
    sets = [one for one in itertools.combinations(ranks, len(limits)) if all(map(operator.lt, one, limits))]
    for ordered, listed in ((True, rankings), (False, sets)):
        expect(ceilings.count(limits, ordered) == len(listed), f"the count under {limits} is not that of a list")
        entropy = Streams(f"under/{limits}/{ordered}")
        drawn = Counter(tuple(ceilings.draw(limits, ordered, entropy).tolist()) for _ in range(20 * len(listed)))
        expect_law(f"outputs under {limits}", drawn, dict.fromkeys(listed, 1 / len(listed)))


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
