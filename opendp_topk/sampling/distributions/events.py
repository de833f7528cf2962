"""Events by which the success of a selection is measured, and enclosures of their probabilities.

A selection is *exact* if it releases the k best; *great* and *good* leave room at both ends.
"""

from __future__ import annotations

from typing import NamedTuple

EVENTS = ("exact", "great", "good")


class Enclosure(NamedTuple):
    """Two numbers with ``lower <= true value <= upper``."""

    lower: float
    upper: float


# proof-region: events
def ranks(event: str, k: int, d: int) -> tuple[int, int]:
    """(sure, reach): the event is that the k winners contain the ranks 1..sure and none beyond reach.

    exact: (k, k). great: (ceil(k / 10), floor(1.1 k)). good: (ceil(k / 100), floor(1.5 k)). reach is at most d.
    """
    sure, reach = {"exact": (k, k), "great": (-(-k // 10), 11 * k // 10), "good": (-(-k // 100), 3 * k // 2)}[event]
    return sure, min(reach, d)  # [ranks]


# end-proof-region: events
