"""Sums of clamped totals: their values, their stability on enumerated neighbours, and bad input."""

import functools
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.transformations.sum_by_item import map_only_sum
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import floats
from tests.oracles.totals import clamped_totals

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = tk.FrameDomain("buyer", "book", value="paid")
SPACE = DOMAIN, tk.UserDistance()
ITEMS = ("a", "b")
Table = dict[int, tuple[tuple[str, int], ...]]


def frame(rows: list[tuple[Any, Any, Any]], kind: Any = None, items: Any = None) -> Any:
    schema = {"buyer": pl.Int64, "book": items or pl.String, "paid": kind or pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rows_of(table: Table) -> list[tuple[int, str, int]]:
    return [(user, item, number) for user, basket in table.items() for item, number in basket]


def tables() -> list[Table]:
    """Every table of two users, each absent or with numbers for one or both items, some of them out of bounds."""
    baskets: list[Any] = [None]
    for one, other in itertools.product((None, -5, 0, 1, 9), repeat=2):
        baskets.append(tuple((item, n) for item, n in zip(ITEMS, (one, other), strict=True) if n is not None))
    baskets.append((("a", 9), ("a", -8), ("b", 1), ("b", 1)))
    chosen = itertools.product(baskets, repeat=2)
    return [{user: basket for user, basket in enumerate(pair) if basket is not None} for pair in chosen]


TABLES = tables()


@functools.cache
def distances(kind: str) -> NDArray[np.int64]:
    """By how many users each two of the tables differ; -1 where they may not be compared."""
    names = {basket: n for n, basket in enumerate(sorted({b for table in TABLES for b in table.values()}))}
    held = np.array([[names[table[user]] if user in table else -1 for user in (0, 1)] for table in TABLES])
    left, right = held[:, None, :], held[None, :, :]
    if kind == "add_remove":
        return ((left != right) & (left >= 0)).sum(axis=2) + ((left != right) & (right >= 0)).sum(axis=2)  # type: ignore[no-any-return]
    straight, crossed = (left != right).sum(axis=2), (left != right[:, :, ::-1]).sum(axis=2)
    return np.where((left >= 0).sum(axis=2) == (right >= 0).sum(axis=2), np.minimum(straight, crossed), -1)


def moved(kind: str, bounds: tuple[int, int], monotonic: bool) -> dict[int, int]:
    """How far the sums of the reference move at most, by the number of users that differ."""
    found = [clamped_totals(rows_of(table), Fraction(1), bounds) for table in TABLES]
    sums = np.array([[one.get(item, 0) for item in ITEMS] for one in found])
    change = sums[None, :, :] - sums[:, None, :]
    up, down = np.maximum(change, 0).max(axis=2), np.maximum(-change, 0).max(axis=2)
    length = up + down if monotonic else np.maximum(up, down)
    return {d: int(length[distances(kind) == d].max()) for d in (0, 1, 2)}


@pytest.mark.quick(kind="replace", monotonic=True, bounds=((-2, 5),))
@pytest.mark.parametrize("bounds", [(0, 4), (1, 4), (-2, 5), (-5, 2), (-4, 0), (-4, -1), (2, 2)])
@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_map_holds_on_all_neighbours_and_is_attained(kind: str, monotonic: bool, bounds: tuple[int, int]) -> None:
    link = tk.make_sum_by_item(DOMAIN, tk.UserDistance(kind), candidates=ITEMS, bounds=bounds, monotonic=monotonic)
    assert moved(kind, bounds, monotonic) == {d: link.map(d) for d in (0, 1, 2)}


@pytest.mark.slow
def test_the_function_gives_the_sums_that_were_enumerated() -> None:
    for bounds in ((0, 4), (-2, 5), (1, 4)):
        link = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=bounds)
        for table in TABLES[::61]:
            sums = clamped_totals(rows_of(table), Fraction(1), bounds)
            assert link(frame(rows_of(table))).tolist() == [sums.get(item, 0) for item in ITEMS]


@pytest.mark.parametrize(
    ("bounds", "granularity", "expected"),
    [
        ((0, 10), 1, (10, 10, 10, 20)),
        ((-3, 10), 1, (13, 10, 13, 26)),
        ((-3.0, 2.5), 0.5, (11, 6, 11, 22)),
        ((0, Fraction(1, 3)), Fraction(1, 100), (33, 33, 33, 66)),
        ((-1, 100), 30, (3, 3, 3, 6)),
        ((5, 7), 2, (3, 3, 3, 6)),
        ((-7, -5), 2, (3, 3, 3, 6)),
        ((0, 1), 0.1, (10, 10, 10, 20)),
        ((-0.3, 0.7), Fraction(1, 10), (10, 7, 10, 20)),
    ],
)
def test_the_map_is_in_whole_steps_within_the_bounds(bounds: Any, granularity: Any, expected: tuple[int, ...]) -> None:
    maps = []
    for kind, monotonic in itertools.product(("add_remove", "replace"), (True, False)):
        space = DOMAIN, tk.UserDistance(kind)
        link = tk.make_sum_by_item(
            *space, candidates=ITEMS, bounds=bounds, granularity=granularity, monotonic=monotonic
        )
        assert link.map(7) == 7 * link.map(1)
        maps.append(link.map(1))
    assert tuple(maps[i] for i in (0, 1, 3, 2)) == expected


def test_the_output_space_is_declared() -> None:
    link = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=(0, 50), granularity=1)
    assert link(frame([(1, "a", 20), (1, "a", 20), (2, "b", 900)])).tolist() == [40, 50]
    assert link.output_domain == tk.VectorDomain(tk.AtomDomain(int), size=2, candidates=ITEMS, counts_users=False)
    assert link.output_metric == tk.LInfDistance(monotonic=True)
    assert link.parameters["upper"] == 50
    assert tk.make_sum_by_item(DOMAIN, tk.UserDistance("replace"), candidates=[1], bounds=(0, 5)).output_metric == (
        tk.LInfDistance(monotonic=False)
    )


def test_integers_decimals_and_floats_give_the_same_sums() -> None:
    cents = {"a": [29, 57, 1001], "b": [-7, 8]}
    rows = [(n, item, n) for item, numbers in cents.items() for n in numbers]
    link = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=(-1, 100), granularity=Fraction(1, 100))
    decimals = frame([(u, i, Decimal(n).scaleb(-2)) for u, i, n in rows], pl.Decimal(18, 2))
    doubles = frame([(u, i, n / 100) for u, i, n in rows], pl.Float64)
    assert link(decimals).tolist() == link(doubles).tolist() == [29 + 57 + 1001, 1]
    whole = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=(-100, 10000))
    assert whole(frame(rows)).tolist() == [29 + 57 + 1001, 1]


@pytest.mark.slow
def test_no_order_of_floats_matters() -> None:
    rows = [(1, "a", x) for x in (1e16, 1.0, -1e16, 0.3, 0.1, 2.5, -0.7)]
    link = tk.make_sum_by_item(*SPACE, candidates=["a"], bounds=(-10, 10), granularity=0.125)
    found = {
        link(frame(list(order), pl.Float64)).item() for order in itertools.islice(itertools.permutations(rows), 60)
    }
    assert len(found) == 1


def test_sums_by_key_without_candidates() -> None:
    rows = [(1, "a", 3), (1, "b", 9), (2, "b", 1), (3, "c", 0), (None, "d", 5), (4, "e", -5)]
    link = tk.make_sum_by_item(*SPACE, candidates=None, bounds=(0, 4))
    assert link(frame(rows)) == {"a": 3, "b": 5}
    assert link.output_domain == tk.KeyedCountsDomain()
    assert link.output_metric == tk.KeyedCountDistance(None, True, each=4)
    first = tk.make_sum_by_item(*SPACE, candidates=None, bounds=(0, 4), max_items=1)
    assert first(frame(rows)) == {"a": 3, "b": 1}
    assert first.output_metric == tk.KeyedCountDistance(1, True, each=4)
    numbers = tk.make_sum_by_item(*SPACE, candidates=None, bounds=(1, 4))
    assert numbers(frame([(1, 7, 3), (2, -7, 0)], items=pl.Int64)) == {7: 3, -7: 1}


@pytest.mark.parametrize(("kind", "monotonic"), list(itertools.product(("add_remove", "replace"), (True, False))))
def test_sums_by_key_move_by_steps_of_users(kind: str, monotonic: bool) -> None:
    """A step raises at most max_items sums by at most the upper bound: what one user adds is one."""
    space = DOMAIN, tk.UserDistance(kind)
    link = tk.make_sum_by_item(*space, candidates=None, bounds=(0, 4), max_items=1, monotonic=monotonic)
    ups, downs = {1: (4, 0), 2: (8, 0)}, {1: (4, 4), 2: (8, 8)}
    needed = downs if kind == "replace" else ups
    metric = link.output_metric
    for d, (up, down) in needed.items():
        assert link.map(d) == (2 * d if monotonic and kind == "replace" else d)
        assert metric.moved_one_way(link.map(d), 99) >= d, "as many keys as users may come"
        assert metric.range_distance(link.map(d)) >= up + down
        assert metric.rise(link.map(d)) >= max(up, down)


@pytest.mark.further
def test_sums_of_few_items_move_no_further_than_their_metric_says() -> None:
    """Users with totals of up to three items, of which the first two of the candidates count."""
    for kind, monotonic in itertools.product(("add_remove", "replace"), (True, False)):
        options = {"candidates": ["a", "c", "d"], "bounds": (-2, 5), "max_items": 1, "monotonic": monotonic}
        few = tk.make_sum_by_item(SPACE[0], tk.UserDistance(kind), **options)
        changes = 2 if (kind, monotonic) == ("replace", False) else 1
        assert few.output_metric == tk.L01InfDistance(changes=changes, monotonic=monotonic)
        users = [[("b", 9), ("c", 3), ("d", 4)], [("d", -7)], [("a", 5), ("d", 5)], []]
        found = [few(frame([(1, *row) for row in user])) for user in users]
        assert [sums.tolist() for sums in found] == [[0, 3, 0], [0, 0, -2], [5, 0, 0], [0, 0, 0]]
        for one, other in itertools.product(found, repeat=2):
            moved = one - other if kind == "replace" else one
            most = few.map(1)
            assert max(abs(moved)) <= most
            assert sum(abs(moved)) <= changes * most


def test_the_largest_bounds_are_allowed() -> None:
    link = tk.make_sum_by_item(*SPACE, candidates=["a"], bounds=(-(2**31), 2**31))
    assert link.map(1) == 2**32
    assert link(frame([(1, "a", 2**40), (2, "a", 2**40)])).tolist() == [2**32]


def test_items_of_another_kind_than_the_candidates() -> None:
    link = tk.make_sum_by_item(*SPACE, candidates=[1, 2], bounds=(0, 5))
    raises_exactly(tk.errors.DataTypeError, lambda: link(frame([(1, SENTINEL_TEXT, SENTINEL_INT)])), "'book'")
    other = tk.make_sum_by_item(*SPACE, candidates=["1"], bounds=(0, 5))
    raises_exactly(tk.errors.DataTypeError, lambda: other(frame([(1, SENTINEL_INT, 1)], items=pl.Int64)), "'book'")


def test_a_sum_without_names_has_the_map_and_reads_no_table() -> None:
    nameless = map_only_sum(*SPACE, n_candidates=10**9, bounds=(0, 7), granularity=1)
    assert nameless.map(3) == 21
    assert nameless.output_domain == tk.VectorDomain(tk.AtomDomain(int), size=10**9, counts_users=False)
    raises_exactly(tk.errors.ParameterError, lambda: nameless(frame([(1, "a", 1)])), "no candidates")


def specimens() -> list[Specimen]:
    link = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=(0, 2))
    chooser = tk.then_exponential_mechanism(tk.RangeDivergence(), scale=2)

    def law(table: Any) -> Any:
        sums = clamped_totals(table.rows(), Fraction(1), (0, 2))
        scores = np.array([[sums.get(item, 0) for item in ITEMS]], dtype=float)
        return dict(enumerate(floats.softmax(scores / 2)[0].tolist()))

    tables = frame([(1, "a", 1), (2, "b", 9)]), frame([(1, "a", 1)])
    return [Specimen(link, tables, law, measurement=link >> chooser)]


def test_a_user_with_huge_numbers_has_the_largest_total() -> None:
    """Four of them added up as they are would be 0 modulo 2^64."""
    summed = tk.make_sum_by_item(*SPACE, candidates=ITEMS, bounds=(0, 10))
    assert summed(frame([(1, "a", 1e300)] * 4, pl.Float64)).tolist() == [10, 0]
