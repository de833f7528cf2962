"""A list for each of several groups: its price and its promises, without the code that computes them."""

import functools
import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning import groups as planning_groups
from opendp_topk.apps.planning.catalogue import HISTOGRAMS, ONE_SHOT, all_mechanisms
from opendp_topk.apps.planning.groups import GroupedTask
from opendp_topk.apps.planning.plan import Plan, Query, plan_guarantees, plan_query
from opendp_topk.apps.planning.release_record import ReleasedItems, ReleaseRecord
from opendp_topk.apps.planning.several import most_accurate_plan
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record
from opendp_topk.combinators.partition_by import make_partition_by
from opendp_topk.core.measurement import Measurement
from opendp_topk.core.releases import Release

K, CANDIDATES = 2, 4
PURE, RHO = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()


def query(
    budget: Budget, *, groups: int = 3, most: int = 1, unit: UserUnit | None = None, k: int = K, noisy: str = ""
) -> Query[Any, Any]:
    """The k best in each group; or with noise of this kind on all counts, where one item of a user counts."""
    columns = Columns("reader", "book", group="town", max_items=1 if noisy else None)
    row = {one.name: one for one in all_mechanisms()}[f"histogram_{noisy}"] if noisy else ONE_SHOT
    task = GroupedTask(k, CANDIDATES, "ranking", row, groups=range(groups), most=most)
    return Query(task, replace(unit or UserUnit(), columns=columns), budget, alpha=Fraction(1, 20))


def dearest(costs: list[Fraction], groups: int, most: int) -> Fraction:
    """The dearest way in which so many users as the list goes on, each in ``most`` groups, touch the groups."""
    users = len(costs) - 1
    ways = itertools.product(range(users + 1), repeat=groups)
    return max(sum((costs[d] for d in way), Fraction(0)) for way in ways if sum(way) <= most * users)


@pytest.mark.parametrize(("groups", "most"), [(3, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("users", [1, 2, 3])
def test_the_price_is_of_the_dearest_way_to_touch_groups(users: int, neighbors: str, groups: int, most: int) -> None:
    """For d users a list costs k d / scale of epsilon, and Gaussian noise on all counts d^2 / 2 scale^2 of rho."""
    whom, target = UserUnit(neighbors, users), Fraction(1, 2)
    moved = users * (2 if neighbors == "replace" else 1)
    costs: list[tuple[Any, str, Callable[[int, Fraction], Fraction]]] = [
        (PURE, "", lambda d, scale: K * d / scale),
        (RHO, "gaussian", lambda d, scale: (d / scale) ** 2 / 2),
    ]
    for measure, noisy, one in costs:
        found = plan_query(query(Budget(measure, target), groups=groups, most=most, unit=whom, noisy=noisy))
        scale = found.measurement.parameters["each_group"]["scale"]
        scales = scale, math.nextafter(scale, 0)
        price, closer = (dearest([one(d, Fraction(at)) for d in range(moved + 1)], groups, most) for at in scales)
        assert price <= target < closer
        assert found.measurement.exact_map(users) == price


@pytest.mark.parametrize("measure", [PURE, RHO, tk.PrivacyProfile()], ids=repr)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_search_is_by_the_whole_map(neighbors: str, measure: tk.Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Callable[[float], Measurement]] = []
    monkeypatch.setattr(planning_groups, "least_scale", lambda make, *_: found.append(make) or make(2.0))
    for groups, most in itertools.product((1, 2, 4), repeat=2):
        asked = query(Budget(measure, 1), groups=groups, most=most, unit=UserUnit(neighbors))
        asked.task.calibrate_measurement(asked)
        for users, scale in itertools.product(range(4), (2.0, 0.7)):
            whole = asked.task.build_measurement(asked.unit, asked.budget.measure, scale)
            assert found[-1](scale).exact_map(users) == whole.exact_map(users), (groups, most, users)


def test_a_partition_is_made_once_however_long_the_search_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def partition(*arguments: Any, **named: Any) -> Measurement:
        made.append(len(named["measurements"]))
        return make_partition_by(*arguments, **named)

    monkeypatch.setattr(planning_groups, "make_partition_by", partition)
    plan_query(query(Budget(PURE, 1), groups=7))
    assert made == [7]


def failing(lead: int, scale: float) -> float:
    """With exponential noise on four counts of which one leads the others: how likely another one wins."""
    apart = lead / scale
    return sum(math.comb(3, j) * (-1) ** (j + 1) * math.exp(-j * apart) / (1 + j) for j in (1, 2, 3))


def test_what_is_promised_holds_in_all_groups_at_once() -> None:
    """Where a winner is just worse than promised in each group, one such comes with probability at most alpha."""
    groups, alpha = 40, 0.05
    found = plan_query(query(Budget(PURE, 1), groups=groups, k=1))
    scale = found.measurement.parameters["each_group"]["scale"]
    within = plan_guarantees(found)["accuracy"].within_users
    assert 1 - (1 - failing(within + 1, scale)) ** groups <= alpha
    alone = next(lead for lead in itertools.count() if failing(lead, scale) <= alpha)
    assert 1 - (1 - failing(alone, scale)) ** groups > alpha
    words = plan_guarantees(found)["accuracy"].words
    assert "at least 95 %, in all 40 groups at once (each fails with probability at most 0.05 / 40)" in words
    assert "counts are within one group, and a user counts in at most 1 listed group, drawn at random" in words


def test_of_one_group_the_promise_is_that_of_one_list() -> None:
    found = plan_query(query(Budget(PURE, 1), groups=1))
    own = Query(
        found.query.task.task, UserUnit(columns=Columns("reader", "book")), found.query.budget, alpha=Fraction(1, 20)
    )
    whole = plan_guarantees(plan_query(own))["accuracy"]
    told = plan_guarantees(found)["accuracy"]
    assert (told.within_users, told.alpha) == (whole.within_users, whole.alpha)
    assert told.words.startswith(whole.words)


@pytest.mark.further
def test_curves_of_one_group_a_person_are_those_of_one_list() -> None:
    budget = Budget(tk.PrivacyProfile(), (1, Fraction(1, 10**6)))
    asked = query(budget)
    own = Query(asked.task.task, UserUnit(columns=Columns("reader", "book")), budget)
    scale = plan_query(asked).measurement.parameters["each_group"]["scale"]
    assert scale == plan_query(own).measurement.parameters["scale"]


def winners(by: int, scale: float) -> list[tuple[float, float]]:
    """How likely the first of four counts wins with Gumbel noise, before and after it gains so much on the others.

    And the same the other way round. The others are equal, and it is first ahead of them or behind.
    """
    odds = [math.exp(lead / scale) / 3 for lead in range(-12, 13)]
    pairs = [(own / (1 + own), own / (own + math.exp(-by / scale))) for own in odds]
    return [*pairs, *((after, before) for before, after in pairs)]


def farthest(touched: tuple[int, ...], scale: float, epsilon: float) -> float:
    """The largest delta at ``epsilon`` of the winners of all groups, where so many users come, go or are replaced."""
    laws = [np.array(winners(by, scale)).T for by in touched if by]
    delta = 0.0
    for wins in itertools.product([False, True], repeat=len(laws)):
        own = [law if won else 1 - law for law, won in zip(laws, wins, strict=True)]
        before, after = (functools.reduce(np.multiply.outer, [law[at] for law in own]) for at in (0, 1))
        delta = delta + np.maximum(before - math.exp(epsilon) * after, 0)
    return float(np.max(delta))


@pytest.mark.further
@pytest.mark.parametrize(
    ("groups", "most", "neighbors"),
    [
        *((groups, most, "add_remove") for groups, most in ((3, 1), (3, 2), (2, 3))),
        *((groups, most, "replace") for groups, most in ((3, 1), (2, 3))),
        pytest.param(3, 2, "replace", marks=pytest.mark.slow),
    ],
)
def test_no_tables_are_further_apart_than_the_curve_of_groups_says(groups: int, most: int, neighbors: str) -> None:
    target = Fraction(1, 20)
    asked = query(Budget(tk.PrivacyProfile(), (Fraction(1, 2), target)), groups=groups, most=most, k=1)
    found = plan_query(replace(asked, unit=replace(asked.unit, neighbors=neighbors)))
    scale = found.measurement.parameters["each_group"]["scale"]
    moves = 2 if neighbors == "replace" else 1
    ways = [way for way in itertools.product(range(moves + 1), repeat=groups) if sum(way) <= most * moves]
    worst = max(farthest(way, scale, 0.5) for way in ways if any(way))
    assert worst <= found.loss[1] <= target
    assert worst >= 0.9 * target, worst


@pytest.mark.further
def test_noise_on_all_counts_is_open_to_groups_too() -> None:
    asked = query(Budget(PURE, 1), most=2)
    few = Columns("reader", "book", group="town", max_items=1)
    task = GroupedTask(K, CANDIDATES, "ranking", ONE_SHOT, HISTOGRAMS, groups=range(3), most=2)
    found: Plan[Any, Any] = most_accurate_plan(replace(asked, task=task, unit=UserUnit(columns=few)))
    assert found.query.task.task.mechanism.few
    assert "at most 1 item of each user count" in found.why
    assert found.measurement.check(1, 1)


def test_lists_are_told_apart_by_their_groups_also_where_nothing_was_counted() -> None:
    lists = [Release(items=["a", "b"], counts=[5, 3]), Release(items=["a", "c"], counts=[0, 0])]
    found = ReleasedItems.from_output(lists, ["Ulm", "Jena"])
    assert (found.groups, found.items) == (["Ulm", "Ulm", "Jena", "Jena"], ["a", "b", "a", "c"])
    expected = [("Ulm", ReleasedItems(["a", "b"], [5, 3])), ("Jena", ReleasedItems(["a", "c"], [0, 0]))]
    assert found.group_lists == expected


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        (["Ulm"] * 2 + ["Jena"] * 2 + ["Bonn"] * 2, AGREES),
        (["Ulm"] * 3 + ["Jena"] + ["Bonn"] * 2, DISAGREES),
        (["Ulm"] * 2 + ["Jena"] * 2 + ["Ulm"] * 2, DISAGREES),
        (["Ulm"] * 2 + [7] * 2 + ["Bonn"] * 2, DISAGREES),
        (["Ulm"] * 6, DISAGREES),
        (None, DISAGREES),
    ],
)
def test_a_record_has_one_list_for_each_group_all_as_long(groups: list[Any] | None, verdict: str) -> None:
    asked, engine = query(Budget(PURE, 1)), {"name": "polars", "version": "1"}
    for row in (ONE_SHOT, {one.name: one for one in all_mechanisms()}["noisy_top_k_with_gaps"]):
        plan = plan_query(replace(asked, task=replace(asked.task, mechanism=row)))
        released = ReleasedItems(list("abcabc"), gaps=[1.0] * 6 if row.led else None, groups=groups)
        record = ReleaseRecord.from_release(released, plan, plan_guarantees(plan), None, engine=engine)
        found = {one.what: one.verdict for one in verify_record(json.loads(json.dumps(record.as_dict())))}
        assert (found["measurement"], found["items"]) == (AGREES, verdict)
