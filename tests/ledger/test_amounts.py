"""Losses are charged exactly under every measure, can be typed again as they are shown, and no number lowers a total.

Tries proofs/ledger/ledger.tex.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import amounts
from opendp_topk.apps.ledger.amounts import add_amounts, is_amount_within, loss_to_amount, open_account
from tests.concepts.liars import BELOW, BEYOND, Float, Integer, Rational, Text
from tests.concepts.sentinels import raises_exactly

from ..oracles import rhos
from .conftest import Make, new
from .workers import PURE, SPACE, VOTES, ZCDP, costing

PROFILE = tk.PrivacyProfile()


def renyi_delta(rho: Any, epsilon: Any) -> Any:
    """The least delta over many orders of Proposition 12 of Canonne, Kamath and Steinke, in high precision."""
    with mpmath.workdps(40):

        def at(alpha: Any) -> Any:
            return mpmath.exp((alpha - 1) * (alpha * rho - epsilon)) * (1 - 1 / alpha) ** (alpha - 1) / alpha

        orders = [1 + mpmath.mpf(2) ** (mpmath.mpf(power) / 40) for power in range(-120, 520)]
        return min(at(alpha) for alpha in orders)


@pytest.mark.further
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), (8, "1e-3"), ("1/3", "0.4")])
def test_the_limit_keeps_the_budget_and_wastes_little(epsilon: Any, delta: str) -> None:
    account = open_account(PROFILE, (epsilon, delta), Fraction(delta) / 2)
    rho, own, pure, divergence = account.limit
    assert divergence == rho * account.order
    promised, at = account.budget
    with mpmath.workdps(40):
        low, high = (mpmath.mpf(one.numerator) / one.denominator for one in (rho, promised))
        share = mpmath.mpf(own.numerator) / own.denominator
        total = mpmath.mpf(at.numerator) / at.denominator
        assert share + renyi_delta(low, high) <= total * (1 + mpmath.mpf(10) ** -3)
        assert share + renyi_delta(low * 1.01, high) > total
    assert (own, pure) == (Fraction(delta) / 2, promised)


def test_what_each_measure_is_charged() -> None:
    account = open_account(PROFILE, (1, "1e-6"), "1e-7")
    assert account.limit[1] == Fraction(1, 10**7)
    half = Fraction(1, 2)
    rho = {PURE: rhos.of_pure(half), tk.RangeDivergence(): rhos.of_range(half), ZCDP: half}
    for measure, exact in rho.items():
        pure = math.inf if measure == ZCDP else half
        charged, _, _, divergence = account.charge_for_loss(measure, 0.5) or ()
        assert 0 < divergence <= charged * (account.order or 0)
        assert exact <= charged <= exact * (1 + Fraction(1, 2**51))
        assert account.charge_for_loss(measure, 0.5) == (charged, 0, pure, divergence)
        found = account.charge_for_loss(tk.Approximate(measure), (0.5, 0.25))
        assert found == (charged, Fraction(1, 4), pure, divergence)
        assert account.charge_for_loss(measure, math.inf) is None
    assert account.charge_for_loss(PURE, 0.1)[0] >= rhos.of_pure(Fraction(0.1))
    curve = tk.PrivacyCurve(lambda epsilon: 2.0**-20 if epsilon >= 0.5 else 1.0)
    charged, delta, *_ = account.charge_for_loss(PROFILE, curve, 2.0**-20)
    assert (charged, delta) == (account.charge_for_loss(PURE, 0.5)[0], Fraction(2) ** -20)
    assert account.charge_for_loss(PROFILE, curve) is None, "no epsilon is enough at delta 0"


def test_mixed_releases_are_added_in_rho(make: Make) -> None:
    ledger = make((1, "1e-6"), PROFILE, own_delta="5e-7")
    assert ledger.counted == tk.Approximate(ZCDP)
    ledger.release(costing(0.125), [1])
    ledger.release(costing(2.0**-10, ZCDP), [1])
    ledger.release(costing((2.0**-10, 2.0**-30), tk.Approximate(ZCDP)), [1])
    top = SPACE >> tk.then_report_noisy_top_k(PROFILE, k=2, scale=100.0)
    ledger.release(top, [1, 2, 3], delta="1e-8")
    epsilon = top.map(1).epsilon(Fraction(1, 10**8))
    expected = rhos.of_pure(Fraction(0.125)) + 2 * Fraction(1, 2**10) + rhos.of_pure(Fraction(epsilon))
    spent = ledger.spent()
    assert expected <= spent[0] <= expected * (1 + Fraction(1, 2**50))
    assert spent[1] >= Fraction(1, 2**30) + Fraction(1, 10**8)
    assert ledger.verify() == []
    assert ledger.budget == (1.0, math.nextafter(1e-6, 1))
    assert ledger.promise == "1, 1e-06"


def test_the_budget_is_exhausted_and_not_exceeded(make: Make) -> None:
    ledger = make((1, "1e-6"), PROFILE, own_delta="5e-7")
    left = ledger.remaining()
    ledger.reserve(cost=(Fraction(left[0]), 0))
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(2.0**-20, ZCDP), [1]))
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing((0.0, 0.001), tk.Approximate(ZCDP)), [1]))
    ledger.release(costing((0.0, 2.0**-22), tk.Approximate(ZCDP)), [1])
    assert ledger.spent()[0] <= ledger.limit[0]


def test_a_delta_is_for_curves_alone(make: Make) -> None:
    ledger = make((1, "1e-6"), PROFILE)
    raises_exactly(tk.errors.ParameterError, lambda: ledger.release(costing(0.1), [1], delta=1e-8), "delta is only for")
    curve = SPACE >> tk.then_report_noisy_top_k(PROFILE, k=1, scale=100.0)
    for delta in (-1, 2, "x", math.nan):
        with pytest.raises(tk.errors.ParameterError):
            ledger.release(curve, [1, 2], delta=delta)
    assert ledger.history() == []


SCORES = [3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]
TENTH = Fraction(1, 10)


def top(measure: tk.Measure, scale: Any, k: int = 1) -> tk.Measurement:
    return SPACE >> tk.then_report_noisy_top_k(measure, k=k, scale=scale)


def paid(ledger: tk.ledger.Ledger, query: tk.Measurement, most: int = 100) -> int:
    """How often ``query`` is released before it is refused."""
    for times in range(most):
        if not ledger.fits(query):
            return times
        ledger.release(query, SCORES)
    return most


CHAINS: dict[str, Callable[[tk.Measurement], tk.Measurement]] = {
    "alone": lambda one: one,
    "post-processed": lambda one: one >> list,
    "approximate": lambda one: tk.make_approximate(one),
    "composed with nothing": lambda one: tk.make_composition([one]),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_ten_tenths_fit_in_one(path: Path, chain: str) -> None:
    query = CHAINS[chain](top(PURE, 10))
    budget = (1, 0) if chain == "approximate" else 1
    with new(path, budget, query.output_measure) as ledger:
        assert paid(ledger, query) == 10
        nothing = (0.0, 0.0) if chain == "approximate" else 0.0
        assert (ledger.spent(), ledger.remaining(), ledger.verify()) == (ledger.budget, nothing, [])


@pytest.mark.parametrize("k", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("measure", [PURE, ZCDP], ids=repr)
def test_what_is_found_for_a_tenth_fits_sixty_times_in_six(path: Path, measure: tk.Measure, k: int) -> None:
    query = tk.binary_search_chain(lambda scale: top(measure, scale, k), 1, 0.1)
    with new(path, 6, measure) as ledger:
        assert paid(ledger, query) == 60


def test_three_tenths_are_shown_as_such_and_the_rest_fits_when_typed(path: Path) -> None:
    with new(path, 1) as ledger:
        for _ in range(3):
            ledger.release(top(PURE, 10), SCORES)
        assert (ledger.spent(), ledger.remaining(), ledger.history()[2].spent) == (0.3, 0.7, 0.3)
        ledger.reserve(cost=str(ledger.remaining()))
        assert (ledger.spent(), ledger.remaining()) == (1.0, 0.0)


@pytest.mark.parametrize("loss", [TENTH, Fraction(1, 3), Fraction(0.1), Fraction(1, 2**53 + 1), Fraction(3, 10**30)])
def test_what_is_shown_errs_on_the_safe_side(loss: Fraction) -> None:
    for times in range(1, 40):
        spent, budget = times * loss, 40 * loss
        shown = amounts.round_up_to_distance(PURE, (spent,))
        assert max(Fraction(shown), Fraction(repr(shown))) >= spent
        rest = amounts.remaining_distance(PURE, (budget,), (spent,))
        assert 0 < Fraction(repr(rest)) <= budget - spent
        assert Fraction(repr(math.nextafter(math.nextafter(rest, math.inf), math.inf))) > budget - spent


def test_next_to_nothing_is_nothing(path: Path) -> None:
    with new(path, 1) as ledger:
        ledger.reserve(cost=Fraction(2**60 - 1, 2**60))
        assert ledger.remaining() == 0


@pytest.mark.parametrize("scale", [12.7, 0.3, 1e-3, 7e40, 3**70, Fraction(1, 3), 1e300])
def test_a_charge_is_the_loss_or_hardly_more(scale: Any) -> None:
    exact = 1 / Fraction(scale)
    (charged,) = loss_to_amount(PURE, top(PURE, scale).map(1)) or (None,)
    assert exact <= charged <= exact * (1 + Fraction(1, 2**50))
    assert charged <= Fraction(top(PURE, scale).map(1)), "never more than the float"


@pytest.mark.further
def test_sums_of_many_unlike_losses_stay_short(path: Path) -> None:
    with new(path, 1000) as ledger:
        for n in range(200):
            ledger.reserve(top(PURE, 1 + n / 7 + n / 1000))
        (last,) = ledger._journal.total_spent()
        assert last.denominator.bit_length() < 2200
        assert ledger.verify() == []


@pytest.mark.parametrize("paired", [False, True])
def test_stated_amounts_that_add_up_to_endless_digits_are_refused(path: Path, paired: bool) -> None:
    with new(path, (1, 0) if paired else 1, tk.Approximate(PURE) if paired else PURE) as ledger:
        costs = (f"1/{10**295 + n}" for n in range(60))
        some = (ledger.reserve(cost=(one, 0) if paired else one) for one in costs)
        with pytest.raises(tk.errors.ParameterError, match="cost must have fewer digits"):
            list(some)
        assert (5 < ledger.count() < 60, ledger.verify()) == (True, [])
        ledger.reserve(cost=("1/100", 0) if paired else "1/100")


def test_amounts_of_other_lengths_are_neither_added_nor_compared() -> None:
    for work in (add_amounts, is_amount_within):
        with pytest.raises(ValueError, match="zip"):
            work((Fraction(1),), (Fraction(2), Fraction(0)))


def test_old_entries_of_floats_are_charged_as_they_stand() -> None:
    assert loss_to_amount(PURE, 0.1) == (Fraction(0.1),)
    assert loss_to_amount(tk.Approximate(PURE), (0.1, 1e-9)) == (Fraction(0.1), Fraction(1e-9))


class _Curve:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, epsilon: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class _OwnMeasure(tk.MaxDivergence):
    """A measure that calls itself another one, and its distances what they are not."""

    def distance(self, value: Any, name: str) -> Any:
        return value

    def __eq__(self, other: Any) -> bool:
        return True

    def __ne__(self, other: Any) -> bool:
        return False


DOORS: dict[str, Callable[[tk.ledger.Ledger, Any], Any]] = {
    "map": lambda ledger, value: ledger.release(costing(value), [1]),
    "measure": lambda ledger, value: ledger.release(
        tk.make_user_measurement(*SPACE, _OwnMeasure(), function=len, privacy_map=lambda d_in: value), [1]
    ),
    "d_in": lambda ledger, value: ledger.release(costing(0.5), [1], d_in=value),
    "cost": lambda ledger, value: ledger.reserve(cost=value),
    "budget of a conversation": lambda ledger, value: ledger.conversation([1], budget=value),
    "entry to settle": lambda ledger, value: ledger.settle(value, "failed"),
    "entry to resume": lambda ledger, value: ledger.resume(value, [1]),
}


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
@pytest.mark.parametrize("door", DOORS)
def test_no_number_lowers_what_was_spent(path: Path, door: str, value: Any) -> None:
    """An infinite ``d_in`` is a distance: what it costs is for the map to say."""
    if door == "d_in" and repr(value) == "inf":
        value = Float("-inf")
    ledger = new(path, 4)
    ledger.release(costing(1.0), [1])
    with pytest.raises(tk.errors.TopKError):
        DOORS[door](ledger, value)
    assert (ledger.spent(), ledger.count(), ledger.verify()) == (1.0, 1, [])


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
@pytest.mark.parametrize("name", ["budget", "d_in", "own_delta"])
def test_no_ledger_is_made_with_such_a_number(path: Path, name: str, value: Any) -> None:
    given = {"budget": (1, "1e-6"), "measure": tk.PrivacyProfile(), "dataset": "votes", "metric": VOTES}
    with pytest.raises(tk.errors.ParameterError):
        tk.ledger.Ledger.create(path, **{**given, name: (value, "1e-6") if name == "budget" else value})
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("value", [*BELOW, Float("nan")], ids=repr)
@pytest.mark.parametrize("where", ["cost", "delta", "curve"])
def test_nor_does_a_second_number(path: Path, where: str, value: Any) -> None:
    """Of a pair, and of a curve at the delta that is asked for."""
    ledger = new(path, (1, "1e-6"), tk.PrivacyProfile())
    curve = tk.PrivacyCurve(_Curve(0.5))
    curve.bounds[0].value = value if where == "curve" else 0.0  # type: ignore[attr-defined]
    mine = costing(curve, tk.PrivacyProfile())
    stated: dict[str, Any] = {"cost": (0.1, value)} if where == "cost" else {"measurement": mine}
    with pytest.raises(tk.errors.TopKError):
        ledger.reserve(**stated, delta=value if where == "delta" else None)
    assert (ledger.spent(), ledger.count(), ledger.verify()) == ((0.0, 0.0), 0, [])


@pytest.mark.parametrize("value", [Float(0.5), Rational(1, 2)], ids=repr)
def test_what_such_a_number_is_counts_once(path: Path, value: Any) -> None:
    ledger = new(path, Integer(2))
    ledger.reserve(cost=value)
    ledger.release(costing(value), [1])
    assert (ledger.spent(), ledger.remaining(), ledger.verify()) == (1.0, 1.0, [])
    assert ledger._journal.total_spent() == (Fraction(1),)


def test_a_text_is_held_to_what_it_is(path: Path) -> None:
    ledger = new(path, 4)
    for what in (
        lambda: ledger.reserve(cost=1, label=Text("\x1b[2Jgone")),
        lambda: ledger.reserve(cost=1, label=Text("x" * 2000)),
        lambda: ledger.reserve(cost=Text("-5")),
        lambda: new(path.with_name("other"), 1, dataset=Text("a\nb")),
        lambda: tk.ledger.Ledger(path, operator=Text("a\nb")),
    ):
        with pytest.raises(tk.errors.ParameterError):
            what()
    assert ledger.count() == 0
