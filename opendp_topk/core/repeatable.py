"""Randomised functions that release in more ways than one: many times, on each of several values, or from parts.

Whoever replaces the function of a measurement has one that cannot; so the ways of such a function never part. A chain
shows its parts to whoever runs many of them.
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

    ``race``, where it is not None, is the race whose winners ``once`` releases: it can be run in parts.
    """

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Any]
    each: Callable[[Sequence[Any]], Any]
    race: Any = None

    def __call__(self, value: Any) -> Any:
        return self.once(value)


# proof-region: composed
@dataclass(frozen=True, eq=False)
class Composed:
    """``then`` of ``first``: the function of a chain."""

    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.then(self.first(value))  # [then]


# end-proof-region: composed
