"""Randomised functions that can release many times at once, on one value or on each of several.

Whoever replaces the function of a measurement, or lets another follow it, has one that cannot; so the two ways of such
a function never part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Repeatable:
    """``once(value)`` is a release; ``many(value, times)`` holds that many independent ones, one after the other.

    ``each(values)`` holds one release on each of several values, drawn independently. What that costs is for the caller
    to say: a rule that knows how the values depend on users, or a simulation, which costs nobody anything.
    """

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Any]
    each: Callable[[Sequence[Any]], Any]

    def __call__(self, value: Any) -> Any:
        return self.once(value)
