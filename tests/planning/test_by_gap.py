"""A set by a gap that is planned: its noise, its threshold, and the gap with which it is promised to come."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.by_gap import SetByGap
from opendp_topk.apps.planning.plan import Query, plan_query
from opendp_topk.apps.planning.units import Budget, UserUnit

PURE, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
WORDS = re.compile(r"is at least (\d+) users?, and the gap below it is (?:within (\d+) users? of )?the largest of")


def plan_of(k: int, budget: Budget, unit: UserUnit, alpha: Any = Fraction(1, 20), n: int = 6) -> Any:
    return plan_query(Query(SetByGap(k, n), unit, budget, alpha=alpha))


@pytest.mark.further
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(("unit", "moved"), [(UserUnit(), 1), (UserUnit("replace", 3), 6)])
def test_scale_and_threshold_are_those_of_formulas(k: int, unit: UserUnit, moved: int) -> None:
    """Choice 2 D / scale, nothing for one gap, and test 2 D / scale; delta is half of exp(-(threshold - D) / test)."""
    plan = plan_of(k, Budget(PURE, (0.5, 1e-6)), unit)
    known = plan.measurement.parameters
    assert known["noise"] == "Exponential"
    assert plan.scale == pytest.approx((2 * moved if k == 1 else 4 * moved) / 0.5)
    assert known["threshold"] == pytest.approx(moved + plan.scale / 2 * math.log(1 / 2e-6))
    assert plan.loss[0] <= 0.5
    assert plan.loss[1] <= 1e-6


@pytest.mark.further
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 20)])
@pytest.mark.parametrize("budget", [Budget(PURE, (4.0, 1e-3)), Budget(ZCDP, (2.0, 1e-3))])
def test_sets_come_as_often_as_is_promised(alpha: Fraction, budget: Budget) -> None:
    """By the exact law, where the gap has the least size that is promised, and others are just below what is near."""
    plan = plan_of(3, budget, UserUnit(), alpha)
    task, known = plan.query.task, plan.measurement.parameters
    least, near = map(
        int, (found or 0 for found in WORDS.search(task.accuracy_guarantees(plan)["accuracy"].words).groups())
    )  # type: ignore[union-attr]
    reach = plan.scale * math.log(6 / alpha)
    assert task.gap_error_bound(plan) == pytest.approx(reach)
    assert plan.accuracy == pytest.approx(known["threshold"] + reach + plan.scale / 2 * math.log(2 / alpha))
    assert (least, near) == (math.ceil(plan.accuracy), math.floor(reach))
    assert task.accuracy_guarantees(plan)["accuracy"].within == least
    gaps = [max(least - near - 1, 0), least, max(least - near - 1, 0)]
    scores = [sum(gaps[at:]) for at in range(4)] + [0, 0]
    space = tk.VectorDomain(tk.AtomDomain(int), size=6), tk.LInfDistance(monotonic=True)
    options = {name: known[name] for name in ("k", "scale", "test_scale", "threshold")}
    noise = {"Gumbel": tk.Gumbel(), "Exponential": tk.Exponential()}[known["noise"]]
    law = tk.make_top_k_by_gap(*space, budget.measure, **options, noise=noise).distribution(scores)
    assert sum(law.values()) == pytest.approx(1)
    assert law[0, 1] >= 1 - alpha


@pytest.mark.further
def test_under_rho_the_noise_is_that_of_the_exponential_mechanism() -> None:
    """Its range is bounded: two of rho r^2 / 8 at the ranges 2 / scale and 1 / (scale / 2)."""
    plan = plan_of(4, Budget(ZCDP, (0.1, 1e-6)), UserUnit())
    assert plan.measurement.parameters["noise"] == "Gumbel"
    assert 0.99 * plan.scale <= math.sqrt(2 * 4 / 8 / 0.1) <= 1.01 * plan.scale


@pytest.mark.further
def test_one_gap_is_no_choice() -> None:
    plan = plan_of(1, Budget(PURE, (1.0, 1e-6)), UserUnit())
    assert plan.query.task.gap_error_bound(plan) == 0
    assert "the gap below it is the largest of these" in plan.query.task.accuracy_guarantees(plan)["accuracy"].words


@pytest.mark.parametrize("k", [0, 6, 7])
def test_a_gap_has_two_sides(k: int) -> None:
    with pytest.raises(tk.ParameterError, match="k must be"):
        SetByGap(k, 6)


@pytest.mark.further
def test_of_two_gaps_one_is_chosen_too() -> None:
    """Two exponential numbers differ by more than t scales with probability exp(-t): each pair has half of alpha."""
    plan = plan_of(2, Budget(PURE, (1.0, 1e-6)), UserUnit())
    near = plan.query.task.gap_error_bound(plan)
    assert plan.scale * math.log(1 / 0.05) <= near <= plan.scale * math.log(4 / 0.05) * (1 + 1e-9)
