"""Randomised functions that can release many times at once.

Whoever replaces the function of a measurement, or lets another follow it, has one that cannot; so the two ways of such
a function never part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Repeatable:
    """``once(value)`` is a release; ``many(value, times)`` holds that many independent ones, one after the other."""

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Any]

    def __call__(self, value: Any) -> Any:
        return self.once(value)
