"""Conversations and reservations: paid before they happen, and what becomes of them when a process ends.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

from .conftest import Make, new
from .workers import child, costing, ended


def states(ledger: tk.Ledger) -> list[str]:
    return [one.state for one in ledger.history()]


def test_a_reservation_counts_before_it_is_released_and_releases_once(ledger: tk.Ledger) -> None:
    held = ledger.reserve(costing(0.5), label="a long job")
    assert (ledger.spent(), states(ledger)) == (0.5, ["reserved"])
    assert held.release([1, 2, 3]) == 3
    assert (ledger.spent(), states(ledger)) == (0.5, ["released"])
    raises_exactly(tk.QueryError, lambda: held.release([1]), "already")
    raises_exactly(tk.QueryError, held.settle, "already")
    raises_exactly(tk.PickleError, lambda: pickle.dumps(held))


def test_an_amount_is_reserved_and_settled(connect: str, ledger: tk.Ledger) -> None:
    first, second = ledger.reserve(cost="0.25"), ledger.reserve(cost="0.25")
    raises_exactly(tk.ParameterError, lambda: first.release([1]), "no measurement")
    first.settle()
    raises_exactly(tk.ParameterError, lambda: second.settle("gone"), "state")
    with tk.Ledger(connect) as other:
        other.settle(second.number, "failed")
        raises_exactly(tk.ParameterError, lambda: other.settle(second.number, "released"), "failed already")
        raises_exactly(tk.ParameterError, lambda: other.settle(3, "released"), "there are 2")
        raises_exactly(tk.ParameterError, lambda: other.settle(2, "gone"))
    assert states(ledger) == ["released", "failed"]
    assert ledger.spent() == 0.5, "nothing is given back"
    for cost, measurement in ((None, None), ("0.1", costing(0.1))):
        raises_exactly(tk.ParameterError, lambda c=cost, m=measurement: ledger.reserve(m, cost=c), "either")
    raises_exactly(tk.ParameterError, lambda: ledger.reserve(cost=(1, 2)), "one number")


def test_a_block_that_fails_fails_its_reservation(ledger: tk.Ledger) -> None:
    with pytest.raises(ZeroDivisionError), ledger.reserve(cost="0.25"):
        raise ZeroDivisionError
    with ledger.reserve(cost="0.25"):
        pass
    assert states(ledger) == ["failed", "reserved"]


def test_a_reservation_serves_one_process(ledger: tk.Ledger) -> None:
    held, drawn = ledger.reserve(costing(0.5, function=len)), []
    code = ended(child(lambda: drawn.append(held.release([1]))))
    assert code == 1
    assert held.release([1]) == 1


def test_a_conversation_paid_in_full_costs_no_more_than_that(ledger: tk.Ledger) -> None:
    talk = ledger.conversation([1, 2, 3], budget="0.5", label="talk")
    assert ledger.spent() == 0.5
    assert talk(costing(0.25)) == 3
    assert talk(costing(0.125)) == 3
    assert (talk.spent(), talk.remaining(), ledger.spent()) == (0.375, 0.125, 0.5)
    drawn: list[int] = []
    raises_exactly(tk.BudgetError, lambda: talk(costing(0.25, function=drawn.append)), "0.125 is left")
    assert drawn == []
    assert talk(costing(0.125)) == 3
    assert [one.within for one in ledger.history()] == [None, 1, 1, 1]
    assert ledger.history()[-1].used == 0.5
    assert ledger.verify() == []
    talk.close()
    raises_exactly(tk.QueryError, lambda: talk(costing(0.0)), "closed")
    assert (ledger.spent(), states(ledger)) == (0.5, ["released"] * 4)
    raises_exactly(tk.PickleError, lambda: pickle.dumps(talk))


def test_a_thread_that_takes_up_old_records_late_gives_nothing_back(ledger: tk.Ledger) -> None:
    talk = ledger.conversation([1, 2, 3], budget=0.5)
    talk(costing(0.25))
    early = list(ledger._journal.log.records())  # another thread has read them
    talk(costing(0.25))
    learn = talk._learn
    talk._learn = lambda: (learn(), talk._take_up(early))  # type: ignore[method-assign,assign]
    raises_exactly(tk.BudgetError, lambda: talk(costing(0.25)))
    assert (talk.spent(), ledger.verify()) == (0.5, [])


def test_a_conversation_paid_query_by_query(ledger: tk.Ledger) -> None:
    talk = ledger.conversation([1, 2])
    assert talk(costing(0.25)) == 2
    assert ledger.spent() == 0.25
    raises_exactly(tk.BudgetError, lambda: talk(costing(1.0)))
    raises_exactly(tk.ParameterError, talk.remaining, "query by query")
    assert talk(costing(0.75)) == 2
    assert (ledger.spent(), ledger.verify()) == (1.0, [])


@pytest.mark.parametrize("zero", [0, 0.0, "0", "0/7"])
def test_a_budget_of_zero_is_zero(connect: str, make: Make, zero: Any) -> None:
    """It is no conversation without a budget, which would be paid from the ledger's, here or in another process."""
    ledger, drawn = make(3), []
    talk = ledger.conversation([1], budget=zero)
    again = tk.Ledger(connect).resume(talk.number, [1])
    for one in (talk, again):
        raises_exactly(tk.BudgetError, lambda one=one: one(costing(3.0, function=drawn.append)), "0.0 is left")
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
        assert tk.Ledger(path).resume(talk.number, [1])._paid == (None if budget == 0 else (Fraction(1, 2),))


def test_a_conversation_survives_its_process_and_is_one_in_all(connect: str, ledger: tk.Ledger) -> None:
    talk = ledger.conversation([1, 2], budget="0.5")
    talk(costing(0.25))
    with tk.Ledger(connect) as other:
        again = other.resume(talk.number, [1, 2])
        assert again.remaining() == 0.25
        again(costing(0.125))
        raises_exactly(tk.BudgetError, lambda: talk(costing(0.25)), "0.125 is left")
        talk(costing(0.125))
        raises_exactly(tk.BudgetError, lambda: again(costing(0.125)), "0.0 is left")
        again.close()
    raises_exactly(tk.QueryError, lambda: talk(costing(0.0)), "closed")
    raises_exactly(tk.QueryError, lambda: ledger.resume(talk.number, [1])(costing(0.0)), "closed")
    raises_exactly(tk.ParameterError, lambda: ledger.resume(2, [1])(costing(0.0)), "no conversation")
    raises_exactly(tk.ParameterError, lambda: ledger.resume(9, [1]), "number")
    assert ledger.verify() == []


def die_in(function: Callable[[Any], Any]) -> int:
    return ended(child(lambda: function(None)))


def test_a_death_in_a_conversation_keeps_what_was_used(connect: str, ledger: tk.Ledger) -> None:
    talk = ledger.conversation([1], budget="0.5")

    def ask(_: Any) -> None:
        again = tk.Ledger(connect).resume(talk.number, [1])
        again(costing(0.25, function=lambda data: os.kill(os.getpid(), 9)))

    assert die_in(ask) == -9
    assert (talk.remaining(), states(ledger)) == (0.25, ["reserved", "reserved"])


def test_what_is_kept_for_a_conversation_is_not_spent_twice(make: Make) -> None:
    ledger = make(1)
    ledger.conversation([1], budget="0.75")
    raises_exactly(tk.BudgetError, lambda: ledger.conversation([1], budget="0.5"))
    raises_exactly(tk.BudgetError, lambda: ledger.release(costing(0.5), [1]))
    ledger.release(costing(0.25), [1])
