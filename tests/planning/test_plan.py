"""One query, whatever the task: its plan meets the budget with the least noise, and says what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.catalogue import default_mechanism
from opendp_topk.apps.planning.plan import Plan, Query, plan_query
from opendp_topk.apps.planning.top_k import TopK, TopKWithCounts
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.unknown_domain import StableHistogramTask, TopKUnknownDomain
from opendp_topk.errors import NotDeclaredError

from ..concepts.sentinels import raises_exactly

PURE, PAIR = Budget(tk.MaxDivergence(), 1.0), Budget(tk.Approximate(tk.MaxDivergence()), (1.0, 1e-6))
ROW = default_mechanism("ranking")
TASKS: dict[str, tuple[Any, Budget]] = {
    "top k": (TopK(3, 50, "ranking", ROW), PURE),
    "counts": (TopKWithCounts(3, 50, "ranking", ROW), PURE),
    "unknown domain": (TopKUnknownDomain(3), PAIR),
    "above a threshold": (StableHistogramTask(), PAIR),
}
ALPHA = Fraction(1, 20)


def query(name: str, users: int = 2) -> Query[Any, UserUnit]:
    task, budget = TASKS[name]
    most = None if isinstance(task, TopK) else 4
    return Query(task, UserUnit("replace", users, Columns("who", "what", max_items=most)), budget, alpha=ALPHA)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_a_plan_meets_the_budget_and_its_measurement_says_so(name: str) -> None:
    plan = plan_query(query(name))
    assert plan.measurement.map(2) == plan.loss
    assert plan.measurement.check(2, plan.query.budget.d_out)
    main, allowed = (one[0] if isinstance(one, tuple) else one for one in (plan.loss, plan.query.budget.d_out))
    assert main == pytest.approx(allowed, rel=1e-9)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_with_less_noise_it_would_not(name: str) -> None:
    found = plan_query(query(name))
    less, parameters = math.nextafter(found.scale, 0), found.measurement.parameters
    if name in ("top k", "counts"):
        built = found.query.task.build_measurement(found.query.unit.map_only_scores(50), tk.MaxDivergence(), less)
    else:
        built = found.query.task.build_measurement(found.query, less, parameters["threshold"])
    assert not built.check(2, found.query.budget.d_out)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_it_says_what_is_asked_how_and_what_is_promised(name: str) -> None:
    plan = plan_query(query(name))
    task = plan.query.task
    assert task.question_text(plan.query.unit.columns).startswith("which ")
    assert task.describe_mechanism(plan).startswith(plan.name)
    assert list(task.accuracy_guarantees(plan)) == ["accuracy", *(["count_accuracy"] if name == "counts" else [])]
    for promise in task.accuracy_guarantees(plan).values():
        assert promise.words.startswith("with probability at least 95 %, ")
        assert promise.alpha == 0.05


@pytest.mark.parametrize("releases", [2, 12])
def test_more_releases_share_the_budget(releases: int) -> None:
    once = plan_query(query("top k"))
    often = plan_query(replace(query("top k"), releases=releases))
    assert often.scale == pytest.approx(releases * once.scale, rel=1e-12)
    assert 0.999999 < often.loss <= 1
    assert releases * Fraction(3 * 2) / Fraction(often.scale) <= 1  # three winners, two users


@pytest.mark.further
def test_under_curves_the_loss_is_the_delta_at_the_epsilon_of_the_budget() -> None:
    asked = replace(query("top k"), budget=Budget(tk.PrivacyProfile(), (1.0, 1e-6)))
    epsilon, delta = plan_query(asked).loss
    assert epsilon == 1.0
    assert 0.9e-6 < delta <= 1e-6


@pytest.mark.further
def test_a_selection_with_counts_declares_no_curve() -> None:
    """The curve of the selection alone would promise more than the release keeps."""
    raises_exactly(NotDeclaredError, lambda: plan_query(query("counts")).curve, "counts")
    assert plan_query(query("top k")).curve.delta(1.0) == 0


def test_on_a_table_it_is_the_same_measurement() -> None:
    pl = pytest.importorskip("polars", reason="tables are read with polars")
    plan = plan_query(replace(query("top k", 1), budget=Budget(tk.MaxDivergence(), 1e9)))
    named = plan.bind_candidates(range(50))
    assert (named.loss, named.scale, named.name) == (plan.loss, plan.scale, plan.name)
    rows = [(who, what) for what in range(50) for who in range(51 - what)]
    table = pl.DataFrame(rows, schema=["who", "what"], orient="row")
    assert named.measurement(table) == [0, 1, 2]


def test_what_is_asked_names_the_candidates_where_they_are_listed() -> None:
    columns = Columns("who", "what")
    assert (
        TopKUnknownDomain(3).question_text(columns) == "which 3 items do most users have, where nobody lists the items?"
    )
    assert TopKUnknownDomain(3, None, 7).question_text(columns) == "which 3 of 7 candidates do most users have?"


@pytest.mark.further
def test_counts_above_a_threshold_are_those_of_the_table() -> None:
    """With next to no noise: where items of few users are left out, and where none is."""
    table = pl.DataFrame({"who": [1, 2, 3, 4, 5, 1, 2, 3, 4, 1], "what": [*"aaaaa", *"bbbb", "c"]})
    for least, kept in ((None, {"a": 5, "b": 4}), (3, {"a": 5, "b": 4})):
        unit = UserUnit(columns=Columns("who", "what", max_items=3, minimum_users=least))
        asked = Query(StableHistogramTask(), unit, PAIR, alpha=ALPHA)
        released = StableHistogramTask().build_measurement(asked, 0.01, 2)(table)
        assert dict(zip(released.items, released.counts, strict=True)) == kept


@pytest.mark.further
def test_under_epsilon_a_threshold_is_chosen_with_its_scale() -> None:
    """Of both kinds of noise, each at the whole epsilon: Gaussian noise lets items of fewer users in."""
    asked = Query(StableHistogramTask(), UserUnit(columns=Columns("who", "what", max_items=4)), PAIR, alpha=ALPHA)
    least = {}
    for gaussian in (False, True):
        kind = tk.then_stable_histogram(PAIR.measure, epsilon=1, delta=1e-6, gaussian=gaussian)
        least[gaussian] = StableHistogramTask().accuracy_bound(
            Plan(asked, asked.unit.score_transformation(None) >> kind)
        )
    found = plan_query(asked)
    assert found.measurement.parameters["gaussian"]
    assert found.measurement.parameters["epsilon"] == 1
    assert found.accuracy == least[True] < least[False]
