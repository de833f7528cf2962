"""Vectors of scores that were read once, from end to end: the best of each small group, and the extremes of all.

What follows reads most groups through their best score alone. The scores stay in the type in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = 256  # scores; with so many, the best of all groups are few, and those near a threshold are soon found
_CHUNK = 2**17  # scores at a time, a MiB of the widest, which a cache holds while they are read twice


@dataclass(frozen=True, eq=False)
class Surveyed:
    """Scores, and for the direction ``sign`` the best of each group of them: the last group may be shorter.

    ``values`` is one-dimensional and contiguous: signed or unsigned integers or finite floats, of 64 bits at most.
    """

    values: NDArray[Any]
    sign: int
    best: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)


# proof-region: surveyed
def extremes(values: NDArray[Any], sign: int, *, both: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The best of each group in the direction ``sign``; and of each chunk the worst, if ``both`` are asked for."""
    pick, other = (np.maximum, np.minimum) if sign > 0 else (np.minimum, np.maximum)
    best, worst = [], []
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        best.append(pick.reduceat(chunk, np.arange(0, len(chunk), GROUP)))  # [best]
        worst += [other.reduce(chunk)] if both else []  # [worst]
    return np.concatenate(best), np.array(worst, dtype=values.dtype)


# end-proof-region: surveyed
