"""How many rows have each number: the counts, and by how much users move them."""

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk

from ..concepts.specimens import Law, Specimen
from ..oracles import discrete

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = tk.FrameDomain("reader", value="age")
SPACE = DOMAIN, tk.UserDistance()


def frame(rows: Any, kind: Any = None) -> Any:
    return pl.DataFrame(rows, schema={"reader": pl.Int64, "age": kind or pl.Int64}, orient="row")


def counted(table: dict[int, tuple[int, ...]], most: int, upper: int) -> Counter[int]:
    """Of each user the numbers at the places floor((2 j + 1) n / (2 most)), brought within 0 and ``upper``."""
    found: Counter[int] = Counter()
    for numbers in table.values():
        inside = sorted(min(max(one, 0), upper) for one in numbers)
        n, m = len(inside), min(most, len(inside))
        found.update(inside[(2 * j + 1) * n // (2 * m)] for j in range(m))
    return found


@pytest.mark.further
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_counts_are_right_and_move_as_the_map_says(kind: str, most: int) -> None:
    link = tk.make_count_by_number(DOMAIN, tk.UserDistance(kind), bounds=(0, 2), max_rows=most)
    own = [n for size in range(4) for n in itertools.combinations_with_replacement((-1, 0, 2, 3), size)]
    tables = [{1: a, 2: b} for a, b in itertools.product(own, repeat=2)]
    counts = [counted(table, most, 2) for table in tables]
    for table, expected in zip(tables[::7], counts[::7], strict=True):
        rows = [(user, number) for user, numbers in table.items() for number in numbers]
        assert link(frame(rows)).tolist() == [expected[c] for c in range(3)]
    farthest = 0
    for (one, left), (other, right) in itertools.product(zip(tables, counts, strict=True), repeat=2):
        alike = one[2] == other[2] and (kind == "add_remove" or (bool(one[1]) and bool(other[1])))
        if alike and (kind == "replace" or not one[1] or not other[1]):
            farthest = max(farthest, sum(abs(left[c] - right[c]) for c in range(3)))
    assert farthest == link.map(1)
    assert link.map(3) == 3 * link.map(1)


def test_numbers_on_a_finer_grid() -> None:
    link = tk.make_count_by_number(*SPACE, bounds=(0, 1), granularity=Fraction(1, 4), max_rows=9)
    rows = [(1, 0.12), (1, 0.13), (2, 0.375), (3, 7.0), (3, float("nan"))]
    assert link(frame(rows, pl.Float64)).tolist() == [1, 1, 1, 0, 1]
    assert [link.parameters[one] for one in ("lower", "upper", "granularity")] == [0, 1, Fraction(1, 4)]
    assert len(tk.multiples((0, 1), Fraction(1, 4))) == link.output_domain.size  # type: ignore[attr-defined]


def test_the_output_space_is_declared() -> None:
    link = tk.make_count_by_number(*SPACE, bounds=(0, 5), max_rows=2)
    named = tk.VectorDomain(tk.AtomDomain(int), size=6, candidates=range(6), counts_users=False)
    assert link.output_domain.joined(named) is not None
    assert link.output_metric == tk.L1Distance()


def specimens() -> list[Specimen]:
    link = tk.make_count_by_number(*SPACE, bounds=(0, 1))

    def law(table: Any) -> Law:
        """Of the first count alone, in cells up to 20 from 0."""
        first = sum(number == 0 for _, number in table.rows())
        cells: dict[Any, Any] = {}
        for z, p in discrete.masses("laplace", Fraction(2)).items():
            cell = min(max(first + z, -20), 20)
            cells[cell] = cells.get(cell, 0) + p
        return cells

    tables = frame([(1, 0), (2, 0)]), frame([(1, 0), (2, 0), (3, 0)])
    return [
        Specimen(
            link,
            tables,
            law,
            share=0.3,
            cell=lambda measurement, value: min(max(int(measurement(value)[0]), -20), 20),
            measurement=link >> tk.then_laplace(tk.ZeroConcentratedDivergence(), scale=2),
        )
    ]
