"""The ledger on either back end: what it debits, refuses and tells."""

import math
import re
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

from .conftest import Make, draws_nothing, new
from .workers import PURE, SPACE, ZCDP, costing

APPROXIMATE = tk.Approximate(PURE)


def test_ten_tenths_fit_in_one(make: Make) -> None:
    """0.1 is one tenth where a person wrote it; a float that a map computed is what it is."""
    ledger = make("1")
    for amount in ("0.1", 0.1, Decimal("0.1"), Fraction(1, 10), "1/10", "1e-1", 0.1, "0.10", "0.1", "0.1"):
        ledger.reserve(cost=amount)
    assert (ledger.spent(), ledger.remaining()) == (1.0, 0.0)
    raises_exactly(tk.errors.BudgetError, lambda: ledger.reserve(cost="1e-300"), "0.0 is left")


def test_a_cost_that_a_map_computed_is_exact(make: Make) -> None:
    tenth = costing(0.1)
    ledger = make(Fraction(0.1) * 3)
    for _ in range(3):
        assert ledger.fits(tenth)
        assert ledger.release(tenth, [1, 2, 3]) == 3
    assert not ledger.fits(tenth)
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(tenth, [1]))
    assert str(ledger.remaining()) == "0.0"
    assert ledger.spent() >= Fraction(0.1) * 3


def test_a_cost_one_ulp_above_what_is_left_is_refused(ledger: tk.ledger.Ledger) -> None:
    ledger.release(costing(0.5), [1])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(math.nextafter(0.5, 1)), [1]))
    ledger.release(costing(0.5), [1])
    assert ledger.remaining() == 0.0


def test_an_entry_keeps_the_digest_of_its_record_and_no_later_one(ledger: tk.ledger.Ledger) -> None:
    seen: list[Any] = []
    reserved = ledger.reserve(costing(0.25))
    head = ledger.head()
    assert reserved.release([1, 2], recorded=lambda released: seen.append(released) or "sha256:1") == 2
    assert seen == [2]
    assert (ledger.history()[0].state, ledger.history()[0].record) == ("released", "sha256:1")
    ledger._journal.settle(1, "released", "sha256:2")
    assert ledger.history()[0].record == "sha256:1"
    assert ledger.head(1) == head == reserved.payment_fields["head"] != ledger.head()
    assert ledger.verify(head) == []


def test_where_no_record_can_be_made_nothing_was_released(ledger: tk.ledger.Ledger) -> None:
    def failing(released: Any) -> str:
        raise OSError

    with pytest.raises(OSError) as caught:
        ledger.reserve(costing(0.25)).release([1], recorded=failing)
    assert "keeps the debit of entry 1" in caught.value.__notes__[0]
    assert (ledger.history()[0].state, ledger.history()[0].record, ledger.spent()) == ("failed", None, 0.25)


def test_the_debit_is_made_before_the_data_are_looked_at(connect: str, ledger: tk.ledger.Ledger) -> None:
    def function(data: Any) -> list[str]:
        with tk.ledger.Ledger(connect) as other:
            return [one.state for one in other.history()]

    assert ledger.release(costing(0.25, function=function), [1]) == ["reserved"]
    with pytest.raises(tk.errors.DataError) as caught:
        ledger.release(costing(0.25), ["not a number"])
    assert caught.value.__notes__ == ["the budget was spent: the ledger keeps the debit of entry 2"]
    assert ledger.spent() == 0.5, "a release that fails on its data has still cost"

    def failing(data: Any) -> int:
        raise ZeroDivisionError

    raises_exactly(ZeroDivisionError, lambda: ledger.release(costing(0.25, function=failing), [1]))
    assert ledger.spent() == 0.75
    assert [one.state for one in ledger.history()] == ["released", "failed", "failed"]


def test_what_is_refused_costs_nothing_and_draws_nothing(ledger: tk.ledger.Ledger) -> None:
    drawn: list[int] = []
    with pytest.raises(tk.errors.BudgetError, match=r"cost 1\.5 of epsilon, but 1\.0 is left"):
        ledger.release(costing(1.5, function=drawn.append), [1])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(math.inf, function=drawn.append), [1]), "inf")
    assert drawn == []
    assert ledger.spent() == 0.0
    assert ledger.history() == []
    ledger.release(costing(1.0), [1])


def test_deeds_are_logged_without_data(ledger: tk.ledger.Ledger, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="opendp_topk")
    ledger.release(SPACE >> tk.then_report_noisy_top_k(PURE, k=2, scale=8.0), [48_151_623, 7, 42])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(1.5), [48_151_623]))
    raises_exactly(tk.errors.DataTypeError, lambda: ledger.release(costing(0.25), ["48151623"]))
    said = [record.getMessage().rpartition(": ")[2] for record in caplog.records if record.name.startswith("opendp")]
    assert said[:2] == ["entry 1 is debited, and 0.75 is left", "entry 1 is released"]
    assert said[2:4] == ["it would cost 1.5, but 0.75 is left", "entry 2 is debited, and 0.5 is left"]
    assert said[4:] == ["entry 2 is failed"]
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert "48151623" not in caplog.text


def test_a_notebook_shows_what_is_left(ledger: tk.ledger.Ledger) -> None:
    ledger.reserve(cost="0.25", label="<b>")
    shown = ledger._repr_html_()
    rows = dict(re.findall(r'<th scope="row"[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>', shown))
    assert (rows["left"], rows["spent"], rows["budget"], rows["entries"]) == ("0.75", "0.25", "1", "1")


def test_history_tells_what_when_by_whom_and_at_what_cost_but_no_data(connect: str) -> None:
    ledger = new(connect, 1, operator="Ada")
    top2 = SPACE >> tk.then_report_noisy_top_k(PURE, k=2, scale=8.0)
    ledger.release(top2, [48_151_623, 7, 42], d_in=Fraction(3, 2), label="week 1")
    ledger.release(costing(0.5), [1], d_in=2)
    first, second = ledger.history()
    assert (first.number, second.number) == (1, 2)
    assert first.measurement == repr(top2)
    assert (first.label, first.operator, first.state) == ("week 1", "Ada", "released")
    assert first.claim.startswith("sha256:")
    assert first.claim != second.claim
    assert "measurements/report_noisy_top_k" in first.proof
    assert "unproven" in second.proof
    assert (first.d_in, second.d_in) == ("3/2", "2")
    assert first.cost == top2.map(Fraction(3, 2)) == 0.25
    assert (first.spent, second.spent) == (0.25, 0.75)
    assert first.time.endswith("+00:00")
    assert "48151623" not in str([record.fields for record in ledger._journal.log.iter_records()])


@pytest.mark.parametrize(
    ("measure", "budget", "cost"),
    [(PURE, 1, 0.5), (ZCDP, 1, 0.5), (APPROXIMATE, (1, 1e-6), (0.5, 5e-7)), (tk.Approximate(ZCDP), (1, 1), (0.5, 0))],
)
def test_every_additive_measure(connect: str, measure: tk.Measure, budget: Any, cost: Any) -> None:
    if isinstance(cost, tuple):
        budget = tuple(Fraction(part) for part in budget)  # floats that are computed are no decimals
        cost = tuple(float(part) if part else 0.0 for part in cost)
        budget = (budget[0], Fraction(cost[1]) * 2)
    ledger = new(connect, budget, measure)
    for _ in range(2):
        ledger.release(costing(cost, measure), [1])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(cost, measure), [1]))
    ledger.close()
    again = tk.ledger.Ledger(connect)
    assert again.measure == measure
    assert again.spent() == measure.distance(tuple(2 * part for part in cost) if isinstance(cost, tuple) else 1, "x")


def test_delta_is_a_budget_of_its_own(make: Make) -> None:
    ledger = make((10, 1e-6), APPROXIMATE)
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing((0.0, 2e-6), APPROXIMATE), [1]))
    ledger.release(costing((10.0, 0.0), APPROXIMATE), [1])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing((0.1, 0.0), APPROXIMATE), [1]))


def test_a_free_release_fits_into_a_spent_budget(ledger: tk.ledger.Ledger) -> None:
    ledger.release(costing(1.0), [1])
    assert ledger.release(costing(0.0), [1, 2]) == 2


def test_reopening_keeps_the_debits(connect: str, ledger: tk.ledger.Ledger) -> None:
    ledger.release(costing(0.75), [1])
    ledger.close()
    with tk.ledger.Ledger(connect) as again:
        assert again.remaining() == 0.25
        assert (again.dataset, again.metric, again.d_in) == ("votes", "LInfDistance(monotonic=True)", 1)
    assert repr(again).endswith("budget=1.0, measure=MaxDivergence(), dataset='votes')")


def test_a_measurement_under_another_measure_is_refused(ledger: tk.ledger.Ledger) -> None:
    raises_exactly(tk.errors.SpaceError, lambda: ledger.release(costing(0.1, ZCDP), [1]))
    raises_exactly(tk.errors.SpaceError, lambda: ledger.release(costing((0.1, 0.0), APPROXIMATE), [1]))
    raises_exactly(tk.errors.ParameterTypeError, lambda: ledger.release(len, [1]))  # type: ignore[arg-type]
    raises_exactly(tk.errors.ParameterError, lambda: ledger.release(costing(0.1), [1], d_in=-1))
    raises_exactly(tk.errors.ParameterError, lambda: ledger.release(costing(0.1), [1], delta=0.1))
    assert ledger.spent() == 0.0


def test_a_conversation_of_the_library_is_refused(ledger: tk.ledger.Ledger) -> None:
    talk = SPACE >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[0.5])
    raises_exactly(tk.errors.ParameterError, lambda: ledger.release(talk, [1]), "interactive")
    assert ledger.history() == []


def test_what_is_left_is_rounded_down_and_what_is_spent_up(ledger: tk.ledger.Ledger) -> None:
    ledger.release(costing(2.0**-60), [1])
    assert ledger.remaining() == math.nextafter(1, 0)
    ledger.release(costing(0.5), [1])
    assert ledger.spent() == math.nextafter(0.5, 1)
    assert Fraction(ledger.spent()) + Fraction(ledger.remaining()) >= 1 - Fraction(1, 2**53)


def test_a_closed_ledger_releases_nothing(ledger: tk.ledger.Ledger) -> None:
    ledger.close()
    draws_nothing(ledger, "closed")


def test_threads_share_one_object(make: Make) -> None:
    ledger = make(50)
    refused = []

    def work() -> None:
        for _ in range(15):
            try:
                ledger.release(costing(1.0), [1])
            except tk.errors.BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.history()) == 50
    assert len(refused) == 10
    assert ledger.verify() == []


def test_two_objects_on_one_ledger_see_each_other(connect: str, ledger: tk.ledger.Ledger) -> None:
    other = tk.ledger.Ledger(connect)
    ledger.release(costing(0.75), [1])
    assert other.remaining() == 0.25
    raises_exactly(tk.errors.BudgetError, lambda: other.release(costing(0.5), [1]))


@pytest.mark.parametrize("label", [7, "two\nlines", "x" * 1001, None])
def test_a_label_is_one_line(ledger: tk.ledger.Ledger, label: Any) -> None:
    raises_exactly(tk.errors.ParameterError, lambda: ledger.release(costing(0.1), [1], label=label), "label")
    assert ledger.history() == []
