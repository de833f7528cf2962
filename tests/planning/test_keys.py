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

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PHI = NormalDist().cdf
HALF = Fraction(1, 2)


def query(measure: tk.Measure = MAX, most: int = 9, neighbors: str = "add_remove", users: int = 1, **more: Any) -> Any:
    columns = Columns(max_items=most, **more)
    return Query(PartitionSelectionTask(), UserUnit(neighbors, users, columns), Budget(measure, (0.5, 1e-6)))


def likely(level: float, scale: float, weight: float, users: int) -> float:
    """The chance of two rounds where all users have the same items, which nobody else has: only the own share falls."""
    first, last = 3.2 * scale, 1.053 * scale
    noise = np.linspace(-6, 6, 4001)
    heights = np.exp(-(noise**2) / 2)
    share = np.minimum(1, (level + last) / np.maximum(users * weight + first * noise, 1e-9))
    share[users * weight + first * noise <= 0] = 1
    return float((heights * np.vectorize(PHI)((users * weight * share - level) / last)).sum() / heights.sum())


@pytest.mark.further
def test_so_many_users_are_enough_and_hardly_fewer_are() -> None:
    for rounds in (1, 2):
        for least in (1, 20):
            found = PartitionSelectionTask(rounds).build_measurement(query(minimum_users=least), 0.5, 1e-6)
            scale, level = (found.parameters[name] for name in ("scale", "threshold"))
            number = int(likely_users(found, HALF))
            chance = (
                (lambda n: PHI((n / 3 - level) / scale))  # noqa: B023
                if rounds == 1
                else lambda n: likely(level, scale, 1 / 3, n)  # noqa: B023
            )
            assert chance(number) >= 0.5
            assert chance(int(0.96 * number) - 1) < 0.5
            for users in (number // 2, number, 2 * number):
                assert 0 <= float(least_release_probability(found.parameters, users)) <= chance(users) + 1e-6


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
def test_two_rounds_have_no_more_noise_than_their_rho_needs() -> None:
    """A rho of one half is that of the scale one, which the parts make up together."""
    for rounds, inverse in ((1, 1.0), (2, 3.2**-2 + 1.053**-2)):
        found = (
            PartitionSelectionTask(rounds).calibrate_measurement(query(ZCDP, most=9 if rounds == 2 else 1)).parameters
        )
        assert found["rounds"] == rounds
        assert found["scale"] == pytest.approx(math.sqrt(inverse), rel=1e-9)


@pytest.mark.further
def test_only_where_there_are_two_rounds_weights_are_spread_once_more() -> None:
    for rounds, again in ((1, False), (2, True)):
        found = Plan(query(), PartitionSelectionTask(rounds).build_measurement(query(), 0.5, 1e-6))
        assert (
            "in a second round for items that seemed to have too few users"
            in found.query.task.describe_mechanism(found)
        ) == again
