"""Counting distinct users: the count, its stability on enumerated neighbours, and bad input."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.combinators._selecting import match_counted_selection
from opendp_topk.core.binary_search import binary_search_chain
from opendp_topk.core.measurement import Measurement
from opendp_topk.errors import DataError, DataTypeError, ParameterError, TableError
from opendp_topk.measurements.report_noisy_top_k import then_report_noisy_top_k
from opendp_topk.measurements.select_then_count import then_select_then_count
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, VectorDomain
from opendp_topk.spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from opendp_topk.spaces.measures import MaxDivergence, Measure, ZeroConcentratedDivergence
from opendp_topk.spaces.metrics import L01InfDistance, LInfDistance, UserDistance
from opendp_topk.transformations.count_by_item import make_count_by_item, then_count_by_item
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.measurements.test_select_then_count import joint_loss
from tests.oracles.counts import distinct_users

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

SPACE = FrameDomain("member", "work"), UserDistance()
ITEMS = ("a", "b", "c")
Baskets = tuple[tuple[str | None, ...], ...]


def frame(rows: list[tuple[Any, Any]], kind: Any = None) -> Any:
    columns = {"member": [row[0] for row in rows], "work": [row[1] for row in rows]}
    return pl.DataFrame(columns, schema={"member": pl.Int64, "work": kind or pl.String})


def test_counts_distinct_users_of_each_candidate() -> None:
    rows = [(1, "a"), (1, "a"), (2, "a"), (2, "b"), (None, "b"), (3, None), (3, "other")]
    scores = make_count_by_item(*SPACE, candidates=["b", "never", "a"])(frame(rows))
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == np.int64
    assert scores.tolist() == [1, 0, 2]


def test_integers_of_any_integer_type_are_candidates() -> None:
    table = frame([(1, 7), (2, 7), (2, 9)], pl.Int64)
    for candidates in ([9, 7], np.array([9, 7]), (np.uint8(9), np.int64(7)), iter([9, 7]), pl.Series([9, 7])):
        assert make_count_by_item(*SPACE, candidates=candidates)(table).tolist() == [1, 2]


def test_the_least_and_the_greatest_integers_are_candidates() -> None:
    count = make_count_by_item(*SPACE, candidates=[2**64 - 1, -(2**63), 7])
    assert count(frame([(1, -(2**63)), (2, 7), (3, 7)], pl.Int64)).tolist() == [0, 1, 2]


def test_the_output_space_is_declared() -> None:
    for monotonic in (True, False):
        count = make_count_by_item(*SPACE, candidates=["a", "b"], monotonic=monotonic)
        assert count.output_domain == VectorDomain(AtomDomain(int), size=2, candidates=("a", "b"), counts_users=True)
        assert count.output_metric == LInfDistance(monotonic=monotonic)
        assert (count.input_domain, count.input_metric) == SPACE
        assert count.output_domain.member(count(frame([])))
    assert make_count_by_item(*SPACE, candidates=["a"]).output_metric == LInfDistance(monotonic=True)


def test_parameters_tell_how_many_candidates_but_not_which() -> None:
    count = make_count_by_item(*SPACE, candidates=["a", SENTINEL_TEXT])
    given = {"user": "member", "item": "work", "candidates": 2, "monotonic": True}
    assert count.parameters == {"transformation": "count_by_item"} | given
    assert SENTINEL_TEXT not in repr(count)
    assert count.proof.name == "transformations/count_by_item"


def all_baskets(size: int) -> list[tuple[str | None, ...]]:
    return [basket for n in range(size + 1) for basket in itertools.combinations(ITEMS, n)]


def path_distance(left: Sequence[int], right: Sequence[int]) -> int:
    """The greatest rise plus the greatest fall of any count."""
    up = max(0, *(b - a for a, b in zip(left, right, strict=True)))
    down = max(0, *(a - b for a, b in zip(left, right, strict=True)))
    return up + down


def largest_change(left: Sequence[int], right: Sequence[int]) -> int:
    return max(abs(a - b) for a, b in zip(left, right, strict=True))


def tables(users: int) -> list[dict[int, tuple[str | None, ...]]]:
    """Every table of at most ``users`` users, each of whom is absent or has any set of the three items."""
    choices = [None, *all_baskets(len(ITEMS))]
    found = []
    for chosen in itertools.product(choices, repeat=users):
        found.append({user: basket for user, basket in enumerate(chosen) if basket is not None})
    return found


def scores(table: dict[int, tuple[str | None, ...]]) -> list[int]:
    return distinct_users([(user, item) for user, basket in table.items() for item in basket], ITEMS)


def add_remove_distance(left: dict[int, Any], right: dict[int, Any]) -> int:
    """One removal for each user of the left with other rows on the right, one addition for the other way round."""
    gone = sum(1 for user in left if left[user] != right.get(user))
    come = sum(1 for user in right if right[user] != left.get(user))
    return gone + come


def replace_distance(left: dict[int, Any], right: dict[int, Any]) -> int | None:
    """The number of users whose rows differ, where both tables have the same number of users."""
    if len(left) != len(right):
        return None
    pairs = itertools.permutations(right.values())
    return min(sum(a != b for a, b in zip(left.values(), order, strict=True)) for order in pairs)


def neighbours(kind: str) -> Iterator[tuple[int, list[int], list[int]]]:
    measured = [(table, scores(table)) for table in tables(2)]
    for (left, before), (right, after) in itertools.product(measured, repeat=2):
        distance = add_remove_distance(left, right) if kind == "add_remove" else replace_distance(left, right)
        if distance is not None:
            yield distance, before, after


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_map_holds_on_all_neighbours_and_is_attained(kind: str, monotonic: bool) -> None:
    count = make_count_by_item(SPACE[0], UserDistance(kind), candidates=ITEMS, monotonic=monotonic)
    moved = path_distance if monotonic else largest_change
    worst: dict[int, int] = {}
    for distance, before, after in neighbours(kind):
        worst[distance] = max(worst.get(distance, 0), moved(before, after))
    assert all(worst[d] <= count.map(d) for d in worst)
    attained = [d for d in worst if worst[d] == count.map(d)]
    assert attained == sorted(worst) if monotonic or kind == "replace" else {0, 1, 2} <= set(attained)


def test_the_function_gives_the_counts_that_were_enumerated() -> None:
    count = make_count_by_item(*SPACE, candidates=ITEMS)
    for table in tables(2)[::7]:
        rows = [(user, item) for user, basket in table.items() for item in (*basket, *basket, None)]
        assert count(frame(rows)).tolist() == scores(table)


@pytest.mark.parametrize(
    ("kind", "monotonic", "factor"),
    [
        ("add_remove", True, 1),
        ("add_remove", False, 1),
        ("replace", True, 2),
        ("replace", False, 1),
        ("add_remove", None, 1),
        ("replace", None, 1),
    ],
)
def test_the_map_is_linear_in_users(kind: str, monotonic: bool | None, factor: int) -> None:
    count = make_count_by_item(SPACE[0], UserDistance(kind), candidates=ITEMS, monotonic=monotonic)
    for d_in in (0, 1, 2, 3, 10**30):
        assert count.map(d_in) == factor * d_in
        assert isinstance(count.map(d_in), int)
        assert count.check(d_in, factor * d_in)
        assert d_in == 0 or not count.check(d_in, factor * d_in - 1)


@pytest.mark.further
@pytest.mark.quick(kind="add_remove", max_items=2)
@pytest.mark.parametrize("max_items", [None, 1, 2])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_counts_by_key_move_by_steps_of_users(kind: str, max_items: int | None) -> None:
    """On all pairs of tables of two users as many counts rise, or fall, and so far apart, as d steps allow."""
    count = make_count_by_item(SPACE[0], UserDistance(kind), candidates=None, max_items=max_items)
    assert count.output_domain == KeyedCountsDomain()
    assert count.output_metric == KeyedCountDistance(max_items, monotonic=kind == "add_remove")
    found = [(table, count(frame(rows_of_users(table)))) for table in tables(2)]
    worst = dict.fromkeys((1, 2), (0, 0))
    for (left, before), (right, after) in itertools.product(found, repeat=2):
        d = add_remove_distance(left, right) if kind == "add_remove" else replace_distance(left, right)
        moves = [after.get(item, 0) - before.get(item, 0) for item in ITEMS]
        if d in worst:
            risers, fallers = sum(m > 0 for m in moves), sum(m < 0 for m in moves)
            worst[d] = max(worst[d][0], max(moves) - min(moves)), max(worst[d][1], risers, fallers)
    for d, (spread, changed) in worst.items():
        metric = count.output_metric
        assert spread == metric.range_distance(count.map(d))
        assert changed == metric.moved_one_way(count.map(d), len(ITEMS))


def rows_of_users(table: dict[int, tuple[str | None, ...]]) -> list[tuple[Any, Any]]:
    return [(user, item) for user, basket in table.items() for item in basket]


def test_counts_by_key_are_those_of_all_candidates() -> None:
    count = make_count_by_item(*SPACE, candidates=None)
    rows = [(1, "a"), (1, "a"), (2, "a"), (2, "b"), (None, "b"), (3, None), (3, "other")]
    assert count(frame(rows)) == {"a": 2, "b": 1, "other": 1}
    assert make_count_by_item(*SPACE, candidates=None, max_items=1)(frame(rows)) == {"a": 2, "other": 1}
    assert count.parameters["candidates"] is None
    assert count(frame([])) == {}
    assert make_count_by_item(SPACE[0], UserDistance("replace"), candidates=None, monotonic=True).map(3) == 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_counts_of_few_items_move_no_further_than_their_metric_says(kind: str) -> None:
    """On all pairs of tables of two users: the first one or two candidates of each count, and no more."""
    distance = add_remove_distance if kind == "add_remove" else replace_distance
    pairs = itertools.product(enumerate(tables(2)), repeat=2)
    far = {(distance(left, right), i, j) for (i, left), (j, right) in pairs}
    for most in (1, 2):
        counts: list[tuple[int, ...]] = []
        for monotonic in (True, False):
            count = make_count_by_item(
                SPACE[0], UserDistance(kind), candidates=("c", "a"), max_items=most, monotonic=monotonic
            )
            changes = 2 * most if kind == "replace" and not monotonic else most
            assert count.output_metric == L01InfDistance(changes=changes, monotonic=monotonic)
            for at, table in enumerate(tables(2)):
                if monotonic or at % 7 == 0:  # what is counted is the same
                    kept = [(user, it) for user, own in table.items() for it in sorted({*own} & {"a", "c"})[:most]]
                    found_here = count(frame(rows_of_users(table))).tolist()
                    assert found_here == distinct_users(kept, ("c", "a"))
                    counts += [tuple(found_here)] * monotonic
            found = {(d, counts[i], counts[j]) for d, i, j in far if d is not None}
            bounds = {d: count.map(d) for d in {d for d, *_ in found}}
            met = 0
            for d, before, after in found:
                whole = path_distance(before, after) if monotonic else largest_change(before, after)
                assert whole <= bounds[d]
                moved = sum(abs(a - b) for a, b in zip(before, after, strict=True))
                assert moved <= changes * bounds[d]
                met = max(met, moved if d == 1 else 0)
            assert met == (most if kind == "add_remove" else 2)


def test_capped_counts_are_not_counted_together_without_their_cap() -> None:
    """Selections of groups count items at once, of users with any number of items: capped ones go one by one."""
    capped = SPACE >> then_count_by_item(candidates=ITEMS, max_items=1)
    assert match_counted_selection(capped >> then_report_noisy_top_k(MaxDivergence(), k=1, scale=1.0)) is None


BAD_CANDIDATES: list[tuple[Any, str]] = [
    ([], "at least one"),
    ("abc", "list"),
    (b"abc", "list"),
    (7, "list"),
    (3.5, "list"),
    (["a", "b", "a"], "distinct"),
    ([1, 2, 1], "distinct"),
    ([1, True], "distinct"),
    ([["a"], ["b"]], "hashable"),
    ([{}], "hashable"),
    ([1, "a"], "all integers or all strings"),
    ([True, False], "all integers or all strings"),
    ([np.bool_(True)], "all integers or all strings"),
    ([1.0, 2.0], "all integers or all strings"),
    (["a", None], "all integers or all strings"),
    ([b"a"], "all integers or all strings"),
    ([("a", 1)], "all integers or all strings"),
    ([Fraction(2)], "all integers or all strings"),
    ([1, 2**64], "64 bits"),
    ([-(2**63) - 1], "64 bits"),
    (["a", "\ud800"], "surrogates"),
    ([-(2**63) - 1, 5], "64 bits"),
]


@pytest.mark.parametrize(("candidates", "message"), BAD_CANDIDATES, ids=range(len(BAD_CANDIDATES)))
def test_bad_candidates_are_refused(candidates: Any, message: str) -> None:
    raises_exactly(ParameterError, lambda: make_count_by_item(*SPACE, candidates=candidates), "candidates", message)


@pytest.mark.parametrize(("kind", "monotonic"), [("add_remove", True), ("replace", False)])
def test_the_metric_is_the_cheapest_by_default(kind: str, monotonic: bool) -> None:
    count = make_count_by_item(SPACE[0], UserDistance(kind), candidates=ITEMS)
    assert count.output_metric == LInfDistance(monotonic=monotonic)
    assert count.parameters["monotonic"] is monotonic
    other = make_count_by_item(SPACE[0], UserDistance(kind), candidates=ITEMS, monotonic=not monotonic)
    ranges = [one.output_metric.range_distance(one.map(3)) for one in (count, other)]
    assert [count.map(3), *ranges] == ([3, 3, 6] if monotonic else [3, 6, 6])


def counted(kind: str, k: int, tau: Fraction, b: Fraction) -> Measurement:
    count = (SPACE[0], UserDistance(kind)) >> then_count_by_item(candidates=ITEMS)
    chain: Measurement = count >> then_select_then_count(MaxDivergence(), k=k, scale=tau, count_scale=b)
    return chain


@pytest.mark.slow
@pytest.mark.quick(k=1, kind="add_remove")
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("kind", "selection", "each"), [("add_remove", 1, 1), ("replace", 2, 1)])
def test_the_cost_of_winners_and_counts_is_met_and_not_exceeded(kind: str, selection: int, each: int, k: int) -> None:
    """The exact loss on all neighbours of two users: a selection is charged the range, counts the largest change."""
    tau, b = Fraction(1, 4), Fraction(3)
    chain = counted(kind, k, tau, b)
    assert chain.map(1) == pytest.approx(float(k * selection / tau + k * each / b), rel=1e-15)
    claimed = {d: k * (selection * d / tau + each * d / b) for d in (1, 2)}
    met = dict.fromkeys(claimed, 0.0)
    pairs = {(d, tuple(x), tuple(y)) for d, x, y in neighbours(kind) if d in claimed}
    for d, x, y in pairs:
        met[d] = max(met[d], float(joint_loss(MaxDivergence(), x, y, k, tau, b, "ranking")))
    assert all(met[d] <= claimed[d] * (1 + 1e-12) for d in claimed)
    assert met[1] > 0.9 * claimed[1]


def both_rhos(scale: float) -> float:
    """By how much two winners at range distance 2 and two Gaussian counts that move by 1 miss a rho of 1."""
    r = 2 / scale  # both noises have one scale where they are split evenly; the counts cost 1 / scale^2 together
    z = r / -math.expm1(-r)
    return 2 * (z - 1 - math.log(z)) + 1 / scale**2 - 1


EVEN = float(mpmath.findroot(both_rhos, (1.3, 1.5), solver="anderson"))


@pytest.mark.further
@pytest.mark.parametrize(("measure", "least"), [(MaxDivergence(), 4), (ZeroConcentratedDivergence(), EVEN)], ids=repr)
def test_counts_of_replaced_users_need_half_the_noise_of_the_monotonic_metric(measure: Measure, least: float) -> None:
    space = SPACE[0], UserDistance("replace")

    def counts(monotonic: bool | None) -> float:
        count = space >> then_count_by_item(candidates=ITEMS, monotonic=monotonic)
        best = binary_search_chain(lambda scale: count >> then_select_then_count(measure, k=2, scale=scale), 1, 1.0)
        assert best.map(1) <= 1
        return float(best.parameters["count_scale"])

    assert counts(None) == counts(False) == counts(True) / 2 == pytest.approx(least, rel=1e-15)


SECRETS: list[tuple[type[Exception], Any]] = [
    (DataTypeError, [(SENTINEL_INT, SENTINEL_TEXT)]),
    (DataError, pl.DataFrame({"member": [SENTINEL_INT], "title": [SENTINEL_TEXT]})),
    (DataTypeError, pl.DataFrame({"member": [SENTINEL_INT + 0.5], "work": [SENTINEL_TEXT]})),
    (DataTypeError, pl.DataFrame({"member": [SENTINEL_TEXT], "work": [SENTINEL_INT]})),
    (DataTypeError, pl.DataFrame({"member": [[SENTINEL_INT]], "work": [SENTINEL_TEXT]})),
    (TableError, pl.LazyFrame({"member": [SENTINEL_TEXT], "work": ["a"]}).cast({"member": pl.Int64})),
    (TableError, pl.LazyFrame({"member": [1], "work": [SENTINEL_TEXT]}).cast({"work": pl.Enum(["a"])})),
]


@pytest.mark.parametrize(("error", "table"), SECRETS, ids=range(len(SECRETS)))
def test_no_error_of_a_call_carries_data(error: type[Exception], table: Any) -> None:
    raises_exactly(error, lambda: make_count_by_item(*SPACE, candidates=["a", "b"])(table))


def test_strings_for_integer_candidates_tell_what_to_do() -> None:
    table = pl.DataFrame({"member": [1], "work": [SENTINEL_TEXT]})
    call = lambda: make_count_by_item(*SPACE, candidates=[1, 2])(table)  # noqa: E731
    raises_exactly(DataTypeError, call, "'work'", "candidates as strings", "cast the column to Int64")
