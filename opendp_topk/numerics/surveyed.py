"""Block maxima of score vectors, computed in one pass: the best score of each small group, and the extremes of all.

Later steps read only the best score of most groups. The scores keep their type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = 256  # scores per group: there are few groups, and those near a threshold are scanned quickly
_CHUNK = 2**17  # scores at a time, at most 1 MiB, which stays in a cache while it is read twice


@dataclass(frozen=True, eq=False)
class BlockMaxima:
    """Scores with the best of each group in the direction ``sign``; the last group may be shorter.

    ``values`` is one-dimensional and contiguous: signed or unsigned integers or finite floats, of 64 bits at most.
    """

    values: NDArray[Any]
    sign: int
    best: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)


# proof-region: surveyed
def block_extremes(values: NDArray[Any], sign: int, *, both: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the best of each group in the direction ``sign``, and the worst of each chunk if ``both`` is true."""
    pick, other = (np.maximum, np.minimum) if sign > 0 else (np.minimum, np.maximum)
    best, worst = [], []
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        best.append(pick.reduceat(chunk, np.arange(0, len(chunk), GROUP)))  # [best]
        worst += [other.reduce(chunk)] if both else []  # [worst]
    return np.concatenate(best), np.array(worst, dtype=values.dtype)


def finite_block_best(values: NDArray[Any], sign: int) -> NDArray[Any] | None:
    """Return the best of each group of floats in the direction ``sign``; None if one of ``values`` is not finite.

    The bit patterns of nonnegative floats are in the order of the floats, and those of infinities and NaN are larger.
    So if the largest are wanted and no float is negative, the maxima of the bits give both answers.
    """
    best = _unsigned_block_maxima(values) if sign > 0 else []
    if len(best) * _CHUNK < len(values):
        found, worst = block_extremes(values[len(best) * _CHUNK :], sign, both=True)  # [rest]
        if not (np.isfinite(found).all() and np.isfinite(worst).all()):
            return None  # [finite]
        best.append(found)
    return np.concatenate(best)


def _unsigned_block_maxima(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the largest of each group for the first chunks, up to one with a negative or a non-finite float."""
    bits = values.view(f"u{values.itemsize}")
    infinity, best = np.full(1, np.inf, values.dtype).view(bits.dtype)[0], []
    for start in range(0, len(values) if bits[:GROUP].max() < infinity else 0, _CHUNK):
        chunk = bits[start : start + _CHUNK]
        found = np.maximum.reduceat(chunk, np.arange(0, len(chunk), GROUP))
        if not found.max() < infinity:
            break  # [unsigned]
        best.append(found.view(values.dtype))  # [bits]
    return best


# end-proof-region: surveyed
