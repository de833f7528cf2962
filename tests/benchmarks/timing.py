"""Times of calls."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

Timed = Callable[[], float]
STEADY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28)}  # 2^25 is the most it takes


def seconds(call: Callable[[], Any]) -> float:
    """The wall-clock time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def wall(call: Callable[[], Any], calls: int = 1) -> Timed:
    """What takes the wall-clock time of one of so many calls."""
    return partial(_clocked, time.perf_counter, call, calls)


def thread(call: Callable[[], Any], calls: int = 1) -> Timed:
    """What takes the time of the calling thread alone, for one of so many calls: other programs disturb it little."""
    return partial(_clocked, time.thread_time, call, calls)


def _clocked(clock: Callable[[], float], call: Callable[[], Any], calls: int) -> float:
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls


def with_steady_memory() -> None:
    """Start this program again in an environment by which freed memory is kept, and peers are at their quickest.

    Otherwise what ran before decides whether a call that makes an array of a MiB pays for fresh pages of the system's,
    which takes some peers twice as long. An environment that sets both variables is left as it is. The GNU C library
    alone reads them; elsewhere nothing changes.
    """
    if not STEADY.keys() <= os.environ.keys():
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, **STEADY})


def readable(duration: float) -> str:
    """A duration with a unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if duration * factor >= 1:
            return f"{duration * factor:.3g} {unit}"
    return f"{duration * 1e9:.3g} ns"
