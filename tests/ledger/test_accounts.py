"""Budgets (epsilon, delta) from which releases under several measures are paid, each charged its rho.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.amounts import open_account
from tests.concepts.sentinels import raises_exactly

from ..oracles import rhos
from .conftest import Make
from .workers import PURE, SPACE, ZCDP, costing

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
    assert account.order is not None
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
        assert account.charge_for_loss(tk.Approximate(measure), (0.5, 0.25)) == (
            charged,
            Fraction(1, 4),
            pure,
            divergence,
        )
        assert account.charge_for_loss(measure, math.inf) is None
    assert account.charge_for_loss(PURE, 0.1)[0] >= rhos.of_pure(Fraction(0.1))  # type: ignore[index]
    curve = tk.PrivacyCurve(lambda epsilon: 2.0**-20 if epsilon >= 0.5 else 1.0)
    assert account.charge_for_loss(PROFILE, curve, 2.0**-20)[:2] == (
        *account.charge_for_loss(PURE, 0.5)[:1],
        Fraction(2) ** -20,
    )  # type: ignore[index]
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
    raises_exactly(tk.BudgetError, lambda: ledger.release(costing(2.0**-20, ZCDP), [1]))
    raises_exactly(tk.BudgetError, lambda: ledger.release(costing((0.0, 0.001), tk.Approximate(ZCDP)), [1]))
    ledger.release(costing((0.0, 2.0**-22), tk.Approximate(ZCDP)), [1])
    assert ledger.spent()[0] <= ledger.limit[0]


def test_a_delta_is_for_curves_alone(make: Make) -> None:
    ledger = make((1, "1e-6"), PROFILE)
    raises_exactly(tk.ParameterError, lambda: ledger.release(costing(0.1), [1], delta=1e-8), "delta is for")
    curve = SPACE >> tk.then_report_noisy_top_k(PROFILE, k=1, scale=100.0)
    for delta in (-1, 2, "x", math.nan):
        with pytest.raises(tk.ParameterError):
            ledger.release(curve, [1, 2], delta=delta)
    assert ledger.history() == []
