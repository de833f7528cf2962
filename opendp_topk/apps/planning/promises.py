"""What theorems promise of a release, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NO_BOUND = "none: the scale is near the largest number that the computer holds"


@dataclass(frozen=True)
class Promise:
    """What a theorem promises with probability at least ``1 - alpha``: in words, and within how many users.

    ``within`` is None where there is no finite bound, or none was computed.
    """

    words: str
    within: int | None
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"alpha": self.alpha, "within_users": self.within, "words": self.words}


def sure(alpha: Fraction) -> str:
    """The probability of success in words, never rounded."""
    percent = f"{float(100 * (1 - alpha)):.6g}"
    return f"{percent} %" if Fraction(percent) == 100 * (1 - alpha) else f"1 - {float(alpha)}"


def finite(users: float | None) -> int | None:
    """A bound in users, where there is one."""
    return None if users is None or users == math.inf else int(users)


def largest(rank: int) -> str:
    """Largest, 2nd largest, 3rd largest, 4th largest."""
    if rank == 1:
        return "largest"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} largest"
