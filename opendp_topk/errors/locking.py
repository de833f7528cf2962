"""Locks that no interrupt leaves held.

Since Python 3.14, a signal handler may raise between acquiring a lock in ``with lock:`` and the beginning of the block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


# proof-region: holding
def run_holding_lock(lock: threading.Lock | threading.RLock, work: Callable[[], T]) -> T:
    """Return the result of ``work`` while this thread holds ``lock``; the lock is released whatever is raised."""
    taken: list[bool] = []
    try:
        taken.extend(map(lock.acquire, (True,)))  # one call, in which no handler runs once the lock is taken  # [taken]
        return work()
    finally:
        if taken:
            lock.release()  # [given-back]


# end-proof-region: holding
