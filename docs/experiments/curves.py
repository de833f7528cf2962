"""The probability of success against epsilon, and the budget at which it is 99 %."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .mechanisms import BY_NAME
from .vectors import Vector

EVENTS = ("exact", "great", "good")
KS = (1, 10, 100, 1000)
# Four points a decade draw a line; outside of these six decades nothing happens on counts of users.
_STEP = 10**0.25
EPSILONS = tuple(_STEP**step for step in range(-12, 13))
_DULL = 1e-3  # nearer to 0 or 1 than this a line is flat
GOAL = 0.99
_CLOSE = 1.0005  # the ratio at which the search for a budget ends: four digits are shown as three
_MOST = 1e9  # an epsilon at which noise decides only among equal outcomes


@dataclass(frozen=True)
class Point:
    """Bounds on the probability of an event at one epsilon."""

    vector: str
    k: int
    mechanism: str
    event: str
    epsilon: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Budget:
    """The least epsilon, to four digits, at which the exact k best are released with 99 %.

    It is infinite if none does, and NaN if the formula would take too long.
    """

    vector: str
    k: int
    mechanism: str
    epsilon: float


def curve(vector: Vector, k: int, mechanism: str, event: str) -> list[Point]:
    """The points between the last epsilon at which success is hopeless and the first at which it is sure."""

    def chance(place: int) -> tuple[float, float] | None:
        return BY_NAME[mechanism].chance(vector, k, EPSILONS[place], event)

    if chance(0) is None:
        return []
    first = _first(lambda place: _sure(chance(place), _DULL), 0, len(EPSILONS) - 1)
    last = _first(lambda place: _sure(chance(place), 1 - _DULL), first, len(EPSILONS) - 1)
    found = [(place, chance(place)) for place in range(max(first - 1, 0), last + 1)]
    return [Point(vector.name, k, mechanism, event, EPSILONS[at], *pair) for at, pair in found if pair is not None]


def _sure(pair: tuple[float, float] | None, level: float) -> bool:
    return pair is not None and pair[0] >= level


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first place at which it holds, if it goes on to hold; ``high`` where it never does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def budget(vector: Vector, k: int, mechanism: str) -> Budget:
    """The budget for 99 %, where the lower bound on the probability reaches it."""

    def enough(epsilon: float) -> bool:
        return _sure(BY_NAME[mechanism].chance(vector, k, epsilon, "exact"), GOAL)

    if BY_NAME[mechanism].chance(vector, k, _MOST, "exact") is None:
        return Budget(vector.name, k, mechanism, math.nan)
    if not enough(_MOST):
        return Budget(vector.name, k, mechanism, math.inf)
    high = EPSILONS[_first(lambda place: enough(EPSILONS[place]), 0, len(EPSILONS) - 1)]
    while not enough(high):
        high *= _STEP
    low = high / _STEP
    while enough(low):
        low, high = low / _STEP, low
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Budget(vector.name, k, mechanism, high)


def studied(vector: Vector, k: int, mechanism: str) -> list[Point]:
    """All events of one mechanism; of those that are no more than another noise, the exact k best."""
    events = EVENTS if BY_NAME[mechanism].main else EVENTS[:1]
    return [point for event in events for point in curve(vector, k, mechanism, event)]


def able(k: int, vector: Vector) -> list[str]:
    """The mechanisms whose formula is known for k winners."""
    return [name for name, one in BY_NAME.items() if k <= one.most and k < len(vector.counts)]
