"""Randomised functions that can do more than release on one value that was checked.

Some take scores that were checked in the pass in which the best of each group was found. Some can release many times at
once, on one value or on each of several. Whoever replaces the function of a measurement, or lets another follow it, has
one that cannot do the latter; so the ways of such a function never part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Surveying:
    """``once(value)`` is a release; unless ``sign`` is 0, it takes scores that were surveyed in that direction too."""

    once: Callable[[Any], Any]
    sign: int

    def __call__(self, value: Any) -> Any:
        return self.once(value)


# proof-region: followed
def followed(first: Callable[[Any], Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``then`` of what ``first`` releases, on whatever ``first`` takes."""

    def once(value: Any) -> Any:
        return then(first(value))  # [then]

    return Surveying(once, first.sign) if isinstance(first, Surveying) else once  # [takes-the-same]


# end-proof-region: followed


@dataclass(frozen=True, eq=False)
class Repeatable(Surveying):
    """``once(value)`` is a release; ``many(value, times)`` holds that many independent ones, one after the other.

    ``each(values)`` holds one release on each of several values, drawn independently. What that costs is for the caller
    to say: a rule that knows how the values depend on users, or a simulation, which costs nobody anything.
    """

    many: Callable[[Any, int], Any]
    each: Callable[[Sequence[Any]], Any]
