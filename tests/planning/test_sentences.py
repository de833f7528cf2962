"""What is promised of a table whose items nobody lists, on 10^4 draws of the noise: no sentence is false of kept rows.

Tables have more items of a user than count, and what is kept of them is this test's own reading of the rule.
"""

import math
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from opendp_topk.apps.planning.plan import Plan, Query, confidence_text, plan_query
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.unknown_domain import PartitionSelectionTask, StableHistogramTask, UnknownDomainTask
from opendp_topk.measurements.stable_histogram import then_stable_histogram
from opendp_topk.measurements.unknown_domain_top_k import then_unknown_domain_top_k
from opendp_topk.spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from opendp_topk.spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence

from .test_nearest import tail

RUNS = 10_000
ALPHA = Fraction(1, 20)
PURE = Budget(Approximate(MaxDivergence()), (Fraction(1), Fraction(1, 10**6)))
CONCENTRATED = Budget(Approximate(ZeroConcentratedDivergence()), (Fraction(1, 50), Fraction(1, 10**6)))
FAR = Fraction(1, 10**9)  # what chance alone refuses at most, of each sentence


def plan_of(task: Any, budget: Budget, most: int) -> Plan[Any, UserUnit]:
    return plan_query(Query(task, UserUnit(columns=Columns(max_items=most, keep="order")), budget, alpha=ALPHA))


def table(groups: int, each: int, most: int) -> pl.DataFrame:
    """``groups`` times ``each`` users with the same ``most`` items, and one more that comes later by its name."""
    rows = [
        (f"{group}:{user}", f"{group:03}-{item}")
        for group in range(groups)
        for user in range(each)
        for item in range(most + 1)
    ]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def left_out(plan: Plan[Any, UserUnit], each: int, most: int, groups: int = 100) -> tuple[int, int]:
    """How often an item that so many users keep is not released, and of how many; one of each group is looked at."""
    rows, measurement, missed, tried = table(groups, each, most), plan.bind_candidates(None).measurement, 0, 0
    while tried < RUNS:
        release = measurement(rows)
        found = set(release.items if hasattr(release, "items") else release)
        assert not any(item.endswith(f"-{most}") for item in found), "an item that nobody keeps"
        missed += sum(f"{group:03}-0" not in found for group in range(groups))
        tried += groups
    return missed, tried


def promised_users(plan: Plan[Any, UserUnit]) -> int:
    words = plan.query.task.accuracy_guarantees(plan)["accuracy"].words
    (number,) = re.findall(r"is released if (?:its count is at least )?(\d+) users?", words)
    return int(number)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("most", [1, 3])
def test_an_item_gets_in_from_the_users_that_are_named_on(budget: Budget, most: int) -> None:
    """Fewer users by half of the noise's scale, and one, are refused."""
    plan = plan_of(StableHistogramTask(), budget, most)
    least, scale = promised_users(plan), float(plan.measurement.parameters["scale"])
    missed, tried = left_out(plan, least, most)
    assert tail(missed, tried, ALPHA) > FAR
    missed, tried = left_out(plan, least - math.ceil(0.5 * scale) - 1, most)
    assert tail(missed, tried, ALPHA) < FAR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "gaussian"),
    [
        (Budget(Approximate(MaxDivergence()), (Fraction(1, 20), Fraction(1, 10**6))), False),
        (Budget(Approximate(ZeroConcentratedDivergence()), (Fraction(1, 10**4), Fraction(1, 10**6))), True),
    ],
    ids=["Laplace", "Gaussian"],
)
def test_an_item_of_fewer_users_by_a_twentieth_of_the_noise_is_refused(budget: Budget, gaussian: bool) -> None:
    """2 10^5 draws of the noise for counts that lie as high above the threshold as is said, and a twentieth less."""
    plan, keys = plan_of(StableHistogramTask(), budget, 1), 10**4
    known = {key: plan.measurement.parameters[key] for key in ("scale", "threshold", "gaussian")}
    assert known["gaussian"] == gaussian
    space = KeyedCountsDomain(), KeyedCountDistance(max_items=1)
    release = space >> then_stable_histogram(PrivacyProfile(), **known)
    least = promised_users(plan)
    for users, often in ((least, False), (least - math.ceil((least - known["threshold"]) / 20), True)):
        counts = dict.fromkeys(range(keys), users)
        missed = sum(keys - len(release(counts).items) for _ in range(20)) / (20 * keys)
        off = missed * math.log(missed / ALPHA) + (1 - missed) * math.log((1 - missed) / (1 - ALPHA))
        refuted = missed > ALPHA and math.exp(-20 * keys * off) < FAR  # by Chernoff's bound
        assert refuted == often


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("most", [1, 3])
def test_a_key_gets_in_every_second_time_from_the_users_that_are_named_on(budget: Budget, most: int) -> None:
    plan = plan_of(PartitionSelectionTask(), budget, most)
    users, half = promised_users(plan), Fraction(1, 2)
    missed, tried = left_out(plan, users, most)
    assert tail(missed, tried, half) > FAR
    missed, tried = left_out(plan, users * 9 // 10 - 1, most)
    assert tail(missed, tried, half) < FAR


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
def test_the_best_of_a_table_are_as_near_as_is_said(budget: Budget) -> None:
    """Five items lie a little more than half of the width below the best: half of the width is refused."""
    plan = plan_of(UnknownDomainTask(3, limit=6), budget, 2)
    words = plan.query.task.accuracy_guarantees(plan)["accuracy"].words
    lead, near = (int(one) for one in re.findall(r"by more than (\d+) users.* within (\d+) users", words)[0])
    base, step = near + 9, near // 2 + 1
    heights = [base + lead + step + 1, *[base + lead + 1] * 5, base]
    rows = [
        (f"{place}:{user}", item)
        for place, height in enumerate(heights)
        for user in range(height)
        for item in (f"{place}", f"own {place}:{user}", "with all, and kept by nobody")
    ]
    own: dict[str, list[str]] = {}
    for user, item in rows:
        own.setdefault(user, []).append(item)
    truth = Counter(item for items in own.values() for item in sorted(items)[:2])
    falling, known = sorted(truth.values(), reverse=True), plan.measurement.parameters
    scores = plan.query.unit.score_transformation(None)
    counts = scores(pl.DataFrame(rows, schema=["user", "item"], orient="row"))
    release: Any = (scores.output_domain, scores.output_metric) >> then_unknown_domain_top_k(
        budget.measure, k=3, scale=known["scale"], limit=6, threshold=known["threshold"]
    )
    wrong = narrow = 0
    for _ in range(RUNS):
        named = release(counts).items
        due = [item for item, count in truth.items() if count > falling[6] + lead]
        absent = len(named) < min(3, len(due)) or (len(due) <= 3 and not set(due) <= set(named))
        off = max((abs(truth[item] - falling[t]) for t, item in enumerate(named)), default=0)
        wrong += absent or off > near
        narrow += absent or off > near / 2
    assert tail(wrong, RUNS, ALPHA) > FAR
    assert tail(narrow, RUNS, ALPHA) < FAR


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (Fraction(1, 20), "95 %"),
        (Fraction(0.05), "1 - 0.05"),
        (Fraction("0.012345678"), "1 - 0.012345678"),
        (Fraction(1, 3), "1 - 0.33333333333333337"),
        (Fraction(1, 10**400), "1 - 5e-324"),
    ],
)
def test_a_probability_is_never_rounded_up(alpha: Fraction, words: str) -> None:
    assert confidence_text(alpha) == words
