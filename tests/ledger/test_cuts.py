"""A ledger whose last records are taken from it while it is open: whoever looks is told, and nothing is released.

Tries proofs/ledger/storage.tex.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .workers import costing

TOLD = "it was cut, or an older copy or another file has taken its place"
READERS: dict[str, Callable[[tk.Ledger], Any]] = {
    "spent": lambda ledger: ledger.spent(),
    "remaining": lambda ledger: ledger.remaining(),
    "fits": lambda ledger: ledger.fits(costing(0.0)),
    "count": lambda ledger: ledger.count(),
    "history": lambda ledger: ledger.history(),
    "head": lambda ledger: ledger.head(),
    "reserve": lambda ledger: ledger.reserve(cost=1),
    "conversation": lambda ledger: ledger.conversation([1], budget=1),
    "resume": lambda ledger: ledger.resume(1, [1]),
    "settle": lambda ledger: ledger.settle(1, "failed"),
    "backup": lambda ledger: ledger.backup(Path(ledger._journal.log.place + ".copy")),
}


def cut(path: Path, by: int) -> None:
    os.truncate(path, path.stat().st_size - by)


def test_ten_debits_that_are_cut_are_all_told(path: Path) -> None:
    """Each loses two bytes: its line feed and its last brace."""
    ledger = new(path, 100)
    for _ in range(10):
        try:
            ledger.reserve(cost=1)
        except tk.LedgerError:
            break
        cut(path, 2)
    raises_exactly(tk.LedgerError, ledger.spent, TOLD)
    (found,) = ledger.verify()
    assert TOLD in found


@pytest.mark.quick(how=("two bytes", "with the one before"))
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("how", ["two bytes", "to its first half", "at its beginning", "with the one before"])
def test_every_reader_is_told_that_the_last_record_was_cut(path: Path, reader: str, how: str) -> None:
    ledger, sizes = new(path, 100), []
    for _ in range(3):
        sizes.append(path.stat().st_size)
        ledger.reserve(cost=1)
    size = path.stat().st_size
    left = {"two bytes": size - 2, "to its first half": (size + sizes[-1]) // 2}
    os.truncate(path, left.get(how, sizes[-1] if how == "at its beginning" else sizes[-2]))
    raises_exactly(tk.LedgerError, lambda: READERS[reader](ledger), TOLD)
    (found,) = ledger.verify()
    assert TOLD in found


def test_a_record_that_lost_its_line_feed_is_whole(path: Path) -> None:
    ledger = new(path, 100)
    ledger.reserve(cost=1)
    cut(path, 1)
    assert (ledger.spent(), ledger.verify()) == (1.0, [])
    ledger.reserve(cost=1)
    assert (ledger.spent(), ledger.verify()) == (2.0, [])


@pytest.mark.parametrize("reader", ["spent", "history"])
def test_what_another_process_wrote_is_missed_once_it_was_read(path: Path, reader: str) -> None:
    new(path, 100).close()
    ledger = tk.Ledger(path)
    tk.Ledger(path).reserve(cost=1)
    READERS[reader](ledger)
    cut(path, 2)
    raises_exactly(tk.LedgerError, ledger.spent, TOLD)


def test_who_reads_late_does_not_forget_what_was_written_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread has read the last record and waits; another one appends; then the first goes on."""
    ledger, log = new(path, 100), files.FileLog(path)
    ledger.reserve(cost=1)
    real, waiting, written = files.FileLog._require_seen, threading.Event(), threading.Event()
    record = ledger._journal.last_record()

    def slow(self: files.FileLog, handle: int) -> None:
        real(self, handle)
        if threading.current_thread() is not threading.main_thread():
            waiting.set()
            assert written.wait(60)

    monkeypatch.setattr(files.FileLog, "_require_seen", slow)
    late = threading.Thread(target=log.last_record)
    late.start()
    assert waiting.wait(60)
    log.append(lambda last: files_text(last, record.fields["ledger"]))
    written.set()
    late.join(60)
    cut(path, 2)
    raises_exactly(tk.LedgerError, log.last_record, TOLD)


def files_text(last: Any, ledger: str) -> str:
    from opendp_topk.apps.ledger.records import next_record_text

    return next_record_text(last, ledger, kind="state", of=1, state="failed", time="", operator="")
