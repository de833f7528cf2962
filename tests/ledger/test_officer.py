"""What a ledger says in one currency: epsilon at the delta of the budget, against an optimum computed here."""

from __future__ import annotations

from pathlib import Path

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import report as officer

from .conftest import new
from .workers import PURE, ZCDP, costing

BUDGET = ("1", "1e-6")


def epsilon_of(rho: float, own: float, delta: float) -> float:
    """The least epsilon of rho-zCDP, up to an event of probability ``own``, at ``delta``: over all orders alpha."""
    left = (delta - own) / (1 - own)

    def at(alpha: mpmath.mpf) -> mpmath.mpf:
        return alpha * rho + (mpmath.log(1 / left) + (alpha - 1) * mpmath.log(1 - 1 / alpha) - mpmath.log(alpha)) / (
            alpha - 1
        )

    return float(min(at(mpmath.mpf(1) + mpmath.mpf(2) ** (mpmath.mpf(step) / 64)) for step in range(-128, 1280)))


@pytest.mark.further
def test_a_budget_of_pairs_is_told_as_epsilon_at_its_delta(path: Path) -> None:
    ledger = new(path, BUDGET, tk.PrivacyProfile(), own_delta="5e-7")
    assert officer.budget_summary_texts(ledger) == ("epsilon 1", "epsilon 0", "epsilon 1", "at delta 1e-06")
    assert officer.attack_accuracies(ledger)[0] == 50.0
    ledger.release(costing(2.0**-8, ZCDP), [1])
    ledger.reserve(cost=("0.001", "1e-7"))
    spent = officer.spent_epsilon_or_rho(ledger)
    exact = epsilon_of(2.0**-8 + 0.001, 1e-7, 1e-6)
    assert exact * (1 - 1e-5) <= spent <= exact * 1.001
    _, gone, left, _ = officer.budget_summary_texts(ledger)
    up, down = float(gone.split()[1]), float(left.split()[1])
    assert spent <= up <= spent * 1.001
    assert (1 - spent) * 0.999 <= down <= 1 - spent
    now, end = officer.attack_accuracies(ledger)
    assert 0 <= now - 100 / (1 + float(mpmath.exp(-spent))) <= 0.101
    assert 0 <= end - 100 / (1 + float(mpmath.exp(-1))) <= 0.101


@pytest.mark.further
def test_of_several_sums_the_least_is_told(path: Path) -> None:
    """Pure releases are told as their sum where that is less than what their rho says, and the other way round."""
    ledger = new(path, ("1", "1e-9"), tk.PrivacyProfile())
    for number in range(1, 5):
        ledger.release(costing(0.25), [1])
        _, spent = officer.entry_budget_shares(ledger)[number]
        assert (officer.spent_epsilon_or_rho(ledger), spent) == (number / 4, number / 4)
    small = new(path.with_name("small.ledger"), ("2", "1e-3"), tk.PrivacyProfile())
    for _ in range(60):
        small.release(costing(2.0**-6), [1])
    assert officer.spent_epsilon_or_rho(small) < 60 / 64
    assert officer.entry_budget_shares(small)[60][1] < 60 / 128


@pytest.mark.parametrize(
    ("measure", "budget", "cost", "told"),
    [
        (PURE, 2, "0.5", ("epsilon 2", "epsilon 0.5", "epsilon 1.5", "")),
        (PURE, 1, "1/3", ("epsilon 1", "epsilon 0.3334", "epsilon 0.6666", "")),
        (ZCDP, "0.5", "0.1", ("rho 0.5", "rho 0.1", "rho 0.4", "")),
        (
            tk.Approximate(PURE),
            ("1", "1e-6"),
            ("0.25", "1e-7"),
            ("epsilon 1", "epsilon 0.25", "epsilon 0.75", "at delta 1e-06"),
        ),
    ],
)
def test_other_budgets_are_told_in_their_own(
    path: Path, measure: tk.Measure, budget: object, cost: object, told: tuple[str, ...]
) -> None:
    ledger = new(path, budget, measure)
    ledger.reserve(cost=cost)
    assert officer.budget_summary_texts(ledger)[:2] == told[:2]
    assert float(officer.budget_summary_texts(ledger)[2].split()[1]) == pytest.approx(
        float(told[2].split()[1]), rel=1e-9
    )
    assert officer.budget_summary_texts(ledger)[3] == told[3]
    now, end = officer.attack_accuracies(ledger)
    assert 50 < now < end < 100


def test_whom_it_protects_is_said_in_words() -> None:
    said = [
        officer.protected_unit_text(kind, number, "guest") for kind in ("add_remove", "replace") for number in (1, 2)
    ]
    assert said == [
        "one guest more or less",
        "2 people (each a guest) more or less",
        "one guest, whose rows are exchanged for others",
        "2 people (each a guest), whose rows are exchanged for others",
    ]
    assert officer.protected_unit_text("add_remove", 1, None) == "one user more or less"
