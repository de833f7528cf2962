"""Filters side by side: random adaptive conversations never overspend, and the counts of releases that fit.

Tries proofs/ledger/filters.tex. The laws of a conversation are enumerated here, answer by answer, and share no code
with what the ledger adds up.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.amounts import BudgetAccount, add_amounts, is_limit_within_budget, open_account
from opendp_topk.errors import BudgetError, ParameterError, QueryError
from opendp_topk.spaces.curves import closed_forms
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.stated import from_json, pure_of, rho_of, serializable_curve, steps_of, to_json
from tests.concepts.sentinels import raises_exactly

from ..oracles import rhos
from .conftest import Make, new
from .test_processes import run
from .workers import PURE, SPACE, ZCDP, costing

PROFILE, RANGE = tk.PrivacyProfile(), tk.RangeDivergence()
APPROXIMATE = tk.Approximate(PURE)
Pair = tuple[tuple[float, float], ...]  # of each answer its probability on the one data set and on the other


def response(epsilon: float, way: int) -> Pair:
    """Randomised response: the worst pair of that epsilon."""
    up = 1 / (1 + math.exp(-epsilon))
    return ((up, 1 - up), (1 - up, up))[:: 1 - 2 * way]


def ranged(a: float, share: float) -> Pair:
    """Two answers whose losses lie ``a`` apart: the first has ``share`` of it."""
    t = share * a
    p = math.expm1(a - t) / math.expm1(a) if a else 0.5
    return (p, p * math.exp(t)), (1 - p, 1 - p * math.exp(t))


def broken(pair: Pair, delta: float) -> Pair:
    """``pair`` up to a delta, with which an answer tells which of the two data sets it was."""
    kept = tuple((p * (1 - delta), q * (1 - delta)) for p, q in pair)
    return (*kept, (delta, 0.0), (0.0, delta))


Query = tuple[tk.Measure, Any, Pair, Any]


def asked(random: Random, size: float) -> Query:
    """A measure, a loss under it, a pair of laws that has this loss, and the delta at which it is read."""
    loss = Fraction(math.ceil(1000 * size * random.choice((0.3, 0.6, 1.0))), 1000)
    kind, way, share = random.randrange(6), random.randrange(2), random.random()
    epsilon = float(loss)
    if kind == 0:
        return PURE, loss, response(epsilon, way), None
    if kind == 1:
        return RANGE, loss, ranged(epsilon, share), None
    if kind == 2:
        own = Fraction(random.randrange(1, 4), 500)
        return APPROXIMATE, (loss, own), broken(response(epsilon, way), float(own)), None
    if kind == 3:
        rho = rhos.of_pure(loss) * Fraction(1001, 1000)
        return ZCDP, rho, response(epsilon, way), None
    bounds = ApproximateDP(loss), LaplacePair(loss)
    if kind == 4:
        return PROFILE, PrivacyCurve(*bounds), response(epsilon / 2, way), None
    return PROFILE, PrivacyCurve(AdaptiveRangeBound(1, loss), ApproximateDP(loss)), ranged(epsilon, share), None


def overspent(account: BudgetAccount, random: Random, depth: int, size: float) -> float:
    """By how much an adversary who asks at random, each history in its own way, exceeds the budget's delta."""
    epsilon, delta = map(float, account.budget)

    def beyond(spent: Any, p: float, q: float, left: int) -> float:
        """The sum of (p - e^epsilon q)+ over all ends of a history that has these probabilities."""
        for _ in range(3 if left else 0):
            measure, loss, pair, at = asked(random, size)
            cost = account.charge_for_loss(measure, loss, at)
            after = None if cost is None else add_amounts(spent, cost)
            if after is not None and account.is_total_allowed(after):
                return math.fsum(beyond(after, p * one, q * other, left - 1) for one, other in pair)
        return max(0.0, p - math.exp(epsilon) * q)

    return beyond(account.zero_amount, 1.0, 1.0, depth) - delta


STEPS = {
    "none": None,
    "pure": PrivacyCurve(ApproximateDP(Fraction(3, 10))),
    "range": PrivacyCurve(AdaptiveRangeBound(1, Fraction(1, 2)), ApproximateDP(Fraction(1, 2))),
    "joined": PrivacyCurve(LaplacePair(Fraction(1, 2)), ApproximateDP(Fraction(1, 2))),
}
BUDGETS = [(step, *budget) for step in STEPS for budget in (((1, "0.02"), "0.001"), ((2, "0.002"), "0"))]


def accounts(*steps: str) -> list[BudgetAccount]:
    return [open_account(PROFILE, budget, own, STEPS[step]) for step, budget, own in BUDGETS if step in steps]


@pytest.mark.slow
def test_adaptive_conversations_never_overspend() -> None:
    """200 adversaries, each of whom asks on every history in another way; all their histories are enumerated."""
    found = []
    for number, account in enumerate(accounts(*STEPS)):
        for turn in range(25):
            size = float(account.budget[0]) * (0.1, 0.25, 0.5)[turn % 3]
            found.append((overspent(account, Random(100 * number + turn), 8, size), number, turn))
    assert len(found) >= 200
    assert [one for one in found if one[0] > 1e-12] == []


@pytest.mark.slow
def test_some_adaptive_conversations_never_overspend() -> None:
    tried = [account for account in accounts("none", "pure") for _ in range(3)]
    found = [overspent(account, Random(7 + n), 5, float(account.budget[0]) / 3) for n, account in enumerate(tried)]
    assert [one for one in found if one > 1e-12] == []


def greedy(account: BudgetAccount, query: tuple[tk.Measure, Any], most: int = 400) -> int:
    """How many equal releases fit."""
    spent, cost = account.zero_amount, account.charge_for_loss(*query)
    for count in range(most):
        if cost is None or not account.is_total_allowed(spent := add_amounts(spent, cost)):
            return count
    return most


def responses_within(epsilon: Fraction, each: Fraction, delta: Fraction) -> int:
    """The largest number of randomised responses that are (epsilon, delta)-private together, by the binomial law."""
    with mpmath.workdps(40):
        e, step = (mpmath.mpf(one.numerator) / one.denominator for one in (epsilon, each))
        up = 1 / (1 + mpmath.exp(-step))

        def lost(n: int) -> Any:
            return mpmath.fsum(
                mpmath.binomial(n, k) * up**k * (1 - up) ** (n - k) * (1 - mpmath.exp(e - (2 * k - n) * step))
                for k in range(n + 1)
                if (2 * k - n) * step > e
            )

        at, n = mpmath.mpf(delta.numerator) / delta.denominator, 1
        while lost(n + 1) <= at * (1 + mpmath.mpf(10) ** -12):
            n += 1
        return n


@pytest.mark.slow
def test_equal_releases_fit_as_often_as_their_composed_curve_allows() -> None:
    for epsilon, delta, each in ((1, "1e-6", "1/10"), (1, "1e-9", "1/2"), (2, "1e-5", "1/8")):
        pure = Fraction(each)
        account = open_account(PROFILE, (epsilon, delta), 0, PrivacyCurve(ApproximateDP(pure)))
        fit = greedy(account, (PURE, pure))
        assert fit == responses_within(Fraction(epsilon), pure, Fraction(delta) * Fraction(15, 16)), (epsilon, each)
        assert fit >= greedy(open_account(PROFILE, (epsilon, delta)), (PURE, pure))


@pytest.mark.further
def test_never_worse_than_adding_epsilons_or_rhos() -> None:
    """With or without a step; of rho, what the share of the step leaves of delta."""
    rho_of_all = open_account(tk.Approximate(ZCDP), (open_account(PROFILE, (1, "1e-6")).limit[0], "1e-6"))
    for step in (None, PrivacyCurve(ApproximateDP(Fraction(1, 2)))):
        account = open_account(PROFILE, (1, "1e-6"), 0, step)
        for each in (Fraction(1, 3), Fraction(1, 5), Fraction(1, 50), Fraction(1, 100)):
            least = max(1 // each, greedy(rho_of_all, (tk.Approximate(ZCDP), (float(rhos.of_pure(each)) * 1.0001, 0))))
            assert greedy(account, (PURE, each)) >= least * (1 if step is None else 0.99), each


def test_a_pure_release_fits_where_its_rho_does_not(make: Make) -> None:
    ledger = make((1, "1e-9"), PROFILE)
    half = costing(Fraction(1, 2))
    ledger.release(half, [1])
    assert [(one.adds, one.alive) for one in ledger.filters()] == [("rho", False), ("epsilon", True), ("renyi", True)]
    assert ledger.room()["epsilon"] == 0.5
    assert 0 < ledger.room()["rho"] == ledger.remaining()[0] < ledger.limit[0] / 10
    ledger.release(half, [1])
    raises_exactly(BudgetError, lambda: ledger.release(costing(0.001), [1]), "A release fits with epsilon up to 0.0")
    assert (ledger.verify(), ledger.count()) == ([], 2)


def test_a_dead_filter_admits_nothing_more(make: Make) -> None:
    ledger = make((1, "1e-6"), PROFILE)
    limit = Fraction(ledger.limit[0])
    ledger.release(costing(limit * Fraction(9, 10), ZCDP), [1])
    assert [one.alive for one in ledger.filters()] == [True, False, True]
    much, more = costing(Fraction(9, 10)), costing(limit, ZCDP)
    raises_exactly(BudgetError, lambda: ledger.release(much, [1]), "rho up to 0.00", "or 0.9 of epsilon, but")
    assert "of epsilon" not in str(raises_exactly(BudgetError, lambda: ledger.release(more, [1])))
    most = ledger.room()["epsilon"]
    raises_exactly(BudgetError, lambda: ledger.release(costing(Fraction(most) * Fraction(1001, 1000)), [1]))
    ledger.release(costing(most), [1])
    assert ledger.room()["rho"] < ledger.limit[0] / 100


def test_a_refusal_says_with_which_scale_it_would_fit(make: Make) -> None:
    space = tk.FrameDomain(user="user", item="item"), tk.UserDistance()
    count = space >> tk.then_count_by_item(candidates=["a", "b", "c"])

    def chained(scale: float) -> tk.Measurement:
        noisy = count >> tk.then_report_noisy_top_k(PURE, k=2, scale=scale)
        return noisy >> tk.index_candidates(["a", "b", "c"])

    ledger = make(1, metric=space[1])
    ledger.reserve(cost="0.95")
    raises_exactly(BudgetError, lambda: ledger.reserve(chained(4)), "It fits with a scale of 40 or more")
    assert (ledger.fits(chained(40)), ledger.fits(chained(39.9))) == (True, False)
    raises_exactly(BudgetError, lambda: ledger.reserve(cost="0.06"), "0.05 is left")
    ledger.reserve(cost=str(ledger.remaining()))
    assert "scale" not in str(raises_exactly(BudgetError, lambda: ledger.reserve(chained(4))))


@pytest.mark.further
def test_the_split_of_delta_is_shown_and_is_all_of_it(make: Make) -> None:
    step = costing(Fraction(1, 20))
    ledger = make((1, "1e-6"), PROFILE, own_delta="2e-7", step=step)
    shares = {one.adds: one.delta for one in ledger.filters()}
    assert shares.pop("renyi") == shares["rho"], "one share for both"
    assert sum(shares.values()) + Fraction(2, 10**7) == Fraction(1, 10**6)
    assert shares["epsilon"] == 0 < min(shares["rho"], shares["steps"])
    (steps,) = [one for one in ledger.filters() if one.adds == "steps"]
    assert steps.limit == responses_within(Fraction(1), Fraction(1, 20), Fraction(8, 10**7) * Fraction(15, 16))
    for _ in range(3):
        ledger.release(step, [1])
    ledger.release(costing(Fraction(1, 40)), [1])
    assert [one.spent for one in ledger.filters() if one.adds == "steps"] == [4]
    assert ledger.verify() == []


@pytest.mark.further
def test_a_header_that_promises_more_is_noticed() -> None:
    account = open_account(PROFILE, (1, "1e-6"), "1e-7", PrivacyCurve(ApproximateDP(Fraction(1, 10))))
    assert is_limit_within_budget(account)
    rho, own, pure, steps, divergence = account.limit
    shares = account.shares or ()
    order = account.order or Fraction(2)
    more = Fraction(101, 100)
    lies: dict[str, Callable[[], BudgetAccount]] = {
        "rho": lambda: replace(account, limit=(rho * more, own, pure, steps, divergence)),
        "renyi": lambda: replace(account, limit=(rho, own, pure, steps, divergence * more)),
        "both": lambda: replace(account, limit=(rho * more, own, pure, steps, divergence * more)),
        "order": lambda: replace(account, order=order / more),
        "own": lambda: replace(account, limit=(rho, own * 2, pure, steps, divergence)),
        "pure": lambda: replace(account, limit=(rho, own, pure * Fraction(21, 20), steps, divergence)),
        "steps": lambda: replace(account, limit=(rho, own, pure, steps + 1, divergence)),
        "shares": lambda: replace(account, shares=(shares[0] * 2, shares[1])),
        "step": lambda: replace(account, step=PrivacyCurve(ApproximateDP(Fraction(21, 200)))),
    }
    assert [name for name, lie in lies.items() if is_limit_within_budget(lie())] == []


@pytest.mark.parametrize(
    ("budget", "step", "fit"),
    [
        ((1, "1e-6"), ZCDPBound(5), 0),
        ((1, "1e-6"), ZCDPBound(Fraction(1, 80)), 1),
        ((1, 0), ApproximateDP(Fraction(1, 3)), 3),
        ((1, 0), ApproximateDP(2), 0),
    ],
)
def test_an_account_counts_no_step_that_does_not_fit(budget: Any, step: Any, fit: int) -> None:
    account = open_account(PROFILE, budget, 0, PrivacyCurve(step))
    assert (account.limit[3], is_limit_within_budget(account)) == (fit, True)
    assert greedy(account, (PROFILE, PrivacyCurve(step))) == fit


def test_what_a_curve_states_is_read() -> None:
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    step = PrivacyCurve(AdaptiveRangeBound(1, half), ApproximateDP(half))
    three = PrivacyCurve(AdaptiveRangeBound(3, half))
    twice = PrivacyCurve(Composed(((PrivacyCurve(LaplacePair(half)), 2),)))
    assert (pure_of(step), pure_of(three), pure_of(twice)) == (half, 3 * half, 1)
    assert pure_of(PrivacyCurve(ZCDPBound(tenth))) == math.inf
    for curve, rho in (
        (PrivacyCurve(ApproximateDP(half)), rhos.of_pure(half)),
        (three, 3 * rhos.of_range(half)),
        (twice, 2 * rhos.of_laplace(half)),
        (PrivacyCurve(ApproximateDP(half), ZCDPBound(tenth)), tenth),
    ):
        assert rho <= rho_of(curve) <= rho * (1 + Fraction(1, 2**90))
    assert [steps_of(one, step) for one in (step, three, twice)] == [1, 3, math.inf]
    assert steps_of(PrivacyCurve(AdaptiveRangeBound(1, Fraction(51, 100))), step) == math.inf
    assert steps_of(twice, PrivacyCurve(LaplacePair(half))) == 2
    assert steps_of(PrivacyCurve(ApproximateDP(0)), step) == 0
    assert pure_of(PrivacyCurve(closed_forms.NormalPair(half))) == math.inf
    arrivals = PrivacyCurve(
        closed_forms.ArrivalTimes(half, 3), Composed(((PrivacyCurve(closed_forms.ArrivalTimes(tenth)), 2),))
    )
    assert pure_of(arrivals) == rho_of(arrivals) == math.inf
    assert rho_of(PrivacyCurve(lambda epsilon: 0.5)) == math.inf
    for curve in (
        step,
        three,
        twice,
        arrivals,
        (SPACE >> tk.then_peeled_top_k(PROFILE, k=2, scale=3, mechanism="permute_and_flip")).map(1),
    ):
        kept = serializable_curve(curve)
        assert kept is not None
        assert from_json(to_json(kept)) == kept
    for wrong in ([["ApproximateDP", "0.5", 0]], [["ApproximateDP", "1/2"]], [["open", "x"]], [], 7):
        with pytest.raises((ValueError, KeyError, TypeError)):
            from_json(wrong)


def test_a_curve_that_states_a_rho_is_charged_that() -> None:
    account = open_account(PROFILE, (1, "1e-6"))
    top = (SPACE >> tk.then_report_noisy_top_k(PROFILE, k=10, scale=100)).map(1)
    cost = account.charge_for_loss(PROFILE, top)
    assert cost is not None
    rho = (SPACE >> tk.then_report_noisy_top_k(ZCDP, k=10, scale=100)).map(1)
    assert cost[0] <= Fraction(rho) * (1 + Fraction(1, 2**50)) < rhos.of_pure(Fraction(1, 10)) / 3
    assert cost[2] == Fraction(1, 10)


# Planned releases.


SCORES = list(range(20))


@pytest.mark.further
def test_planned_releases_are_one_debit_and_drawn_once_from_any_process(path: Path) -> None:
    weeks = [(SPACE >> tk.then_permute_and_flip(PURE, scale=30), f"week {n}") for n in (1, 2, 3)]
    with new(path, (1, "1e-2"), PROFILE, own_delta="1e-2") as ledger:
        plan = ledger.reserve_all(weeks, label="three weeks")
        assert plan.labels == ("week 1", "week 2", "week 3")
        assert ledger.filters()[1].spent < Fraction(1, 10), "the composed curve costs less than the sum of epsilons"
        assert (ledger.spent()[1], ledger.remaining()[1]) == (0.01, 0.0), "the delta of the plan is spent"
        before = ledger.filters()
        plan.release("week 2", SCORES)
        raises_exactly(QueryError, lambda: plan.release("week 2", SCORES), "already drawn")
    with tk.ledger.Ledger(path) as again:
        other = again.planned(1)
        assert other.left() == ("week 1", "week 3")
        raises_exactly(ParameterError, lambda: other.reserve("W2"), "that are left: 'week 1', 'week 3'")
        raises_exactly(ParameterError, lambda: other.reserve("week 1"), "measurement must be given")
        louder = SPACE >> tk.then_permute_and_flip(PURE, scale=29)
        raises_exactly(ParameterError, lambda: other.release("week 1", SCORES, louder), "must not lose more")
        raises_exactly(ParameterError, lambda: other.release("week 9", SCORES, louder), "label")
        other.release("week 1", SCORES, SPACE >> tk.then_permute_and_flip(PURE, scale=31))
        assert again.filters() == before
        assert [(one.label, one.state, one.within) for one in again.history()] == [
            ("three weeks", "reserved", None), ("week 2", "released", 1), ("week 1", "released", 1)
        ]  # fmt: skip
        other.close()
        raises_exactly(QueryError, lambda: other.release("week 3", SCORES, weeks[2][0]))
        assert (other.left(), again.verify()) == ((), [])
        raises_exactly(ParameterError, lambda: again.planned(2), "not paid for planned releases")


def test_planned_releases_are_summed_under_measures_whose_losses_add(make: Make) -> None:
    tenth = SPACE >> tk.then_permute_and_flip(PURE, scale=10)
    ledger = make(1)
    plan = ledger.reserve_all([(tenth, str(n)) for n in range(10)])
    assert (ledger.spent(), ledger.remaining()) == (1.0, 0.0)
    plan.release("7", SCORES)
    raises_exactly(BudgetError, lambda: ledger.reserve_all([(tenth, "one more")]))
    raises_exactly(ParameterError, lambda: plan.release("3", SCORES, SPACE >> tk.then_permute_and_flip(PURE, scale=9)))
    assert ledger.verify() == []


@pytest.mark.slow
def test_a_place_is_drawn_once_whichever_processes_are_killed(connect: str) -> None:
    """40 kills of processes that all want the same places: what was seen is drawn, and no place was seen twice."""
    rounds = run("draws", connect, 40, 6)
    assert len(rounds) == 10
    for seen, left, problems, spent in rounds:
        assert len(seen) == len(set(seen)), "a place was released twice"
        assert not set(seen) & set(left), "a place that was released can be drawn again"
        assert (problems, spent) == ([], 60.0)
    seen, left, *_ = rounds[-1]
    assert len(seen) >= 10
    assert len(seen) + len(left) >= 240 - 40, "each death loses one place at most"


def test_what_is_no_plan_is_refused(make: Make) -> None:
    ledger = make(1)
    tenth = costing(Fraction(1, 10))
    for wrong in ([], [tenth], [(tenth, "a"), (tenth, "a")], 7, [(tenth, "a", 1)]):
        raises_exactly(ParameterError, lambda wrong=wrong: ledger.reserve_all(wrong))
    raises_exactly(ParameterError, lambda: ledger.reserve_all([(costing(math.inf), "a")]), "finite")
    raises_exactly(ParameterError, lambda: ledger.reserve_all([(tenth, "a")], delta="1e-9"), "delta")
    assert ledger.history() == []


@pytest.mark.further
def test_a_plan_keeps_its_delta_among_other_releases() -> None:
    """An adversary draws from a plan between other releases, in an order of his own; all histories are enumerated."""
    from opendp_topk.spaces.curves.composed import compose

    each, count, delta = 0.4, 6, 0.01
    curves = [PrivacyCurve(ApproximateDP(Fraction(2, 5)))] * count
    together = Fraction(compose(curves, adaptive=True, ordered=False).epsilon(delta))
    assert together < Fraction(9, 10) * count * Fraction(2, 5)
    for seed in range(12):
        random, free = Random(seed), 0.5
        epsilon = float(together) + free

        def beyond(p: float, q: float, left: float, places: int, random: Random = random, e: float = epsilon) -> float:
            if places and (random.random() < 0.6 or left <= 0):
                pair, left, places = response(each, random.randrange(2)), left, places - 1
            elif left > 0:
                spent = min(left, 0.25)
                pair, left = response(spent, random.randrange(2)), left - spent
            else:
                return max(0.0, p - math.exp(e) * q)
            return math.fsum(beyond(p * one, q * other, left, places) for one, other in pair)

        assert beyond(1.0, 1.0, free, count) <= delta * (1 + 1e-9)
