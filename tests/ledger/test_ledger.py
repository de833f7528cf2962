"""The ledger in one process: what it debits, refuses, tells, and does with files that it did not make."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
APPROXIMATE = tk.Approximate(PURE)


def costing(loss: Any, measure: tk.Measure = PURE, function: Any = len) -> tk.Measurement:
    return tk.make_user_measurement(*SPACE, measure, function=function, privacy_map=lambda d_in: loss)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.sqlite"


@pytest.fixture
def ledger(path: Path) -> tk.Ledger:
    return tk.Ledger(path, budget=1, measure=PURE)


def test_releases_add_up_exactly(path: Path) -> None:
    tenth = costing(0.1)
    ledger = tk.Ledger(path, budget=Fraction(0.1) * 3, measure=PURE)
    for _ in range(3):
        assert ledger.fits(tenth, d_in=1)
        assert ledger.release(tenth, [1, 2, 3], d_in=1) == 3
    assert not ledger.fits(tenth, d_in=1)
    with pytest.raises(tk.BudgetError):
        ledger.release(tenth, [1], d_in=1)
    assert str(ledger.remaining()) == "0.0"
    assert ledger.spent() >= Fraction(0.1) * 3


def test_a_cost_one_ulp_above_what_is_left_is_refused(path: Path) -> None:
    ledger = tk.Ledger(path, budget=1.0, measure=PURE)
    ledger.release(costing(0.5), [1], d_in=1)
    with pytest.raises(tk.BudgetError):
        ledger.release(costing(math.nextafter(0.5, 1)), [1], d_in=1)
    ledger.release(costing(0.5), [1], d_in=1)


def test_the_debit_is_made_before_the_data_are_looked_at(path: Path, ledger: tk.Ledger) -> None:
    def function(data: Any) -> int:
        with sqlite3.connect(path) as other:
            return int(other.execute("SELECT count(*) FROM releases").fetchone()[0])

    assert ledger.release(costing(0.25, function=function), [1], d_in=1) == 1
    with pytest.raises(tk.DataError):
        ledger.release(costing(0.25), ["not a number"], d_in=1)
    assert ledger.spent() == 0.5, "a release that fails on its data has still cost"

    def failing(data: Any) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ledger.release(costing(0.25, function=failing), [1], d_in=1)
    assert ledger.spent() == 0.75


def test_what_is_refused_costs_nothing_and_draws_nothing(ledger: tk.Ledger) -> None:
    drawn: list[int] = []
    with pytest.raises(tk.BudgetError, match=r"cost 1\.5 of epsilon, and 1\.0 is left"):
        ledger.release(costing(1.5, function=drawn.append), [1], d_in=1)
    with pytest.raises(tk.BudgetError, match="inf"):
        ledger.release(costing(math.inf, function=drawn.append), [1], d_in=1)
    assert drawn == []
    assert ledger.spent() == 0.0
    assert ledger.history() == []
    ledger.release(costing(1.0), [1], d_in=1)


def test_history_tells_what_when_and_at_what_cost_but_no_data(path: Path, ledger: tk.Ledger) -> None:
    top2 = SPACE >> tk.then_report_noisy_top_k(PURE, k=2, scale=8.0)
    ledger.release(top2, [48_151_623, 7, 42], d_in=Fraction(3, 2))
    ledger.release(costing(0.5), [1], d_in=2)
    first, second = ledger.history()
    assert (first.number, second.number) == (1, 2)
    assert first.measurement == repr(top2)
    assert "measurements/report_noisy_top_k" in first.proof
    assert "unproven" in second.proof
    assert (first.d_in, second.d_in) == (Fraction(3, 2), 2)
    assert first.cost == top2.map(Fraction(3, 2)) == 0.25
    assert (first.spent, second.spent) == (0.25, 0.75)
    assert first.time <= second.time
    assert first.time.endswith("+00:00")
    ledger.close()
    content = b"".join(one.read_bytes() for one in path.parent.iterdir())
    assert b"48151623" not in content
    assert b"48_151_623" not in content


@pytest.mark.parametrize(
    ("measure", "budget", "cost"),
    [(PURE, 1, 0.5), (ZCDP, 1, 0.5), (APPROXIMATE, (1, 1e-6), (0.5, 5e-7)), (tk.Approximate(ZCDP), (1, 1), (0.5, 0))],
)
def test_every_additive_measure(path: Path, measure: tk.Measure, budget: Any, cost: Any) -> None:
    ledger = tk.Ledger(path, budget=budget, measure=measure)
    for _ in range(2):
        ledger.release(costing(cost, measure), [1], d_in=1)
    with pytest.raises(tk.BudgetError):
        ledger.release(costing(cost, measure), [1], d_in=1)
    ledger.close()
    again = tk.Ledger(path)
    assert again.measure == measure
    assert again.spent() == measure.distance(tuple(2 * part for part in cost) if isinstance(cost, tuple) else 1, "x")


def test_delta_is_a_budget_of_its_own(path: Path) -> None:
    ledger = tk.Ledger(path, budget=(10, 1e-6), measure=APPROXIMATE)
    with pytest.raises(tk.BudgetError):
        ledger.release(costing((0.0, 2e-6), APPROXIMATE), [1], d_in=1)
    ledger.release(costing((10.0, 0.0), APPROXIMATE), [1], d_in=1)
    with pytest.raises(tk.BudgetError):
        ledger.release(costing((0.1, 0.0), APPROXIMATE), [1], d_in=1)


def test_a_free_release_fits_into_a_spent_budget(ledger: tk.Ledger) -> None:
    ledger.release(costing(1.0), [1], d_in=1)
    assert ledger.release(costing(0.0), [1, 2], d_in=1) == 2


def test_reopening_keeps_the_debits(path: Path, ledger: tk.Ledger) -> None:
    ledger.release(costing(0.75), [1], d_in=1)
    ledger.close()
    with tk.Ledger(path, budget=1.0, measure=PURE) as again:
        assert again.remaining() == 0.25
    assert repr(again) == f"Ledger({str(path)!r}, budget=1.0, measure=MaxDivergence())"


@pytest.mark.parametrize(("budget", "measure"), [(2, PURE), (1, ZCDP), (math.nextafter(1, 2), PURE)])
def test_another_budget_or_measure_is_refused(path: Path, ledger: tk.Ledger, budget: Any, measure: tk.Measure) -> None:
    with pytest.raises(tk.ParameterError, match="created with the budget"):
        tk.Ledger(path, budget=budget, measure=measure)


def test_a_measurement_under_another_measure_is_refused(ledger: tk.Ledger) -> None:
    raises_exactly(tk.SpaceError, lambda: ledger.release(costing(0.1, ZCDP), [1], d_in=1))
    raises_exactly(tk.ParameterTypeError, lambda: ledger.release(len, [1], d_in=1))  # type: ignore[arg-type]
    raises_exactly(tk.DistanceError, lambda: ledger.release(costing(0.1), [1], d_in=-1))
    assert ledger.spent() == 0.0


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"budget": 1}, tk.ParameterError),
        ({"measure": PURE}, tk.ParameterError),
        ({"budget": -1, "measure": PURE}, tk.ParameterError),
        ({"budget": math.nan, "measure": PURE}, tk.ParameterError),
        ({"budget": math.inf, "measure": PURE}, tk.ParameterError),
        ({"budget": True, "measure": PURE}, tk.ParameterError),
        ({"budget": 1, "measure": "pure"}, tk.ParameterTypeError),
        ({"budget": 1, "measure": tk.RangeDivergence()}, tk.ParameterError),
        ({"budget": (1, 1e-6), "measure": tk.Approximate(tk.RangeDivergence())}, tk.ParameterError),
        ({"budget": 1, "measure": APPROXIMATE}, tk.ParameterError),
        ({"budget": (1, 2), "measure": APPROXIMATE}, tk.ParameterError),
    ],
)
def test_bad_arguments_make_no_file(path: Path, arguments: dict[str, Any], kind: type[Exception]) -> None:
    raises_exactly(kind, lambda: tk.Ledger(path, **arguments))
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("bad", ["", 7, None])
def test_a_path_must_name_a_file(bad: Any) -> None:
    raises_exactly(tk.ParameterError, lambda: tk.Ledger(bad, budget=1, measure=PURE))


def test_a_missing_file_is_not_made_without_a_budget(path: Path) -> None:
    raises_exactly(tk.LedgerError, lambda: tk.Ledger(path))
    assert not path.exists()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    raises_exactly(tk.LedgerError, lambda: tk.Ledger(tmp_path / "no" / "file", budget=1, measure=PURE))


def spoil_empty(path: Path) -> None:
    path.write_bytes(b"")


def spoil_text(path: Path) -> None:
    path.write_bytes(b"not a ledger, whatever its name says\n" * 100)


def spoil_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = os.urandom(4096)
    path.write_bytes(content)


def spoil_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def spoil_freelist(path: Path) -> None:
    """The header claims seven free pages, of which there are none: no query reads them."""
    content = bytearray(path.read_bytes())
    content[36:40] = (7).to_bytes(4, "big")
    path.write_bytes(content)


def edited(*statements: str) -> Any:
    def spoil(path: Path) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            other.execute(statement)
        other.close()

    return spoil


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_empty, "it is empty"),
        (spoil_text, "not a ledger"),
        (spoil_middle, "damaged"),
        (spoil_cut, "damaged"),
        (spoil_freelist, "damaged"),
        (edited("PRAGMA user_version = 2"), "format 2"),
        (edited("PRAGMA application_id = 1"), "not a ledger"),
        (edited("PRAGMA journal_mode = DELETE"), "write-ahead log is off"),
        (edited("DELETE FROM releases WHERE number = 1"), "damaged"),
        (edited("UPDATE releases SET cost = '1/8' WHERE number = 2"), "damaged"),
        (edited("UPDATE releases SET total = 'x' WHERE number = 2"), "damaged"),
        (edited("UPDATE about SET measure = 'RangeDivergence()'"), "damaged"),
        (edited("UPDATE about SET budget = '-1'"), "damaged"),
        (edited("DELETE FROM about"), "damaged"),
        (edited("DROP TABLE about"), "SQLITE_ERROR"),
    ],
)
def test_a_damaged_or_newer_file_is_refused_and_left_as_it_is(
    path: Path, ledger: tk.Ledger, spoil: Any, says: str
) -> None:
    for _ in range(2):
        ledger.release(costing(0.25), [1], d_in=1)
    ledger.close()
    spoil(path)
    before = path.read_bytes()
    for arguments in ({}, {"budget": 1, "measure": PURE}):
        with pytest.raises(tk.LedgerError, match=says):
            tk.Ledger(path, **arguments)
    assert path.read_bytes() == before


def test_a_file_that_is_exchanged_while_in_use_takes_no_debit(path: Path, ledger: tk.Ledger) -> None:
    drawn: list[int] = []
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).rename(path.with_name("old" + ending))
    tk.Ledger(path, budget=1, measure=PURE).close()
    with pytest.raises(tk.LedgerError, match="taken its place"):
        ledger.release(costing(0.25, function=drawn.append), [1], d_in=1)
    assert drawn == []


def test_a_closed_ledger_releases_nothing(ledger: tk.Ledger) -> None:
    drawn: list[int] = []
    ledger.close()
    raises_exactly(tk.LedgerError, lambda: ledger.release(costing(0.1, function=drawn.append), [1], d_in=1))
    assert drawn == []


def test_threads_share_one_object(path: Path) -> None:
    ledger = tk.Ledger(path, budget=100, measure=PURE)
    refused = []

    def work() -> None:
        for _ in range(30):
            try:
                ledger.release(costing(1.0), [1], d_in=1)
            except tk.BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.history()) == 100
    assert len(refused) == 20


def test_two_objects_on_one_file_see_each_other(path: Path, ledger: tk.Ledger) -> None:
    other = tk.Ledger(path)
    ledger.release(costing(0.75), [1], d_in=1)
    assert other.remaining() == 0.25
    with pytest.raises(tk.BudgetError):
        other.release(costing(0.5), [1], d_in=1)


def test_nothing_is_left_beside_the_file(path: Path, ledger: tk.Ledger) -> None:
    ledger.release(costing(0.5), [1], d_in=1)
    ledger.close()
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_conversation_is_refused(ledger: tk.Ledger) -> None:
    talk = SPACE >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[0.5])
    raises_exactly(tk.ParameterError, lambda: ledger.release(talk, [1], d_in=1), "interactive")
    assert ledger.history() == []


def test_what_is_left_is_rounded_down_and_what_is_spent_up(ledger: tk.Ledger) -> None:
    ledger.release(costing(2.0**-60), [1], d_in=1)
    assert ledger.remaining() == math.nextafter(1, 0)
    ledger.release(costing(0.5), [1], d_in=1)
    assert ledger.spent() == math.nextafter(0.5, 1)
    assert Fraction(ledger.spent()) + Fraction(ledger.remaining()) >= 1 - Fraction(1, 2**53)


def test_a_free_debit_that_is_missing_is_noticed(path: Path, ledger: tk.Ledger) -> None:
    """No total tells that a release of cost 0 was deleted; the numbers do."""
    for loss in (0.25, 0, 0.25):
        ledger.release(costing(loss), [1], d_in=1)
    ledger.close()
    edited("DELETE FROM releases WHERE number = 2")(path)
    with pytest.raises(tk.LedgerError, match="damaged"):
        tk.Ledger(path)


def test_debits_wait_for_the_disk(ledger: tk.Ledger) -> None:
    connection = ledger._store._connection
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_new_ledger_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        synced.append((os.path.isdir(f"/dev/fd/{handle}"), path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    tk.Ledger(path, budget=1, measure=PURE).close()
    assert synced == [(False, False), (True, True)]
