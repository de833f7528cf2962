"""Interrupts at random moments of releases: ``python -m tests.ledger.interrupts COUNT [LEDGER]``.

Each is kept with its traceback, as an interactive session keeps the last one; after each, the lock of the file must be
free and no descriptor be left. The ledger is a new file, in a temporary folder if none is named.
"""

import os
import random
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import opendp_topk as tk
from opendp_topk.apps.ledger import locks
from tests import places

from .workers import FOR_VOTES, costing

_LONGEST = 0.006  # seconds: beyond the end of most releases


class Found(NamedTuple):
    """How many interrupts came, and after how many of them a lock was held, or a descriptor left."""

    came: int
    held: int
    leaked: int
    released: int
    recorded: int


def tried(path: Path, count: int) -> Found:
    """So many interrupts of releases from a new ledger at ``path``."""
    ledger, kept, came, held, leaked, released = _new(path), [], 0, 0, 0, []
    measurement = costing(0.0, function=lambda data: released.append(1))
    ledger.release(measurement, [1])  # the first one computes for long what the others find
    before = descriptors()
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while came < count:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, _LONGEST))
                ledger.release(measurement, [1])
                signal.setitimer(signal.ITIMER_REAL, 0)
                continue
            except KeyboardInterrupt as error:
                kept = [error]
            came += 1
            held += not free(path)
            leaked += descriptors() != before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert len(kept) <= 1
    assert ledger.verify() == []
    return Found(came, held, leaked, len(released), ledger.count())


def _new(path: Path) -> tk.ledger.Ledger:
    given: dict[str, Any] = {"budget": 10**6, **FOR_VOTES}
    return tk.ledger.Ledger.create(path, **given)


def free(path: Path) -> bool:
    """Whether somebody else can lock the file now."""
    handle = os.open(path, os.O_RDWR)
    try:
        return locks.try_lock(handle)
    finally:
        os.close(handle)


def descriptors() -> list[str]:
    """What is open in this process, beside the folder in which the system tells it."""
    folder = "/proc/self/fd"
    return sorted(os.listdir(folder))[:-1] if os.path.isdir(folder) else []


if __name__ == "__main__":
    places.settle()
    warnings.simplefilter("ignore", ResourceWarning)  # an interrupt closes what it finds open, and Python says so
    with tempfile.TemporaryDirectory() as folder:
        where = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder, "budget.ledger")
        print(tried(where, int(sys.argv[1])))
