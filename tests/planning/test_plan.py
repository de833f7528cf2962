"""One query, whatever the task: its plan meets the budget with the least noise, and says what it promises."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.by_gap import GapTask
from opendp_topk.apps.planning.catalogue import ONE_SHOT
from opendp_topk.apps.planning.plan import Plan, Query, plan_query
from opendp_topk.apps.planning.release_record import OtherUsersCount
from opendp_topk.apps.planning.top_k import TopKTask
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.unknown_domain import StableHistogramTask, UnknownDomainTask
from opendp_topk.errors import NotDeclaredError

from ..concepts.sentinels import raises_exactly

PURE, PAIR = Budget(tk.MaxDivergence(), 1.0), Budget(tk.Approximate(tk.MaxDivergence()), (1.0, 1e-6))
ROW = ONE_SHOT
TASKS: dict[str, tuple[Any, Budget]] = {
    "top k": (TopKTask(3, 50, "ranking", ROW), PURE),
    "counts": (TopKTask(3, 50, "ranking", ROW, counted=True), PURE),
    "unknown domain": (UnknownDomainTask(3), PAIR),
    "above a threshold": (StableHistogramTask(), PAIR),
}
ALPHA = Fraction(1, 20)


def query(name: str, users: int = 2) -> Query[Any, UserUnit]:
    task, budget = TASKS[name]
    most = None if isinstance(task, TopKTask) else 4
    return Query(task, UserUnit("replace", users, Columns("who", "what", max_items=most)), budget, alpha=ALPHA)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_a_plan_meets_the_budget_and_its_measurement_says_so(name: str) -> None:
    plan = plan_query(query(name))
    assert plan.measurement.map(2) == plan.loss
    assert plan.measurement.check(2, plan.query.budget.d_out)
    main, allowed = (one[0] if isinstance(one, tuple) else one for one in (plan.loss, plan.query.budget.d_out))
    assert main == pytest.approx(allowed, rel=1e-7)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_with_less_noise_it_would_not(name: str) -> None:
    found = plan_query(query(name))
    less, parameters = math.nextafter(found.scale, 0), found.measurement.parameters
    if name in ("top k", "counts"):
        built = found.query.task.build_measurement(found.query.unit, tk.MaxDivergence(), less)
    elif name == "unknown domain":
        built = found.query.task.build_within_budget(found.query, found.scale, 0.999 * parameters["threshold"])
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
    assert named.measurement(table) == tk.Release(items=[0, 1, 2])


def test_what_is_asked_names_the_candidates_where_they_are_listed() -> None:
    columns = Columns("who", "what")
    assert (
        UnknownDomainTask(3).question_text(columns) == "which 3 items do most users have, without a list of candidates?"
    )
    assert UnknownDomainTask(3, None, 7).question_text(columns) == "which 3 of 7 candidates do most users have?"


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


# The count of all others after a release: of the same measure, within what was left for it, and of the right users.


ROWS = [(user, item) for item, users in (("a", 90), ("b", 60), ("c", 30), ("d", 5)) for user in range(users)]
TABLE = pl.DataFrame([*ROWS, (200, "d"), (201, "d"), (202, "c")], schema=["user", "item"], orient="row")


@pytest.mark.further
@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence()], ids=["pure", "rho"])
@pytest.mark.parametrize("listed", [True, False])
def test_others_are_counted_within_a_tenth(measure: tk.Measure, listed: bool) -> None:
    unit = UserUnit(columns=Columns("user", "item", max_items=None if listed else 4))
    other = OtherUsersCount(Budget(measure, 10**6), unit)
    task: Any = TopKTask(1, 4, "ranking", ONE_SHOT) if listed else UnknownDomainTask(1)
    rest = other.release_budget if listed else Budget(tk.Approximate(measure), (other.release_budget.d_out, 1e-6))
    plan = plan_query(Query(task, unit, rest, alpha=Fraction(1, 20)))
    whole = other.append_count(plan.bind_candidates([*"abcd"]) if listed else plan)
    assert whole.measurement.output_measure == rest.measure
    loss = whole.loss if listed else whole.loss[0]
    assert plan.loss != whole.loss
    assert 0.999 * 10**6 <= loss <= 10**6
    found = other.released_with_count(whole.measurement(TABLE))
    assert list(found.items) == ["a"]
    assert found.other == len({user for user, item in TABLE.iter_rows() if item != "a"})


# A set by a gap that is planned: its noise, its threshold, and the gap with which it is promised to come.


WITH_DELTA, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
WORDS = re.compile(r"is at least (\d+) users?, and the gap below it is (?:within (\d+) users? of )?the largest of")


def plan_of(k: int, budget: Budget, unit: UserUnit, alpha: Any = Fraction(1, 20), n: int = 6) -> Any:
    return plan_query(Query(GapTask(k, n), unit, budget, alpha=alpha))


@pytest.mark.further
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(("unit", "moved"), [(UserUnit(), 1), (UserUnit("replace", 3), 6)])
def test_scale_and_threshold_are_those_of_formulas(k: int, unit: UserUnit, moved: int) -> None:
    """Choice 2 D / scale, nothing for one gap, and test 2 D / scale; delta is half of exp(-(threshold - D) / test)."""
    plan = plan_of(k, Budget(WITH_DELTA, (0.5, 1e-6)), unit)
    known = plan.measurement.parameters
    assert known["noise"] == "Exponential"
    assert plan.scale == pytest.approx((2 * moved if k == 1 else 4 * moved) / 0.5)
    assert known["threshold"] == pytest.approx(moved + plan.scale / 2 * math.log(1 / 2e-6))
    assert plan.loss[0] <= 0.5
    assert plan.loss[1] <= 1e-6


@pytest.mark.further
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 20)])
@pytest.mark.parametrize("budget", [Budget(WITH_DELTA, (4.0, 1e-3)), Budget(ZCDP, (2.0, 1e-3))])
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
    assert task.accuracy_guarantees(plan)["accuracy"].within_users == least
    gaps = [max(least - near - 1, 0), least, max(least - near - 1, 0)]
    scores = [sum(gaps[at:]) for at in range(4)] + [0, 0]
    space = tk.VectorDomain(tk.AtomDomain(int), size=6), tk.LInfDistance(monotonic=True)
    options = {name: known[name] for name in ("k", "scale", "test_scale", "threshold")}
    noise = {"Gumbel": tk.noise.Gumbel(), "Exponential": tk.noise.Exponential()}[known["noise"]]
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
    plan = plan_of(1, Budget(WITH_DELTA, (1.0, 1e-6)), UserUnit())
    assert plan.query.task.gap_error_bound(plan) == 0
    assert "the gap below it is the largest of these" in plan.query.task.accuracy_guarantees(plan)["accuracy"].words


@pytest.mark.parametrize("k", [0, 6, 7])
def test_a_gap_has_two_sides(k: int) -> None:
    raises_exactly(tk.errors.ParameterError, lambda: GapTask(k, 6), "k must be")


@pytest.mark.further
def test_of_two_gaps_one_is_chosen_too() -> None:
    """Two exponential numbers differ by more than t scales with probability exp(-t): each pair has half of alpha."""
    plan = plan_of(2, Budget(WITH_DELTA, (1.0, 1e-6)), UserUnit())
    near = plan.query.task.gap_error_bound(plan)
    assert plan.scale * math.log(1 / 0.05) <= near <= plan.scale * math.log(4 / 0.05) * (1 + 1e-9)
