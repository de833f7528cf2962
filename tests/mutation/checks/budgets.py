"""Compositions, filters and ledgers: what is charged, when, and what is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect, is_rounded_up


def check() -> None:
    """Sums are exact, nothing beyond a budget is admitted, and a ledger debits before it releases."""
    _sums()
    _filter()
    with tempfile.TemporaryDirectory() as folder:
        _ledger(Path(folder))


def _query(loss: float, measure: Any = None, function: Callable[[Any], Any] = len) -> Any:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    measure = measure or tk.MaxDivergence()
    return tk.make_user_measurement(*space, measure, function=function, privacy_map=lambda d_in: loss * d_in)


def _sums() -> None:
    losses = [0.1, 0.2, 0.3]
    total = sum(map(Fraction, losses), Fraction(0))
    for measure in (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()):
        together = tk.make_composition([_query(loss, measure) for loss in losses]).map(1)
        expect(is_rounded_up(together, total), f"a composition does not cost the sum under {measure!r}")
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
        talk = tk.make_adaptive_composition(*space, measure, d_in=1, d_mids=losses).map(1)
        later = 2 if measure == tk.RangeDivergence() else 1
        exact = Fraction(losses[0]) + later * sum(map(Fraction, losses[1:]))
        expect(is_rounded_up(talk, exact), f"a conversation does not cost what its rule says under {measure!r}")


def _filter() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    odometer = tk.make_fully_adaptive_composition(*space, tk.MaxDivergence())
    budgeted = tk.make_privacy_filter(odometer, d_in=1, d_out=0.75)
    expect(budgeted.map(1) == 0.75 and budgeted.map(2) == float("inf"), "the map of a filter is not its budget")
    queryable = budgeted([1, 2, 3])
    expect(queryable(_query(0.5)) == 3, "a query that fits is not answered")
    expect(_is_refused(lambda: queryable(_query(0.375))), "a filter admits a query that exceeds its budget")
    expect(queryable(_query(0.25)) == 3, "a query that fits exactly is not answered")
    expect(_is_refused(lambda: queryable(_query(2.0**-40))), "a filter admits a query when nothing is left")


def _ledger(folder: Path) -> None:
    with tk.Ledger(folder / "ledger", budget=0.75, measure=tk.MaxDivergence()) as ledger:
        seen = ledger.release(_query(0.5, function=lambda scores: ledger.spent()), [1], d_in=1)
        expect(seen == 0.5, "a ledger releases before it has debited")
        expect(_is_refused(lambda: ledger.release(_query(0.375), [1], d_in=1)), "a ledger exceeds its budget")
        expect(ledger.spent() == 0.5, "a refused release is debited")
        ledger.release(_query(0.25), [1], d_in=1)
        expect(ledger.spent() == 0.75 and ledger.remaining() == 0, "a ledger does not add up")
    with tk.Ledger(folder / "ledger") as again:
        expect(again.spent() == 0.75, "a ledger forgets when it is closed")
        expect(_is_refused(lambda: again.release(_query(2.0**-40), [1], d_in=1)), "a ledger forgets its budget")


def _is_refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except tk.BudgetError:
        return True
    return False
