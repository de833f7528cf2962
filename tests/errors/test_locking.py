"""No moment at which a handler of signals can raise leaves a lock held."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from opendp_topk.errors.locking import run_holding_lock
from tests.ledger.test_interrupts import interrupted_at

pytestmark = pytest.mark.untraced


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_is_free_after_an_interrupt_at_any_moment(kind: Callable[[], Any]) -> None:
    lock, moment = kind(), 0
    while interrupted_at(moment, lambda: run_holding_lock(lock, list), ("errors/locking.py",)) is not None:
        assert is_free(lock), moment
        moment += 1
    assert moment >= 3
    assert is_free(lock)


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_is_held_while_work_runs_and_given_back_when_it_raises(kind: Callable[[], Any]) -> None:
    lock = kind()
    assert run_holding_lock(lock, lambda: is_free(lock)) is False
    with pytest.raises(ZeroDivisionError):
        run_holding_lock(lock, lambda: 1 // 0)
    assert is_free(lock)


def is_free(lock: Any) -> bool:
    """Whether another thread can take the lock."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False) and lock.release() is None))
    thread.start()
    thread.join(60)
    return found[0]
