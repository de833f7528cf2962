"""``--log json``: steps, notes and the error of a command as JSON objects, one on each line of standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from enum import StrEnum
from typing import Any

from ...markup.foreign import json_text
from ..planning.steps import watch_steps

_begun: ContextVar[float | None] = ContextVar("begun", default=None)  # when the log began; None without one


class LogFormat(StrEnum):
    json = "json"


@contextlib.contextmanager
def log_as_json() -> Iterator[None]:
    """Write the steps in the block, its notes and its error as JSON."""
    token = _begun.set(time.monotonic())
    try:
        with watch_steps(write_event):
            yield
    finally:
        _begun.reset(token)


def write_event(event: str, **fields: Any) -> bool:
    """Write an event if there is a log, and return whether there is."""
    begun = _begun.get()
    if begun is None:
        return False
    text = json_text({"event": event, "seconds": round(time.monotonic() - begun, 3), **fields}, indent=None)
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
    return True


def is_on() -> bool:
    """Return whether there is a log."""
    return _begun.get() is not None
