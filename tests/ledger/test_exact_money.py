"""Losses are charged exactly, and what is shown of them can be typed again.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.amounts import loss_to_amount, remaining_distance, round_up_to_distance

from .conftest import new
from .workers import PURE, SPACE, ZCDP, costing

SCORES = [3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]
TENTH = Fraction(1, 10)


def top(measure: tk.Measure, scale: Any, k: int = 1) -> tk.Measurement:
    return SPACE >> tk.then_report_noisy_top_k(measure, k=k, scale=scale)


def paid(ledger: tk.Ledger, query: tk.Measurement, most: int = 100) -> int:
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


def test_two_fives_of_tenths_fit_in_one(path: Path) -> None:
    with new(path, 1) as ledger:
        assert paid(ledger, tk.make_composition([top(PURE, 10)] * 5)) == 2
        assert not ledger.fits(costing(Fraction(1, 10**20)))


@pytest.mark.parametrize("k", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("measure", [PURE, ZCDP], ids=repr)
def test_what_is_found_for_a_tenth_fits_sixty_times_in_six(path: Path, measure: tk.Measure, k: int) -> None:
    query = tk.binary_search_chain(lambda scale: top(measure, scale, k), 1, 0.1)
    with new(path, 6, measure) as ledger:
        assert paid(ledger, query) == 60


def test_through_a_table(path: Path) -> None:
    frame = tk.FrameDomain(user="user", item="item"), tk.UserDistance()
    count = frame >> tk.then_count_by_item(candidates=["a", "b", "c"])
    with new(path, 1, metric=frame[1]) as ledger:
        pure = count >> tk.then_report_noisy_top_k(PURE, k=2, scale=20)
        for _ in range(10):
            ledger.reserve(pure)
        assert (ledger.remaining(), ledger.fits(pure)) == (0.0, False)


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
        shown = round_up_to_distance(PURE, (spent,))
        assert max(Fraction(shown), Fraction(repr(shown))) >= spent
        rest = remaining_distance(PURE, (budget,), (spent,))
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
    assert charged is not None
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


def test_stated_amounts_that_add_up_to_endless_digits_are_refused(path: Path) -> None:
    with tk.Ledger.create(path, budget=1, measure=PURE, dataset="votes", metric=SPACE[1]) as ledger:
        some = (ledger.reserve(cost=f"1/{10**295 + n}") for n in range(60))
        with pytest.raises(tk.ParameterError, match="cost must have fewer digits"):
            list(some)
        assert (5 < ledger.count() < 60, ledger.verify()) == (True, [])
        ledger.release(top(PURE, 100), [1, 2])


def test_old_entries_of_floats_are_charged_as_they_stand() -> None:
    assert loss_to_amount(PURE, 0.1) == (Fraction(0.1),)
    assert loss_to_amount(tk.Approximate(PURE), (0.1, 1e-9)) == (Fraction(0.1), Fraction(1e-9))
