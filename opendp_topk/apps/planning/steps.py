"""Steps of a plan or a release, logged as they start and end: names and public numbers, never data."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

_LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def log_step(name: str, *, hidden: bool = False, **numbers: Any) -> Iterator[None]:
    """Log that the step of this name starts, and that it ends unless it raises; a ``hidden`` step is not logged.

    The ``numbers`` must be public. The time of a record depends on the data, so the steps before a deadline are hidden.
    Each record has the attributes ``event`` (start or end), ``step`` and ``numbers``.
    """
    words = "".join(f", {key} {value}" for key, value in numbers.items())
    if not hidden:
        _LOG.info("%s starts%s", name, words, extra={"event": "start", "step": name, "numbers": numbers})
    yield
    if not hidden:
        _LOG.info("%s ends", name, extra={"event": "end", "step": name, "numbers": {}})


@contextlib.contextmanager
def watch_steps(receive: Callable[..., Any]) -> Iterator[None]:
    """Call ``receive(event, step=name, **numbers)`` for each step in the block; its errors never stop a release."""

    def pass_on(record: Any) -> bool:
        with contextlib.suppress(Exception):
            receive(record.event, step=record.step, **record.numbers)
        return True

    level = _LOG.level
    _LOG.addFilter(pass_on)
    _LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOG.setLevel(level)
        _LOG.removeFilter(pass_on)
