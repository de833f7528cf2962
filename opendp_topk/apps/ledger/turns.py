"""One lock per open ledger, so that a hanging ledger does not block others; forks wait for a bounded time.

A fork in the middle of a debit would leave its child a copy of a locked file, or of a connection that is in use.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import os
import threading
import time
import weakref

FORK_PATIENCE = 2.0  # seconds that a fork waits for all debits together; a debit in a file takes a thousandth of this
BUSY: set[tuple[int, object]] = set()  # the thread of each debit in work, and the ledger that it writes to


class LedgerLock:
    """The ``lock`` of a ledger among the threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        with _LISTING:
            _TURNS.add(self)


_LISTING = threading.RLock()  # no fork happens while a turn is listed
_TURNS: weakref.WeakSet[LedgerLock] = weakref.WeakSet()
_ASKED: list[LedgerLock] = []  # turns requested by the thread that forks


def busy_debit_key(ledger: object) -> tuple[int, object]:
    """Return the element of :data:`BUSY` for a debit from ``ledger`` by this thread."""
    return threading.get_ident(), ledger


# proof-region: forks
def _before_fork() -> None:
    _LISTING.acquire()
    end = time.monotonic() + FORK_PATIENCE
    for turn in list(_TURNS):
        _ASKED.append(turn)
        turn.lock.acquire(timeout=max(end - time.monotonic(), 0.0))  # [forks]


def _after_fork_in_parent() -> None:
    while _ASKED:
        _release_turn(_ASKED.pop())
    _LISTING.release()


def _after_fork_in_child() -> None:
    """In the child: only this thread is alive, so locks taken by other threads have no owner."""
    while _ASKED:
        turn = _ASKED.pop()
        if not _release_turn(turn):
            turn.lock = threading.RLock()  # [left-behind]
    mine = threading.get_ident()
    BUSY.intersection_update({one for one in BUSY if one[0] == mine})
    _LISTING.release()


def _release_turn(turn: LedgerLock) -> bool:
    """Release a turn of this thread; return True if it had been taken in time."""
    try:
        turn.lock.release()
    except RuntimeError:
        return False
    return True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
# end-proof-region: forks
