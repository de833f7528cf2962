"""The plain-Python reference of sums: dictionaries, fractions, and no float arithmetic."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

FARTHEST = 2**31


def on_grid(number: Any, step: Fraction) -> int:
    """The nearest whole number of steps, halfway the one above, within 2^31 of 0."""
    if isinstance(number, float) and math.isinf(number):
        return FARTHEST if number > 0 else -FARTHEST
    return max(-FARTHEST, min(FARTHEST, math.floor(Fraction(number) / step + Fraction(1, 2))))


def clamped_totals(
    rows: Iterable[tuple[Any, Any, Any]], step: Fraction, bounds: tuple[int, int], most: int | None = None
) -> dict[Any, int]:
    """The sum of users' clamped totals by item, of the ``most`` first items of each user."""
    totals: dict[Any, dict[Any, int]] = {}
    for user, item, number in rows:
        if user is not None and item is not None and number is not None and number == number:
            own = totals.setdefault(user, {})
            own[item] = own.get(item, 0) + on_grid(number, step)
    sums: dict[Any, int] = {}
    for own in totals.values():
        for item in sorted(own)[:most]:
            sums[item] = sums.get(item, 0) + max(bounds[0], min(bounds[1], own[item]))
    return sums
