"""One lock for each ledger: one that hangs stops no other and no fork, and a child is another process by any number.

Tries proofs/ledger/storage.tex.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import locks, turns
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .workers import PURE, SPACE, child, costing, ended

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@contextmanager
def hanging(path: Path) -> Iterator[tuple[tk.ledger.Ledger, int]]:
    """A ledger from which a thread cannot release, as long as the block lasts: somebody else has locked its file."""
    ledger, waits = new(path, 10), threading.Event()
    handle, take = os.open(path, os.O_RDWR), locks.acquire_lock
    assert take(handle)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(locks, "acquire_lock", lambda one: (waits.set(), take(one))[1])
        thread = threading.Thread(target=lambda: ledger.release(costing(1.0), [1]), daemon=True)
        thread.start()
        assert waits.wait(60)
    try:
        yield ledger, handle
    finally:
        os.close(handle)
        thread.join(60)
    assert ledger.spent() >= 1.0


def in_a_thread(work: Callable[[], Any]) -> bool:
    """Whether ``work`` ends while a ledger hangs; it may wait for ever."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


def test_a_ledger_that_hangs_stops_no_other_one(path: Path) -> None:
    with new(path.with_name("far"), 10) as far, hanging(path):
        assert in_a_thread(lambda: far.release(costing(1.0), [1]))
        assert far.spent() == 1.0


@forks
def test_a_ledger_that_hangs_stops_no_fork_and_no_child(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child releases from both: from the one that hung once its file is free."""
    monkeypatch.setattr(turns, "FORK_PATIENCE", 0.05)
    codes: list[int] = []
    with new(path.with_name("far"), 10) as far:
        with hanging(path) as (ledger, handle):

            def both() -> None:
                far.release(costing(1.0), [1])
                os.close(handle)  # the copy would keep it locked
                ledger.release(costing(2.0), [1])

            processes: list[int] = []
            assert in_a_thread(lambda: processes.append(child(both)))
        codes.append(ended(processes[0]))
        assert (codes, far.spent(), ledger.spent(), ledger.verify()) == ([0], 1.0, 3.0, [])


@forks
def test_a_fork_leaves_nothing_locked_behind_it(path: Path) -> None:
    """Not by the thread that forked, which is alive: others release, and open ledgers."""
    with new(path, 10) as ledger:
        assert ended(child(lambda: None)) == 0
        assert in_a_thread(lambda: (ledger.release(costing(1.0), [1]), tk.ledger.Ledger(path).close()))


@forks
def test_a_child_knows_nothing_of_debits_that_other_threads_had_in_work(path: Path) -> None:
    """Numbers of threads come again, too."""
    turns.BUSY.add((-1, "a file"))
    try:
        assert ended(child(lambda: turns.BUSY.remove((-1, "a file")))) == 1
    finally:
        turns.BUSY.remove((-1, "a file"))


@forks
def test_what_a_process_owns_is_refused_in_a_child_with_its_number(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a child of a child may have, and a process in a namespace of its own."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    ledger = new(path, 10)
    reserved = ledger.reserve(costing(1.0))
    talk = tk.make_adaptive_composition(*SPACE, PURE, d_in=1, d_mids=[1.0])([1])

    def refused() -> None:
        raises_exactly(tk.errors.QueryError, lambda: reserved.release([1]), "another process")
        raises_exactly(tk.errors.QueryError, lambda: reserved.settle("failed"), "another process")
        raises_exactly(tk.errors.QueryError, lambda: talk(costing(0.5)), "the process that created it")

    assert ended(child(refused)) == 0
    reserved.release([1])
