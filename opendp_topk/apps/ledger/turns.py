"""One lock per open ledger, so that a hanging ledger does not block others; forks wait for a bounded time.

A fork in the middle of a debit would leave its child a copy of a locked file, or of a connection that is in use.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import os
import threading
import time
import weakref

FORK_PATIENCE = 2.0  # seconds that a fork waits for all debits together; a debit of a file takes a thousandth of it
BUSY: set[tuple[int, object]] = set()  # the thread of each debit in work, and the ledger that it writes to


class Turn:
    """The ``lock`` of a ledger among the threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        with _LISTING:
            _TURNS.add(self)


_LISTING = threading.RLock()  # no fork happens while a turn is listed
_TURNS: weakref.WeakSet[Turn] = weakref.WeakSet()
_ASKED: list[Turn] = []  # turns requested by the thread that forks


def in_work(ledger: object) -> tuple[int, object]:
    """Return the element of :data:`BUSY` for a debit from ``ledger`` by this thread."""
    return threading.get_ident(), ledger


# proof-region: forks
def _fork_waits() -> None:
    _LISTING.acquire()
    end = time.monotonic() + FORK_PATIENCE
    for turn in list(_TURNS):
        _ASKED.append(turn)
        turn.lock.acquire(timeout=max(end - time.monotonic(), 0.0))  # [forks]


def _fork_done() -> None:
    while _ASKED:
        _given_back(_ASKED.pop())
    _LISTING.release()


def _fork_begins() -> None:
    """In the child: only this thread is alive, so locks taken by other threads have no owner."""
    while _ASKED:
        turn = _ASKED.pop()
        if not _given_back(turn):
            turn.lock = threading.RLock()  # [left-behind]
    mine = threading.get_ident()
    BUSY.intersection_update({one for one in BUSY if one[0] == mine})
    _LISTING.release()


def _given_back(turn: Turn) -> bool:
    """Release a turn of this thread; return True if it had been taken in time."""
    try:
        turn.lock.release()
    except RuntimeError:
        return False
    return True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork_waits, after_in_parent=_fork_done, after_in_child=_fork_begins)
# end-proof-region: forks
