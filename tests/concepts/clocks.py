"""A clock for what waits: nobody waits by it, and it tells how long they would have."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from opendp_topk.core import repeatable as padding

SECOND = 10**9


class Clock:
    """Stands in for the module ``time``: sleeps end early once, and advance the clock that they read.

    Who reads it again and again while it stands still would never stop.
    """

    def __init__(self) -> None:
        self.now = 10**15
        self.slept: list[float] = []
        self._read = 0

    def monotonic_ns(self) -> int:
        self._read += 1
        assert self._read < 1000, "the clock does not advance"
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._read *= seconds == 0
        self.now += math.ceil(seconds * SECOND * (0.5 if len(self.slept) == 1 else 1))


@contextmanager
def unwaited() -> Iterator[Clock]:
    """Deadlines by a clock of their own, which stands still unless somebody sleeps."""
    with pytest.MonkeyPatch.context() as patched:
        clock = Clock()
        patched.setattr(padding, "time", clock)
        yield clock
