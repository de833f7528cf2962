"""Conversations, reservations and planned releases: paid before they happen, and what is left when a process ends.

Tries proofs/ledger/ledger.tex and proofs/ledger/filters.tex.
"""

import dataclasses
import json
import math
import os
import pickle
import signal
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files
from opendp_topk.errors import BudgetError, ParameterError, ParameterTypeError, QueryError, SpaceError
from tests.concepts.sentinels import raises_exactly

from .conftest import Make, new
from .workers import child, costing, die, ended


def states(ledger: tk.ledger.Ledger) -> list[str]:
    return [one.state for one in ledger.history()]


def test_a_reservation_counts_before_it_is_released_and_releases_once(ledger: tk.ledger.Ledger) -> None:
    held = ledger.reserve(costing(0.5), label="a long job")
    assert (ledger.spent(), states(ledger)) == (0.5, ["reserved"])
    assert held.release([1, 2, 3]) == 3
    assert (ledger.spent(), states(ledger)) == (0.5, ["released"])
    raises_exactly(QueryError, lambda: held.release([1]), "already")
    raises_exactly(QueryError, held.settle, "already")
    raises_exactly(ParameterTypeError, lambda: pickle.dumps(held))


def test_an_amount_is_reserved_and_settled(connect: str, ledger: tk.ledger.Ledger) -> None:
    first, second = ledger.reserve(cost="0.25"), ledger.reserve(cost="0.25")
    raises_exactly(ParameterError, lambda: first.release([1]), "without a measurement")
    first.settle()
    raises_exactly(ParameterError, lambda: second.settle("gone"), "state")
    with tk.ledger.Ledger(connect) as other:
        other.settle(second.number, "failed")
        raises_exactly(ParameterError, lambda: other.settle(second.number, "released"), "already failed")
        raises_exactly(ParameterError, lambda: other.settle(3, "released"), "there are 2")
        raises_exactly(ParameterError, lambda: other.settle(2, "gone"))
    assert states(ledger) == ["released", "failed"]
    assert ledger.spent() == 0.5, "nothing is given back"
    for cost, measurement in ((None, None), ("0.1", costing(0.1))):
        raises_exactly(ParameterError, lambda c=cost, m=measurement: ledger.reserve(m, cost=c), "either")
    raises_exactly(ParameterError, lambda: ledger.reserve(cost=(1, 2)), "one number")


def test_a_block_that_fails_fails_its_reservation(ledger: tk.ledger.Ledger) -> None:
    with pytest.raises(ZeroDivisionError), ledger.reserve(cost="0.25"):
        raise ZeroDivisionError
    with ledger.reserve(cost="0.25"):
        pass
    assert states(ledger) == ["failed", "reserved"]


def test_a_reservation_serves_one_process(ledger: tk.ledger.Ledger) -> None:
    held, drawn = ledger.reserve(costing(0.5, function=len)), []
    code = ended(child(lambda: drawn.append(held.release([1]))))
    assert code == 1
    assert held.release([1]) == 1


def test_a_conversation_paid_in_full_costs_no_more_than_that(ledger: tk.ledger.Ledger) -> None:
    talk = ledger.conversation([1, 2, 3], budget="0.5", label="talk")
    assert ledger.spent() == 0.5
    assert talk(costing(0.25)) == 3
    assert talk(costing(0.125)) == 3
    assert (talk.spent(), talk.remaining(), ledger.spent()) == (0.375, 0.125, 0.5)
    drawn: list[int] = []
    raises_exactly(BudgetError, lambda: talk(costing(0.25, function=drawn.append)), "0.125 is left")
    assert drawn == []
    assert talk(costing(0.125)) == 3
    assert [one.within for one in ledger.history()] == [None, 1, 1, 1]
    assert ledger.history()[-1].used == 0.5
    assert ledger.verify() == []
    talk.close()
    raises_exactly(QueryError, lambda: talk(costing(0.0)), "closed")
    assert (ledger.spent(), states(ledger)) == (0.5, ["released"] * 4)
    raises_exactly(ParameterTypeError, lambda: pickle.dumps(talk))


def test_a_thread_that_takes_up_old_records_late_gives_nothing_back(ledger: tk.ledger.Ledger) -> None:
    talk = ledger.conversation([1, 2, 3], budget=0.5)
    talk(costing(0.25))
    early = list(ledger._journal.log.iter_records())  # another thread has read them
    talk(costing(0.25))
    learn = talk._read_new_records
    talk._read_new_records = lambda: (learn(), talk._apply_records(early))  # type: ignore[method-assign,assign]
    raises_exactly(BudgetError, lambda: talk(costing(0.25)))
    assert (talk.spent(), ledger.verify()) == (0.5, [])


def test_a_conversation_paid_query_by_query(ledger: tk.ledger.Ledger) -> None:
    talk = ledger.conversation([1, 2])
    assert talk(costing(0.25)) == 2
    assert ledger.spent() == 0.25
    raises_exactly(BudgetError, lambda: talk(costing(1.0)))
    raises_exactly(ParameterError, talk.remaining, "query by query")
    assert talk(costing(0.75)) == 2
    assert (ledger.spent(), ledger.verify()) == (1.0, [])


@pytest.mark.parametrize("zero", [0, 0.0, "0", "0/7"])
def test_a_budget_of_zero_is_zero(connect: str, make: Make, zero: Any) -> None:
    """It is no conversation without a budget, which would be paid from the ledger's, here or in another process."""
    ledger, drawn = make(3), []
    talk = ledger.conversation([1], budget=zero)
    again = tk.ledger.Ledger(connect).resume(talk.number, [1])
    for one in (talk, again):
        raises_exactly(BudgetError, lambda one=one: one(costing(3.0, function=drawn.append)), "0.0 is left")
        assert one(costing(0.0)) == 1
        assert one.remaining() == 0.0
    assert (drawn, ledger.spent(), ledger.verify()) == ([], 0.0, [])


def test_a_conversation_of_an_older_ledger_is_read_as_it_was_meant(path: Path) -> None:
    """Records without the word are of conversations that had a budget of their own if and only if it was not 0."""
    ledger = new(path, 1)
    journal: Any = ledger._journal
    debit = journal.debit

    def without(cost: Any, shown: Any, said: dict[str, Any]) -> Any:
        return debit(cost, shown, {name: value for name, value in said.items() if name != "prepaid"})

    for budget in ("1/2", 0):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(journal, "debit", without)
            talk = ledger.conversation([1], budget=budget)
        assert tk.ledger.Ledger(path).resume(talk.number, [1])._paid == (None if budget == 0 else (Fraction(1, 2),))


def test_a_conversation_survives_its_process_and_is_one_in_all(connect: str, ledger: tk.ledger.Ledger) -> None:
    talk = ledger.conversation([1, 2], budget="0.5")
    talk(costing(0.25))
    with tk.ledger.Ledger(connect) as other:
        again = other.resume(talk.number, [1, 2])
        assert again.remaining() == 0.25
        again(costing(0.125))
        raises_exactly(BudgetError, lambda: talk(costing(0.25)), "0.125 is left")
        talk(costing(0.125))
        raises_exactly(BudgetError, lambda: again(costing(0.125)), "0.0 is left")
        again.close()
    raises_exactly(QueryError, lambda: talk(costing(0.0)), "closed")
    raises_exactly(QueryError, lambda: ledger.resume(talk.number, [1])(costing(0.0)), "closed")
    raises_exactly(ParameterError, lambda: ledger.resume(2, [1])(costing(0.0)), "not a conversation")
    raises_exactly(ParameterError, lambda: ledger.resume(9, [1]), "number")
    assert ledger.verify() == []


def test_a_step_before_a_debit_counts(connect: str, ledger: tk.ledger.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the first look at the ledger and the lock."""
    talk = ledger.conversation([1, 2], budget="0.5")
    with tk.ledger.Ledger(connect) as other:
        again, debit = other.resume(talk.number, [1, 2]), talk._journal.debit

        def late(*arguments: Any) -> Any:
            again(costing(0.375))
            return debit(*arguments)

        monkeypatch.setattr(talk._journal, "debit", late)
        raises_exactly(BudgetError, lambda: talk(costing(0.25)), "0.125 is left")
    assert ledger.verify() == []


def die_in(function: Callable[[Any], Any]) -> int:
    return ended(child(lambda: function(None)))


def test_a_death_in_a_conversation_keeps_what_was_used(connect: str, ledger: tk.ledger.Ledger) -> None:
    talk = ledger.conversation([1], budget="0.5")

    def ask(_: Any) -> None:
        again = tk.ledger.Ledger(connect).resume(talk.number, [1])
        again(costing(0.25, function=lambda data: os.kill(os.getpid(), 9)))

    assert die_in(ask) == -9
    assert (talk.remaining(), states(ledger)) == (0.25, ["reserved", "reserved"])


def test_what_is_kept_for_a_conversation_is_not_spent_twice(make: Make) -> None:
    ledger = make(1)
    ledger.conversation([1], budget="0.75")
    raises_exactly(BudgetError, lambda: ledger.conversation([1], budget="0.5"))
    raises_exactly(BudgetError, lambda: ledger.release(costing(0.5), [1]))
    ledger.release(costing(0.25), [1])


# A year of lists, which is paid before it begins

STREAMS = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=2, monotonic=True)
RHO = tk.ZeroConcentratedDivergence()


def price(steps: int, scale: Fraction = Fraction(10)) -> Fraction:
    """The rho of two counts of one item in the first two steps, by the weights 1, 1/2, 3/8, ... of these steps."""
    root = [Fraction(math.comb(2 * i, i), 4**i) for i in range(steps)]
    return sum(((one + before) ** 2 for one, before in zip(root, [0, *root], strict=False)), Fraction(0)) / (
        2 * scale**2
    )


PRICE = price(52)
SLACK = Fraction(1, 2**99)  # amounts of many digits are rounded up when they are written


def weekly(steps: int = 52, scale: int = 10, measure: tk.Measure = RHO) -> tk.Measurement:
    return STREAMS >> tk.then_continual_top_k(measure, steps=steps, k=2, scale=scale, items=["ash", "elm", "oak"])


def of_a_year(path: Path, budget: Any, measure: tk.Measure = RHO, **options: Any) -> tk.ledger.Ledger:
    name = "loans of a year"
    return tk.ledger.Ledger.create(path, budget=budget, measure=measure, metric=STREAMS[1], dataset=name, **options)


def test_a_year_of_lists_is_paid_before_it_begins(tmp_path: Path) -> None:
    noise = STREAMS >> tk.then_gaussian(RHO, scale=100)
    with of_a_year(tmp_path / "ledger", "0.07") as ledger:
        lists = ledger.release(weekly(), [900, 100, 500], label="lists of the year")
        spent = ledger.spent()
        assert PRICE <= Fraction(spent) < Fraction(math.nextafter(float(PRICE), 1)) + Fraction(1, 2**60)
        for week in range(2, 53):
            assert len(lists([7, week, 0]).items) == 2
            if week == 30:
                assert ledger.spent() == spent
                ledger.release(noise, [900, 100, 500], label="beside it")
        raises_exactly(BudgetError, lambda: lists([7, 0, 0]), "all steps have been taken")
        (year, other), left = ledger.history(), Fraction(7, 100) - PRICE - Fraction(2, 2 * 100**2)
        assert (year.cost, year.state, year.label, other.number) == (spent, "released", "lists of the year", 2)
        assert "steps          = 52" in year.measurement
        assert year.proof.startswith("proofs/measurements/continual_top_k.tex")
        assert Fraction(ledger.remaining()) <= left < Fraction(math.nextafter(ledger.remaining(), 1))
        assert not ledger.fits(weekly())
        raises_exactly(BudgetError, lambda: ledger.release(weekly(), [0, 0, 0]), "with a scale of 11.58 or more")
        assert price(52, Fraction("11.57")) > left >= price(52, Fraction("11.58"))
        assert (ledger.count(), len(lists(None).items), ledger.verify()) == (2, 2, [])


def test_a_year_that_ends_with_its_process_stays_spent(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    of_a_year(path, PRICE + price(33) + 2 * SLACK).close()

    def until_week_20() -> None:
        with tk.ledger.Ledger(path) as ledger:
            lists = ledger.release(weekly(), [900, 100, 500])
            for _ in range(18):
                lists([1, 2, 3])
            die()

    assert ended(child(until_week_20)) == -signal.SIGKILL
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), states(ledger)) == (weekly().map(1), ["released"])
        raises_exactly(ParameterError, lambda: ledger.resume(1, [900, 100, 500]), "not a conversation")
        rest = weekly(steps=33)
        lists = ledger.release(rest, [1, 2, 3], label="weeks 20 to 52, after a crash")
        raises_exactly(QueryError, lambda: pickle.dumps(lists))
        assert Fraction(ledger.remaining()) <= 2 * SLACK
        raises_exactly(BudgetError, lambda: ledger.release(weekly(steps=1), [1, 2, 3]))


def test_a_year_is_paid_by_its_rho_where_sums_run_side_by_side(tmp_path: Path) -> None:
    """Nothing is known of its largest loss, and its answers are no whole number of steps, though their sum is one."""
    with of_a_year(tmp_path / "ledger", (5, "1e-6"), tk.PrivacyProfile(), step=weekly()) as ledger:
        pure = weekly(measure=tk.MaxDivergence())
        raises_exactly(SpaceError, lambda: ledger.release(pure, [1, 2, 3]), "ZeroConcentratedDivergence()")
        raises_exactly(ParameterError, lambda: ledger.release(weekly(), [1, 2, 3], delta="1e-9"), "delta is only for")
        ledger.release(weekly(), [1, 2, 3])
        found = {one.adds: one for one in ledger.filters()}
        order = found["renyi"].order
        assert order is not None
        assert PRICE <= found["rho"].spent < PRICE + SLACK
        assert order * PRICE <= found["renyi"].spent < order * (PRICE + SLACK)
        assert [name for name in found if found[name].alive] == ["rho", "renyi"]
        laplace = STREAMS >> tk.then_continual_top_k(RHO, steps=2, k=1, scale=100, gaussian=False)
        ledger.release(laplace, [1, 2, 3])
        assert ledger.filters()[0].spent > PRICE


def test_no_other_conversation_is_paid_at_once(tmp_path: Path) -> None:
    """Nor a copy of that one, what follows it, or one that comes within something that was paid."""
    with of_a_year(tmp_path / "ledger", 1) as ledger:
        year, drawn = weekly(), []
        copy = dataclasses.replace(year, function=lambda value: drawn.append(value))
        other = STREAMS >> tk.then_adaptive_composition(RHO, d_in=1, d_mids=[0.5])
        for one in (copy, other, year >> drawn.append):
            for pay in (ledger.reserve, ledger.fits):
                raises_exactly(ParameterError, partial(pay, one), "must not be interactive")
        raises_exactly(ParameterError, lambda: ledger.reserve_all([(year, "a year")]), "must not be interactive")
        talk = ledger.conversation([1, 2, 3], budget="0.5")
        raises_exactly(ParameterError, lambda: talk(year), "must not be interactive")
        assert (ledger.count(), drawn) == (1, [])
        exact = weekly(scale=0)
        raises_exactly(BudgetError, lambda: ledger.release(exact, [1, 2, 3]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_that_name_no_place_draw_each_once(path: Path) -> None:
    """Eight for a plan of four: four succeed, all of them at first."""
    number = new(path, 4).reserve_all([(costing(1.0), f"week {one}") for one in range(4)]).number

    def draws() -> None:
        try:
            tk.ledger.Ledger(path).planned(number).release(None, [1], costing(1.0))
        except QueryError:
            os._exit(3)

    codes = sorted(ended(process) for process in [child(draws) for _ in range(8)])
    with tk.ledger.Ledger(path) as ledger:
        assert (codes, ledger.planned(number).left(), ledger.verify()) == ([0] * 4 + [3] * 4, (), [])
        assert sorted(one.label for one in ledger.history() if one.within) == [f"week {one}" for one in range(4)]


def test_another_process_that_draws_between_look_and_draw_takes_another_place(path: Path) -> None:
    ledger = new(path, 4)
    plan = ledger.reserve_all([(costing(1.0), "a"), (costing(0.5), "b"), (costing(1.0), "c")])
    mine, other = (tk.ledger.Ledger(path).planned(plan.number) for _ in range(2))
    assert mine.left() == ("a", "b", "c")
    other.release(None, [1], costing(1.0))
    mine.release(None, [1], costing(1.0))
    assert mine.left() == ("b",), "the place of a smaller loss does not fit"
    raises_exactly(ParameterError, lambda: mine.reserve(None, costing(1.0)), "must not lose more")
    mine.release(None, [1], costing(0.25))
    raises_exactly(QueryError, lambda: plan.reserve(), "already drawn")


def test_where_it_was_planned_the_next_place_has_its_own_measurement(path: Path) -> None:
    drawn: list[str] = []
    listed = [(costing(0.5, function=lambda data, name=name: drawn.append(name)), name) for name in "abc"]
    plan = new(path, 4).reserve_all(listed)
    plan.release("b", [1])
    plan.release(None, [1])
    plan.release(None, [1])
    assert (drawn, plan.left()) == (["b", "a", "c"], ())


def test_a_name_in_another_form_is_the_same_name(path: Path) -> None:
    composed = unicodedata.normalize("NFC", "März")
    apart = unicodedata.normalize("NFD", composed)
    ledger = new(path, 4)
    for alike in (apart, composed.upper(), f"{composed} ", "Ｍärz"):
        pairs = [(costing(0.5), composed), (costing(0.5), alike)]
        raises_exactly(ParameterError, lambda pairs=pairs: ledger.reserve_all(pairs), "labels of planned releases")
    plan = ledger.reserve_all([(costing(0.5), apart), (costing(0.5), "April")])
    assert plan.labels == (composed, "April")
    plan.release(apart, [1])
    raises_exactly(QueryError, lambda: plan.reserve(composed), "already drawn")
    ledger.release(costing(0.5), [1], label=apart)
    assert ledger.history()[-1].label == composed


def test_what_is_no_label_is_told(path: Path) -> None:
    np = pytest.importorskip("numpy")
    ledger, wrong = new(path, 4), "label must be one line"
    strange: Any
    for strange in ([], np.array(["a", "b"]), 7, b"a", {}):
        raises_exactly(ParameterError, lambda one=strange: ledger.reserve_all([(costing(0.5), one)]), wrong)
    plan = ledger.reserve_all([(costing(0.5), "a")])
    for strange in ([], np.array(["a"]), np.array(["a", "b"]), 7):
        raises_exactly(ParameterError, lambda one=strange: plan.reserve(one), wrong)
    raises_exactly(ParameterError, lambda: plan.reserve("b"), "that of a planned release", "left: 'a'")
    many = ledger.reserve_all([(costing(0.1), f"w{week}") for week in range(8)])
    left = "left: 'w0', 'w1', 'w2', 'w3', 'w4' and 3 more"
    raises_exactly(ParameterError, lambda: many.reserve("b"), left)


@pytest.mark.parametrize("how", ["plan", "conversation"])
def test_what_is_old_is_read_before_others_have_to_wait(path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = new(path, 4)
    number = ledger.reserve_all([(costing(0.5), "a")]).number if how == "plan" else ledger.conversation([1]).number
    for _ in range(40):
        ledger.reserve(cost=0, label="x" * 900)
    with tk.ledger.Ledger(path) as other:
        late = other.planned(number) if how == "plan" else other.resume(number, [1])
        read: list[int] = []
        real, size = files._read_bytes, path.stat().st_size

        def watched(handle: int, start: int, length: int) -> bytes:
            found = real(handle, start, length)
            if files.BUSY:
                read.append(len(found))
            return found

        monkeypatch.setattr(files, "_read_bytes", watched)
        if how == "plan":
            late.release("a", [1], costing(0.5))  # type: ignore[union-attr]
        else:
            late(costing(0.5))  # type: ignore[operator]
    assert 0 < sum(read) < size / 5, json.dumps(read)
