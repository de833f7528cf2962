"""What raises in the middle of a debit, wherever it does: no lock stays held and no descriptor open.

The tests keep the exception with its traceback, as an interactive session does. Tries proofs/ledger/storage.tex.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files, locks, turns
from tests.concepts.sentinels import raises_exactly

from . import interrupts
from .conftest import new
from .workers import costing

pytestmark = pytest.mark.untraced


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    """What earlier tests left open is closed now, not while descriptors are compared; what lives on is no garbage."""
    gc.collect()
    gc.freeze()


class _At:
    """Raises at the n-th moment at which Python runs the handlers of signals: as a function begins or a call returns.

    There it looks for signals (and at the ends of loops); nothing that the interpreter does between is interrupted.
    """

    def __init__(self, moment: int, within: tuple[str, ...]) -> None:
        self.left = moment
        self.within = within

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and any(one in frame.f_code.co_filename for one in self.within):
            self.left -= 1
            if self.left < 0:
                del argument  # the kept traceback has this frame: with a method, it would keep a file open
                raise KeyboardInterrupt


def interrupted_at(
    moment: int, work: Callable[[], Any], within: tuple[str, ...] = ("opendp_topk",)
) -> KeyboardInterrupt | None:
    """The interrupt with its traceback; None if ``work`` ended before its moment came in a file of ``within``."""
    try:
        sys.setprofile(_At(moment, within))
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


WORK: dict[str, Callable[[tk.ledger.Ledger], Any]] = {
    "debit": lambda ledger: ledger._journal.settle(1, "failed"),
    "read": lambda ledger: ledger.spent(),
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_moment_leaves_a_lock_or_a_descriptor(path: Path, work: str) -> None:
    """All moments, one after another, until there is none any more."""
    ledger = new(path, 100)
    ledger.reserve(cost=1)
    WORK[work](ledger)
    before, moment, kept = interrupts.descriptors(), 0, []
    while (error := interrupted_at(moment, lambda: WORK[work](ledger))) is not None:
        kept.append(error)
        assert interrupts.free(path), f"moment {moment} left the lock held"
        assert interrupts.descriptors() == before, f"moment {moment} left a descriptor open"
        assert set() == turns.BUSY
        moment += 1
    assert moment > 30
    assert in_another_thread(ledger._journal.log)
    assert (ledger.spent(), ledger.verify()) == (1.0, [])


def in_another_thread(log: Any) -> bool:
    """Whether another thread gets its turn with the log."""
    found: list[bool] = []
    lock = log.turn.lock
    thread = threading.Thread(target=lambda: (found.append(lock.acquire(timeout=0.1)), lock.release()))
    thread.start()
    thread.join(60)
    return found[0]


@pytest.mark.slow
def test_interrupts_at_random_leave_neither(path: Path) -> None:
    found = interrupts.tried(path, 300)
    assert found.came >= 300
    assert (found.held, found.leaked) == (0, 0)
    assert 10 < found.released <= found.recorded


@pytest.mark.parametrize("other", [False, True])
def test_a_handler_that_releases_in_a_debit_is_told(path: Path, other: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same ledger, by the same object or another one; and the debit in whose middle it came goes on."""
    monkeypatch.setattr(locks, "PATIENCE", 1.0)
    ledger, drawn, told = new(path, 10), [], []
    mine = costing(1.0, function=drawn.append)

    def handler(*_: Any) -> None:
        told.append(
            raises_exactly(
                tk.errors.LedgerError, lambda: (tk.ledger.Ledger(path) if other else ledger).release(mine, [2])
            )
        )

    write = files.write_all_bytes

    def interrupted(handle: int, data: bytes) -> None:
        if not told:
            signal.raise_signal(signal.SIGUSR1)
        write(handle, data)

    monkeypatch.setattr(files, "write_all_bytes", interrupted)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        ledger.release(mine, [1])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert drawn == [[1]]
    assert "a signal handler must not release" in str(told[0])
    assert (ledger.spent(), ledger.verify()) == (1.0, [])


def test_a_handler_may_release_from_another_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, far = new(path, 10), new(path.with_name("far"), 10)
    write, sent = files.write_all_bytes, []

    def interrupted(handle: int, data: bytes) -> None:
        if not sent:
            sent.append(1)
            signal.raise_signal(signal.SIGUSR1)
        write(handle, data)

    monkeypatch.setattr(files, "write_all_bytes", interrupted)
    before = signal.signal(signal.SIGUSR1, lambda *_: far.release(costing(1.0), [1]))
    try:
        ledger.release(costing(1.0), [1])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (ledger.spent(), far.spent()) == (1.0, 1.0)


def test_a_reservation_is_used_once_though_a_handler_uses_it_too(path: Path) -> None:
    ledger, drawn = new(path, 10), []
    reserved = ledger.reserve(costing(1.0, function=drawn.append))

    def twice(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "_consume_reservation":
            sys.setprofile(None)
            reserved.release([1])

    sys.setprofile(twice)
    try:
        raises_exactly(tk.errors.QueryError, lambda: reserved.release([2]), "already")
    finally:
        sys.setprofile(None)
    assert drawn == [[1]]


@pytest.mark.slow
def test_a_file_that_is_made_is_closed_and_removed_wherever_it_is_interrupted(tmp_path: Path) -> None:
    before, moment, kept = interrupts.descriptors(), 0, []
    while True:
        error = interrupted_at(moment, lambda where=tmp_path / str(moment): new(where, 1))  # type: ignore[misc]
        if error is None:
            break
        kept.append(error)
        assert interrupts.descriptors() == before, f"moment {moment} left a descriptor open"
        moment += 1
    assert moment > 30
    for found in tmp_path.iterdir():
        assert found.name.startswith(".") or tk.ledger.Ledger(found).verify() == [], "what has the name is whole"


def test_only_where_descriptors_are_listed_this_shows_anything() -> None:
    assert len(interrupts.descriptors()) >= 3 or not os.path.isdir("/proc/self/fd")


def test_a_measure_and_a_metric_whose_repr_was_interrupted_are_what_they_were(path: Path) -> None:
    """Python then says ``...`` of it for as long as the object lives."""
    measure, metric = tk.MaxDivergence(), tk.RangeDistance()

    def during(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_return" and argument.__name__ == "add":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupting(during, lambda: repr(measure))
    with pytest.raises(KeyboardInterrupt):
        interrupting(during, lambda: repr(metric))
    assert repr(measure) == repr(metric) == "..."
    with new(path, 1, measure, metric=metric) as ledger:
        assert (repr(tk.ledger.Ledger(path).measure), ledger.metric) == ("MaxDivergence()", repr(tk.RangeDistance()))
        space = tk.VectorDomain(tk.AtomDomain(int)), metric
        ledger.release(space >> tk.then_report_noisy_top_k(measure, k=1, scale=4.0), [1, 2])


def interrupting(profile: Any, work: Callable[[], Any]) -> None:
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
