"""The ledger's file among other files: names, links, what was removed, what was left behind, and clocks.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.ledger import store
from tests.concepts.sentinels import raises_exactly

from .test_ledger import PURE, costing

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.sqlite"


@pytest.fixture
def ledger(path: Path) -> tk.Ledger:
    return tk.Ledger(path, budget=4, measure=PURE)


def elsewhere(statement: str, path: Path) -> str:
    """What a process of its own prints that runs ``statement`` on a ledger."""
    code = f"import opendp_topk as tk\nledger = tk.Ledger({str(path)!r})\n{statement}\nledger.close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout + done.stderr


def test_a_relative_name_is_that_of_the_first_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = tk.Ledger("budget.sqlite", budget=4, measure=PURE)
    monkeypatch.chdir(tmp_path / "other")
    ledger.release(costing(1.0), [1], d_in=1)
    assert list((tmp_path / "other").iterdir()) == []
    assert tk.Ledger(tmp_path / "budget.sqlite").spent() == 1.0


def test_a_symbolic_link_names_the_same_ledger(path: Path, ledger: tk.Ledger, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    with tk.Ledger(link) as other:
        other.release(costing(1.0), [1], d_in=1)
        assert ledger.spent() == 1.0
        link.unlink()
        other.release(costing(1.0), [1], d_in=1)
    assert ledger.spent() == 2.0


def test_a_ledger_is_made_where_a_dangling_link_points(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "far.sqlite"
    link.symlink_to(target)
    tk.Ledger(link, budget=1, measure=PURE).close()
    assert target.is_file()
    assert link.is_symlink()


def test_a_second_name_is_refused(path: Path, ledger: tk.Ledger) -> None:
    """Two names have two logs: each would let the whole budget be spent."""
    drawn: list[int] = []
    second = path.with_name("second")
    os.link(path, second)
    raises_exactly(
        tk.LedgerError, lambda: ledger.release(costing(1.0, function=drawn.append), [1], d_in=1), "hard link"
    )
    for name in (path, second):
        raises_exactly(tk.LedgerError, lambda name=name: tk.Ledger(name), "hard link")
    second.unlink()
    assert ledger.release(costing(1.0), [1], d_in=1) == 1
    assert drawn == []


def test_a_log_that_is_removed_takes_no_debit(path: Path, ledger: tk.Ledger) -> None:
    drawn: list[int] = []
    ledger.release(costing(1.0), [1], d_in=1)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink()
    raises_exactly(tk.LedgerError, lambda: ledger.release(costing(1.0, function=drawn.append), [1], d_in=1), "-wal")
    assert drawn == []
    ledger.close()
    assert tk.Ledger(path).spent() == 1.0


def test_locks_that_are_lost_lose_no_debit(path: Path, ledger: tk.Ledger) -> None:
    """Closing any handle of a file drops this process's locks; another process then thinks that it is the last user."""
    ledger.release(costing(1.0), [1], d_in=1)
    path.read_bytes()
    assert elsewhere("print(ledger.spent())", path) == "1.0\n"
    raises_exactly(tk.LedgerError, lambda: ledger.release(costing(1.0), [1], d_in=1), "-wal")
    assert elsewhere("print(ledger.spent())", path) == "1.0\n"
    ledger.close()
    assert tk.Ledger(path).spent() == 1.0


def test_the_log_of_a_killed_process_is_recovered(path: Path, ledger: tk.Ledger) -> None:
    ledger.close()
    killed = (
        "from tests.ledger.workers import unit, die\n"
        "ledger.release(unit(), [1], d_in=1)\n"
        "ledger.release(unit(lambda data: die()), [1], d_in=1)"
    )
    assert elsewhere(killed, path) == ""
    log = path.with_name(path.name + "-wal")
    assert log.stat().st_size > 0
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as without_the_log:
        assert without_the_log.execute("SELECT count(*) FROM releases").fetchone() == (0,)
    with tk.Ledger(path) as again:
        assert again.spent() == 2.0
    assert not log.exists()


def test_no_ledger_is_made_beside_the_log_of_another(path: Path, ledger: tk.Ledger) -> None:
    ledger.release(costing(1.0), [1], d_in=1)
    path.unlink()
    raises_exactly(tk.LedgerError, lambda: tk.Ledger(path, budget=4, measure=PURE), "-wal file of an earlier ledger")
    assert not path.exists()
    assert [one.name for one in path.parent.iterdir() if one.name.endswith(".new")] == []


def test_a_file_that_appears_while_one_is_made_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tk.Ledger.__init__.__globals__["create"]

    def late(where: Path, budget: str, measure: str) -> None:
        path.write_text("somebody else's")
        real(where, budget, measure)

    monkeypatch.setitem(tk.Ledger.__init__.__globals__, "create", late)
    raises_exactly(tk.LedgerError, lambda: tk.Ledger(path, budget=4, measure=PURE), "not a ledger")
    assert path.read_text() == "somebody else's"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_no_hard_links_are_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    with tk.Ledger(path, budget=4, measure=PURE) as ledger:
        ledger.release(costing(1.0), [1], d_in=1)


def test_a_clock_that_is_set_back_changes_only_what_the_history_tells(path: Path, ledger: tk.Ledger) -> None:
    for _ in range(2):
        ledger.release(costing(1.0), [1], d_in=1)
    ledger.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("UPDATE releases SET time = '1970-01-01T00:00:00+00:00' WHERE number = 2")
    other.close()
    with tk.Ledger(path) as again:
        again.release(costing(1.0), [1], d_in=1)
        assert [(one.number, one.time[:4] == "1970") for one in again.history()] == [(1, False), (2, True), (3, False)]
        assert again.spent() == 3.0


class Failing:
    """A connection on which one statement fails, as it would on a disk that reports an error."""

    def __init__(self, connection: sqlite3.Connection, word: str, error: BaseException) -> None:
        self.connection, self.word, self.error = connection, word, error

    def execute(self, statement: str, *values: Any) -> Any:
        done = self.connection.execute(statement, *values) if self.word == "BEGIN" else None
        if statement.startswith(self.word):
            raise self.error
        return done or self.connection.execute(statement, *values)


@pytest.mark.parametrize("word", ["BEGIN", "SELECT", "INSERT", "COMMIT"])
@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), OSError(5, "gone"), KeyboardInterrupt()])
def test_a_debit_that_fails_leaves_no_row_and_no_lock(
    path: Path, ledger: tk.Ledger, word: str, error: BaseException
) -> None:
    drawn: list[int] = []
    healthy = ledger._store._connection
    assert healthy is not None
    ledger._store._connection = Failing(healthy, word, error)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else tk.LedgerError):
        ledger.release(costing(1.0, function=drawn.append), [1], d_in=1)
    ledger._store._connection = healthy
    assert drawn == []
    assert ledger.spent() == 0.0
    with tk.Ledger(path) as other:
        other.release(costing(1.0), [1], d_in=1)
    assert ledger.release(costing(1.0), [1, 2], d_in=1) == 2


def test_a_fork_that_python_did_not_make_is_refused(ledger: tk.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    process = os.getpid()
    monkeypatch.setattr(store.os, "getpid", lambda: process + 1)
    raises_exactly(tk.LedgerError, lambda: ledger.release(costing(1.0), [1], d_in=1), "copy of another")


BEGIN = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


def test_no_other_process_can_write_while_a_total_is_read(path: Path, ledger: tk.Ledger) -> None:
    """The row is made of the last total; who could write meanwhile would be left out of it."""
    said = []

    def row(_: str | None) -> tuple[str, ...]:
        done = subprocess.run([sys.executable, "-c", BEGIN, str(path)], capture_output=True, text=True, check=False)
        said.append(done.stderr)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger._store.debit(row)
    assert ["database is locked" in one for one in said] == [True]
