"""How many users a key needs: held against chances and releases that are computed apart from the library."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.plan import Plan, Query, plan_query
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.unknown_domain import (
    PartitionSelectionTask,
    _least_integer,
    least_release_probability,
    likely_users,
)

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PHI = NormalDist().cdf
HALF = Fraction(1, 2)
# Noise scales of the rounds, whose inverse squares are in proportion to the powers of three and add up to one.
PARTS = {rounds: [math.sqrt(sum(3**j for j in range(rounds)) / 3**at) for at in range(rounds)] for rounds in (1, 2, 3)}


def query(measure: tk.Measure = MAX, most: int = 9, neighbors: str = "add_remove", users: int = 1, **more: Any) -> Any:
    columns = Columns(max_items=most, **more)
    return Query(PartitionSelectionTask(), UserUnit(neighbors, users, columns), Budget(measure, (0.5, 1e-6)))


def likely(level: float, scale: float, weight: float, users: int, rounds: int) -> float:
    """The chance that a key keeps its share in all rounds before the last, and is released in this."""
    *early, last = (scale * part for part in PARTS[rounds])
    return math.prod(PHI(users * weight / s - 0.75) for s in early) * PHI((users * weight - level) / last)


@pytest.mark.further
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_so_many_users_are_enough_and_hardly_fewer_are(rounds: int) -> None:
    for least in (1, 20):
        found = PartitionSelectionTask(rounds).build_measurement(query(minimum_users=least), 0.5, 1e-6)
        scale, level = (found.parameters[name] for name in ("scale", "threshold"))
        number = int(likely_users(found, HALF))
        assert likely(level, scale, 1 / 3, number, rounds) >= 0.5
        assert likely(level, scale, 1 / 3, int(0.99 * number) - 1, rounds) < 0.5
        for users in (number // 2, number, 2 * number):
            chance = likely(level, scale, 1 / 3, users, rounds)
            assert 0 <= float(least_release_probability(found.parameters, users)) <= chance + 1e-6


@pytest.mark.slow
def test_a_key_of_so_many_users_is_released_at_least_every_second_time() -> None:
    """Of 400 keys each user has nine, as many as count, so that all keys have as many users as is said."""
    found = PartitionSelectionTask(3).build_measurement(query(), 0.5, 1e-6)
    users = int(likely_users(found, HALF))
    rows = [(9 * user + at) % 400 for user in range(400 * users // 9 + 1) for at in range(9)]
    table = pl.DataFrame({"user": np.arange(len(rows)) // 9, "item": rows})
    assert len(found(table)) >= 200 - 6 * 10


@pytest.mark.parametrize("least", [1, 600, 1000])
def test_the_least_number_is_found_in_few_steps(least: int) -> None:
    asked = []

    def holds(number: int) -> bool:
        asked.append(number)
        assert len(asked) < 200, "the search does not end"
        return number >= 1000

    assert _least_integer(least, holds) == 1000
    assert min(asked) == least
    asked.clear()
    assert _least_integer(least, lambda number: holds(0)) == math.inf


def test_deltas_of_equal_shares_add_up_to_the_whole() -> None:
    """The delta that was written is met, not the float64 next to it, of which two are more than the whole."""
    assert Fraction(5e-5) > Fraction(1, 20000)
    asked = replace(query(most=1), budget=Budget(MAX, (2, 5e-5)))
    assert Fraction(plan_query(asked).measurement.map(1)[1]) <= Fraction(1, 20000)


def test_each_for_itself() -> None:
    found = PartitionSelectionTask().build_measurement(query(most=1, minimum_users=5), 0.5, 1e-6)
    p, n = 0.0, 4
    while p < 0.5:
        p, n = min(math.exp(0.5) * p + 1e-6, 1 - math.exp(-0.5) * (1 - p - 1e-6)), n + 1
    assert likely_users(found, HALF) == n


@pytest.mark.slow
def test_plans_meet_the_budget_by_the_way_that_needs_fewer_users() -> None:
    wrong = []
    for measure in (MAX, ZCDP):
        for most, neighbors, users in ((1, "add_remove", 1), (9, "replace", 1), (9, "add_remove", 3)):
            asked = query(measure, most, neighbors, users)
            plan = plan_query(asked)
            main, delta = plan.measurement.map(users)
            weighted = measure == ZCDP or most == 9
            right = plan.measurement.parameters["mechanism"].startswith("weighted") == weighted
            if not (0.49 < main <= 0.5 and 0.9e-6 < delta <= 1e-6 and right):
                wrong.append((measure, most, neighbors, users, main, delta))
    assert not wrong
    assert plan_query(query(most=2)).measurement.parameters["mechanism"] == "partition_selection"


@pytest.mark.further
def test_rounds_have_no_more_noise_than_their_rho_needs() -> None:
    """A rho of one half is that of the scale one, which the parts make up together."""
    for rounds, most in ((1, 1), (3, 9)):
        found = PartitionSelectionTask(rounds).calibrate_measurement(query(ZCDP, most=most)).parameters
        assert found["rounds"] == rounds
        assert found["scale"] == pytest.approx(1, rel=1e-3)
        assert found["scale"] < 1 or rounds == 1


@pytest.mark.further
def test_only_where_there_are_several_rounds_weight_moves_between_them() -> None:
    for rounds, again in ((1, False), (3, True)):
        found = Plan(query(), PartitionSelectionTask(rounds).build_measurement(query(), 0.5, 1e-6))
        assert ("in 3 rounds" in found.query.task.describe_mechanism(found)) == again


@pytest.mark.parametrize(("measure", "users", "rounds"), [(MAX, 2, None), (MAX, 5, 1), (ZCDP, 3, 3)])
def test_delta_is_reduced_for_several_users_by_no_more_than_is_needed(
    measure: tk.Measure, users: int, rounds: int | None
) -> None:
    asked, task = query(measure, users=users), PartitionSelectionTask(rounds)
    found = task._calibrate_rounds(asked)
    main, delta = found.parameters["scale" if measure == ZCDP else "epsilon"], found.parameters["delta"]
    assert found.check(users, asked.budget.d_out)
    assert delta < asked.budget.delta_below
    assert not task.build_measurement(asked, main, delta * 2 ** (1 / 32)).check(users, asked.budget.d_out)
