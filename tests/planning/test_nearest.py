"""Noise on all counts where people have few items: when it is chosen, and whether sentences are true of kept rows."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.catalogue import HISTOGRAMS, ONE_SHOT
from opendp_topk.apps.planning.plan import Plan, Query, plan_query
from opendp_topk.apps.planning.several import most_accurate_plan
from opendp_topk.apps.planning.top_k import TopKTask
from opendp_topk.apps.planning.units import Budget, Columns, ScoreUnit, UserUnit
from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.measures import MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from opendp_topk.spaces.metrics import L01InfDistance

BUDGETS = Budget(MaxDivergence(), 0.5), Budget(ZeroConcentratedDivergence(), 0.02), Budget(PrivacyProfile(), (1, 1e-6))


def query(
    k: int, n: int, most: int, budget: Budget, *, counted: bool = True, **columns: Any
) -> Query[TopKTask, UserUnit]:
    task = TopKTask(k, n, "ranking", ONE_SHOT, counted=counted)
    unit = UserUnit(columns=Columns(max_items=most, **columns))
    return Query(replace(task, alternatives=HISTOGRAMS), unit, budget, alpha=Fraction(1, 20))


@pytest.mark.further
def test_one_item_each_costs_what_one_count_costs() -> None:
    found = most_accurate_plan(query(20, 50, 1, Budget(MaxDivergence(), Fraction(1, 10))))
    assert (found.name, found.scale) == ("histogram_laplace", 10.0)
    counts, ranks = (found.query.task.accuracy_guarantees(found)[name] for name in ("count_accuracy", "accuracy"))
    one, ratio = 1 - 0.95 ** (1 / 50), math.exp(-1 / 10)
    assert counts.within_users == math.ceil(10 * math.log(2 / ((1 + ratio) * one))) - 1 == 69
    assert counts.within_users < ranks.within_users == 109 < 2 * counts.within_users
    assert "noise on all counts costs less than a selection: for the counted rows, the error" in found.why
    choice = plan_query(replace(found.query, task=replace(found.query.task, mechanism=ONE_SHOT)))
    promised = max(one.within_users for one in choice.query.task.accuracy_guarantees(choice).values())
    assert found.why.endswith(f"bound is 109 users; for report_noisy_top_k it is {promised} users")
    assert "not of the whole table" in counts.words
    assert "of each user at most 1 item, drawn at random" in ranks.words


@pytest.mark.slow
def test_the_nearest_is_taken() -> None:
    taken = set()
    for budget in BUDGETS[:2]:
        for k, most, counted in ((1, 1, True), (3, 2, False), (2, 40, True), (20, 3, True)):
            asked = query(k, 50, most, budget, counted=counted)
            found = most_accurate_plan(asked)
            for row in (asked.task.mechanism, *HISTOGRAMS):
                if row.options.get("gaussian") and budget.measure == MaxDivergence():
                    continue
                other = plan_query(replace(asked, task=replace(asked.task, mechanism=row, alternatives=())))
                near = [one.query.task.error_bound(one) for one in (found, other)]
                assert near[0] <= near[1], (budget, k, most, row.name)
            taken.add(found.name)
    assert taken == {"report_noisy_top_k", "histogram_laplace", "histogram_gaussian"}


@pytest.mark.slow
def test_every_budget_has_counts_where_people_have_few_items() -> None:
    for budget in BUDGETS:
        found = most_accurate_plan(query(5, 50, 2, budget))
        assert found.query.task.mechanism.few
        assert found.measurement.check(1, budget.d_out)


@pytest.mark.parametrize(("k", "n"), [(10, 4096), (100, 4096), (2, 9), (1, 900)])
def test_a_set_is_chosen_by_bounds_and_by_the_expected_count(k: int, n: int) -> None:
    """Noise on each count: scale k, bound k ln(n / alpha); all sets: scale 1, bound 2 ln(C(n, k) / alpha)."""
    each, sets = math.floor(k * math.log(n / 0.05)), math.floor(2 * math.log(math.comb(n, k) / 0.05))
    for expect in (None, sets, sets + 1, 10 * sets):
        asked = tk.planning.TopK(
            k=k, candidates=n, release="set", expect=expect, budget=tk.planning.PrivacyBudget(epsilon=1)
        )
        found = asked.plan().plan
        wanted = sets < each if expect is None else sets < min(expect, 2 * each)
        assert found.name == ("canonical_exponential" if wanted else "report_noisy_top_k"), expect
        assert found.query.task.error_bound(found) == (sets if wanted else each)
        assert f"error bound is {sets if wanted else each} users; for" in found.why
        assert ("With --expect" in found.why) == (expect is None)
        fixed = asked.fixed(found)
        assert (fixed.mechanism, fixed.expect, fixed.plan().plan.scale) == (found.name, None, found.scale)


@pytest.mark.further
@pytest.mark.parametrize("release", ["ranking", "set"])
def test_many_sets_by_rho_have_noise_on_each_count(release: str) -> None:
    """One choice among all sets costs R(1 / scale), k steps k R(1 / scale): its bound is 4 times that of the others."""
    budget = tk.planning.PrivacyBudget(rho=0.02)
    found = tk.planning.TopK(k=100, candidates=4096, release=release, budget=budget).plan().plan
    assert found.name == "report_noisy_top_k"
    if release == "set":
        sure = tk.planning.TopK(k=100, candidates=4096, release="set", expect=10**9, budget=budget).plan().plan
        assert sure.name == "report_noisy_top_k"
        one = tk.planning.TopK(k=2, candidates=9, release="set", expect=10**9, budget=budget).plan().plan
        assert one.name == "canonical", "Gumbel noise has the smaller scale at equal rho"


N = 50
TENTH = Budget(MaxDivergence(), Fraction(1, 10))
ROWS = [(user, f"item {(user * 3 + step * step) % N:02}") for user in range(40) for step in range(1 + user % 4)]
TABLE = pl.DataFrame(ROWS, schema=["user", "item"], orient="row")
ITEMS = [f"item {number:02}" for number in range(N)]
OWN = [sorted({int(item[5:]) for user, item in ROWS if user == one}) for one in range(40)]


def kept(most: int, keep: str, chance: np.random.Generator) -> list[int]:
    """Counts of the items that are kept, by this test's own reading of the rule."""
    left = [(one[:most] if keep == "order" else list(chance.permutation(one)[:most])) for one in OWN]
    return np.bincount([item for items in left for item in items], minlength=N).tolist()


@pytest.mark.further
def test_what_is_released_is_of_the_rows_that_were_kept() -> None:
    plan = most_accurate_plan(query(N, N, 1, Budget(MaxDivergence(), 10**6), keep="order"))
    found = plan.bind_candidates(ITEMS).measurement(TABLE)
    truth = kept(1, "order", np.random.default_rng())
    assert [int(count) for count in found.counts] == sorted(truth, reverse=True)
    drawn = most_accurate_plan(query(N, N, 1, Budget(MaxDivergence(), 10**6))).bind_candidates(ITEMS).measurement(TABLE)
    assert sum(drawn.counts) == 40
    assert sorted(truth) != sorted(np.bincount([item for items in OWN for item in items]).tolist())


def test_what_is_promised_of_a_busy_item_whose_visitors_keep_others_is_of_kept_rows() -> None:
    rows = [(user, item) for user in range(300) for item in (("ATL", "AUS") if user < 260 else ("AUS", "BOS"))]
    asked = replace(query(3, 3, 1, Budget(MaxDivergence(), 1), keep="order"), alpha=Fraction(1, 10**9))
    plan = most_accurate_plan(asked)
    told = plan.query.task.accuracy_guarantees(plan)
    found = plan.bind_candidates(["ATL", "AUS", "BOS"]).measurement(
        pl.DataFrame(rows, schema=["user", "item"], orient="row")
    )
    counts = dict(zip(found.items, found.counts, strict=True))
    within = told["count_accuracy"].within_users
    assert all(abs(counts[item] - kept) <= within for item, kept in (("ATL", 260), ("AUS", 40), ("BOS", 0)))
    assert abs(counts["AUS"] - 300) > 4 * within  # all of its visitors, of whom nothing may be promised
    for name, promise in told.items():
        assert "of each user at most 1 item, the first in alphabetical order" in promise.words, name
        assert "not of the whole table" in promise.words, name


def broken(plan: Plan[Any, UserUnit], keep: str, runs: int) -> tuple[int, int, int]:
    """How many of so many releases break each sentence, and the one on counts if its width were a twentieth less."""
    task, most = plan.query.task, plan.query.unit.columns.max_items or 0
    told = task.accuracy_guarantees(plan).items()
    within = {name: int(re.findall(r"within (\d+) user", one.words)[0]) for name, one in told}
    space = VectorDomain(AtomDomain(int), size=N), L01InfDistance(changes=most, monotonic=True)
    release, chance = (
        task.build_measurement(ScoreUnit(space, 1), plan.query.budget.measure, plan.scale),
        np.random.default_rng(),
    )
    ranks = counts = narrow = 0
    for _ in range(runs):
        truth = kept(most, keep, chance)
        found, falling = release(np.array(truth)), sorted(truth, reverse=True)
        ranks += max(abs(truth[at] - falling[rank]) for rank, at in enumerate(found.indices)) > within["accuracy"]
        off = max(abs(int(count) - truth[at]) for at, count in zip(found.indices, found.counts, strict=True))
        counts += off > within["count_accuracy"]
        narrow += off > 0.95 * within["count_accuracy"]
    return ranks, counts, narrow


def tail(wrong: int, runs: int, alpha: Fraction) -> Fraction:
    """The probability of at least so many failures if each has alpha."""
    often, rarely = alpha.numerator, alpha.denominator - alpha.numerator
    term, fewer = rarely**runs, 0
    for one in range(wrong):
        fewer += term
        term = term * (runs - one) * often // ((one + 1) * rarely)  # without a remainder
    return 1 - Fraction(fewer, alpha.denominator**runs)


@pytest.mark.slow
def test_no_sentence_is_false_more_often_than_it_says() -> None:
    """Refuted by chance with a probability of at most 1e-8; counts a twentieth nearer are refuted nearly always."""
    runs, wrong = 10_000, []
    for budget, row, keep in (
        (TENTH, HISTOGRAMS[0], "order"),
        (TENTH, HISTOGRAMS[0], "random"),
        (TENTH, None, "random"),
        (BUDGETS[1], HISTOGRAMS[1], "random"),
        (BUDGETS[1], None, "order"),
    ):
        asked = query(N, N, 2, budget, keep=keep)
        row = row or asked.task.mechanism
        plan = plan_query(replace(asked, task=replace(asked.task, mechanism=row, alternatives=())))
        ranks, counts, narrow = (tail(one, runs, asked.alpha) for one in broken(plan, keep, runs))
        if min(ranks, counts) <= Fraction(1, 10**9) or narrow >= Fraction(1, 10**4):
            wrong.append((row.name, keep, float(ranks), float(counts), float(narrow)))
    assert wrong == []
