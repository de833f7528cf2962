"""Randomised functions that can release in more than one way: many times at once, or from parts of their argument.

Whoever replaces the function of a measurement, or lets another follow it, has one that cannot; so the ways of such a
function never part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Repeatable:
    """``once(value)`` is a release; ``many(value, times)`` holds that many independent ones, one after the other.

    ``race``, where it is not None, is the race whose winners ``once`` releases: it can be run in parts.
    """

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Any]
    race: Any = None

    def __call__(self, value: Any) -> Any:
        return self.once(value)
