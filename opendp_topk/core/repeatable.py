"""Randomised functions that can do more than release on one value that was checked, and chains of functions.

Some take scores that were checked in the pass in which the best of each group was found. Some can release many times at
once, on one value or on each of several, or from parts of their argument. Whoever replaces the function of a
measurement has one that cannot; so the ways of such a function never part. A chain shows its links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .padding import Padded


@dataclass(frozen=True, eq=False)
class Repeatable:
    """``once(value)`` is a release; unless ``sign`` is 0, it takes scores that were surveyed in that direction too.

    ``many(value, times)`` holds that many independent releases, one after the other. ``each(values)`` holds one release
    on each of several values, drawn independently. What that costs is for the caller to say: a rule that knows how the
    values depend on users, or a simulation, which costs nobody anything.

    ``race``, where it is not None, is the race whose winners ``once`` releases: it can be run in parts.
    """

    once: Callable[[Any], Any]
    sign: int
    many: Callable[[Any, int], Any]
    each: Callable[[Sequence[Any]], Any]
    race: Any = None

    def __call__(self, value: Any) -> Any:
        return self.once(value)


@dataclass(frozen=True, eq=False)
class Batched:
    """``once(value)`` is a release, and ``many(value, times)`` holds that many independent ones, as a sequence."""

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Sequence[Any]]

    def __call__(self, value: Any) -> Any:
        return self.once(value)


# proof-region: repeatable
@dataclass(frozen=True, eq=False)
class Composed:
    """``then`` of ``first``: the function of a chain, on whatever ``first`` takes."""

    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.then(self.first(value))  # [then]


def surveyed_sign(function: Callable[[Any], Any]) -> int | None:
    """In which direction scores may be surveyed that ``function`` takes; 0 where it takes no such scores.

    None where it takes its argument unchecked, to check it when its clock runs.
    """
    if isinstance(function, Composed):
        return surveyed_sign(function.first)  # [takes-the-same]
    if isinstance(function, Repeatable):
        return function.sign
    return None if isinstance(function, Padded) else 0  # [takes-unchecked]


# end-proof-region: repeatable
