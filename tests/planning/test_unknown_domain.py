"""The best k without a list: the plan's numbers are computed a second time, from public constructors and from sums."""

import math
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.plan import Plan, Query
from opendp_topk.apps.planning.question import PrivacyBudget, ReleasePlan, TableUnit
from opendp_topk.apps.planning.question_unknown_domain import UnknownDomainTopK
from opendp_topk.apps.planning.units import Budget, UserUnit
from opendp_topk.apps.planning.unknown_domain import HistogramTopKTask, UnknownDomainTask

pl = pytest.importorskip("polars", reason="a release reads tables with polars")

PURE = tk.Approximate(tk.MaxDivergence())
DELTA = 1e-6


def planned(k: int, max_items: int | None = None, users: int = 1, neighbors: str = "add_remove") -> ReleasePlan:
    unit, budget = TableUnit(user="user", users=users, neighbors=neighbors), PrivacyBudget(epsilon=1, delta="1e-6")
    return UnknownDomainTopK(k=k, max_items=max_items, unit=unit, budget=budget).plan()


def needed_by_ranking(scale: float, threshold: float, limit: int) -> float:
    """The lead at which one key wins against the stop symbol and all dummies with probability 0.95."""
    return threshold + scale * math.log((1 + limit * math.exp(-threshold / scale)) / 0.05)


def needed_by_histogram(scale: float, threshold: float, gaussian: bool) -> int:
    """The least count at which discrete noise leaves it at the threshold or above with probability 0.95."""

    def weight(z: int) -> float:
        return math.exp(-((z / scale) ** 2) / 2 if gaussian else -abs(z) / scale)

    whole, mass, most = sum(map(weight, range(-2000, 2001))), 0.0, 2000
    while mass < 0.95 * whole:
        mass, most = mass + weight(most), most - 1
    return int(threshold) - most - 1


@pytest.mark.parametrize(
    ("k", "max_items", "users", "neighbors", "mechanism"),
    [
        (100, None, 1, "add_remove", "unknown_domain_top_k"),
        (100, 5, 1, "add_remove", "stable_histogram"),
        pytest.param(100, 300, 1, "add_remove", "unknown_domain_top_k", marks=pytest.mark.further),
        pytest.param(10, 3, 3, "replace", "stable_histogram", marks=pytest.mark.further),
        pytest.param(1, None, 1, "add_remove", "unknown_domain_top_k", marks=pytest.mark.further),
        pytest.param(30, None, 2, "replace", "unknown_domain_top_k", marks=pytest.mark.further),
    ],
)
def test_a_plan_meets_the_budget_and_is_the_better_by_its_own_numbers(
    k: int, max_items: int | None, users: int, neighbors: str, mechanism: str
) -> None:
    found = planned(k, max_items, users, neighbors)
    known = found.measurement.parameters
    assert known["mechanism"] == mechanism
    metric = tk.KeyedCountDistance(max_items=max_items, monotonic=neighbors == "add_remove")
    space, scale, limit = (tk.KeyedCountsDomain(), metric), known["scale"], 30 * k
    options = {"k": k, "scale": scale, "limit": limit, "threshold": known["threshold"]}
    if mechanism == "stable_histogram":
        own: float = needed_by_histogram(scale, known["threshold"], known["gaussian"])
        told = {name: known[name] for name in ("epsilon", "delta") if name in known}
        told = told or {"scale": scale, "threshold": known["threshold"]}
        loss = tk.make_stable_histogram(*space, PURE, gaussian=known["gaussian"], **told).map(users)
    else:
        own = needed_by_ranking(scale, known["threshold"], limit)
        curve = tk.make_unknown_domain_top_k(*space, tk.PrivacyProfile(), **options).map(users)
        loss = curve.epsilon(DELTA), DELTA
    assert found.claim.d_out[0] == pytest.approx(loss[0])
    assert found.claim.d_out[0] <= 1
    assert found.claim.d_out[1] <= DELTA
    assert found.plan.query.task.error_bound(found.plan) == pytest.approx(own, rel=1e-6)
    pure = k * metric.range_distance(users)
    threshold = tk.make_unknown_domain_top_k(*space, PURE, k=k, scale=float(pure), limit=limit, delta=DELTA / users)
    by_sum = needed_by_ranking(pure, threshold.parameters["threshold"], limit)
    assert own < by_sum or (k == 1 and own == pytest.approx(by_sum)), "losses are not added if their curve needs less"
    if max_items is not None:
        assert str(math.ceil(own)) in found.plan.why


@pytest.mark.parametrize(("level", "limit"), [(1.0, 3), (9.0, 3)])
def test_an_item_at_the_bound_is_released_as_often_as_is_said(level: float, limit: int) -> None:
    """One key, two dummies and the stop symbol; with a low threshold the dummies matter."""
    scale, budget = 2.0, Budget(PURE, (10, 0.9))
    task = UnknownDomainTask(1, limit)
    query = Query(task, UserUnit(), budget, alpha=Fraction(1, 20))
    bound = task.error_bound(Plan(query, task.build_measurement(query, scale, level)))
    lead, beside = math.exp(bound / scale), math.exp(level / scale)
    assert 0.95 <= lead / (lead + beside + limit - 1) < 0.97


def test_the_largest_of_a_histogram_are_released() -> None:
    users = {"a": 900, "b": 700, "c": 500, "d": 1}
    table = pl.DataFrame({"user": range(2101), "item": [item for item, many in users.items() for _ in range(many)]})
    found = planned(2, 1)
    assert isinstance(found.plan.query.task, HistogramTopKTask)
    released: Any = found.measurement(table)
    assert (list(released), released.counts) == (["a", "b"], None)
