"""Success at one epsilon on Zipf's law, from equal counts (exponent 0) to counts proportional to 1 / rank."""

from __future__ import annotations

from dataclasses import dataclass

from .curves import EVENTS
from .mechanisms import BY_NAME
from .vectors import zipf

EPSILON = 1.0
# Fine where the mechanisms part ways, coarse where all succeed.
EXPONENTS = (0.0, 0.005, *(step / 100 for step in range(1, 7)), 0.08, 0.1, 0.15, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Step:
    """Bounds on the probability of an event at one exponent."""

    exponent: float
    k: int
    mechanism: str
    event: str
    lower: float
    upper: float


def steps(k: int, mechanism: str) -> list[Step]:
    """All exponents and events for which there is a formula."""
    found = []
    for exponent in EXPONENTS:
        vector = zipf(exponent)
        for event in EVENTS:
            pair = BY_NAME[mechanism].chance(vector, k, EPSILON, event)
            if pair is not None:
                found.append(Step(exponent, k, mechanism, event, *pair))
    return found
