"""Users and rows with other items: the count on every back end, its stability, and bad input."""

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly
from tests.concepts.specimens import Law, Specimen
from tests.oracles.discrete import masses
from tests.tables.test_frames import BACK_ENDS
from tests.transformations.test_count_by_item import add_remove_distance, frame, replace_distance

SPACE = tk.FrameDomain("member", "work"), tk.UserDistance()


def reference(rows: list[tuple[Any, Any]], items: list[Any], most: int) -> int:
    own = Counter(user for user, item in rows if user is not None and item is not None and item not in items)
    return sum(min(most, n) for n in own.values())


@pytest.mark.quick(make=("polars_frame", "pyarrow_table"), integers=True)
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[..., Any], integers: bool) -> None:
    names: list[Any] = [1, 2, 3, 4] if integers else ["a", "b", "Z", "é"]
    users, items = [names[at % 3] for at in range(24)], [names[at % 4] for at in range(24)]
    columns = {"member": [*users, None, names[0]], "work": [*items, names[0], None], "seen": [*users, None, names[0]]}
    rows = list(zip(columns["member"], columns["work"], strict=True))
    table = make(columns, integers)
    for listed, most in itertools.product(([], names[:1], names[1:], names), (1, 2, 100)):
        count = tk.make_count_outside(*SPACE, items=listed, max_rows=most)
        found = count(table)
        assert found.dtype == np.int64
        assert found.tolist() == [reference(rows, listed, most)]


@pytest.mark.further
@pytest.mark.quick(kind="add_remove", most=2)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_map_holds_on_all_neighbours_and_is_attained(kind: str, most: int) -> None:
    baskets = [None, *(basket for n in range(4) for basket in itertools.product("ab", repeat=n))]
    chosen = itertools.product(baskets, repeat=2)
    tables = [{user: basket for user, basket in enumerate(pair) if basket is not None} for pair in chosen]
    counted = [(table, reference([(u, i) for u, b in table.items() for i in b], ["a"], most)) for table in tables]
    count = tk.make_count_outside(SPACE[0], tk.UserDistance(kind), items=["a"], max_rows=most)
    worst: dict[int, int] = {}
    for (left, before), (right, after) in itertools.product(counted, repeat=2):
        d = add_remove_distance(left, right) if kind == "add_remove" else replace_distance(left, right)
        if d is not None:
            worst[d] = max(worst.get(d, 0), abs(after - before))
    assert all(worst[d] <= count.map(d) for d in worst)
    assert worst[1] == count.map(1)


def test_the_metric_is_that_of_the_noise() -> None:
    assert tk.make_count_outside(*SPACE, items=["a"], max_rows=3).output_metric == tk.L1Distance()
    other = tk.make_count_outside(*SPACE, items=[], output_metric=tk.L2Distance())
    assert (other >> tk.then_gaussian(tk.ZeroConcentratedDivergence(), scale=1.0)).map(1) == 0.5


def test_items_of_another_kind_than_the_column() -> None:
    count = tk.make_count_outside(*SPACE, items=[1])
    raises_exactly(tk.errors.DataTypeError, lambda: count(frame([(1, SENTINEL_TEXT)])), "'work'")


def specimens() -> list[Specimen]:
    link = tk.make_count_outside(*SPACE, items=["a"])

    def law(table: Any) -> Law:
        count = reference(table.rows(), ["a"], 1)
        with mpmath.workdps(45):
            above = mpmath.fsum(p for z, p in masses("laplace", Fraction(1, 2)).items() if count + z >= 1)
            return {True: above, False: 1 - above}

    def cell(measurement: Any, table: Any) -> bool:
        return int(measurement(table)[0]) >= 1

    tables = frame([(1, "b"), (2, "a")]), frame([(2, "a")])
    noisy = link >> tk.then_laplace(tk.MaxDivergence(), scale=0.5)
    return [Specimen(link, tables, law, cell=cell, measurement=noisy)]
