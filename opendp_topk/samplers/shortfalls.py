"""How far the ranked scores fall short of the best one, as exact integers in units of a power of two.

The loss of k ranks is the largest of x_[i] - x_[s_i], i = 1, ..., k. It depends on shortfalls alone, and those of
finite floats are whole multiples of one power of two, so all comparisons of losses are comparisons of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL = 2**62  # differences below it are int64, and so is their double
_MANTISSA = 53  # binary digits of a float64


# proof-region: shortfalls
@dataclass(frozen=True, eq=False)
class Ranked:
    """``steps[j] * unit`` is how far the j-th best score falls short of the best.

    ``steps`` is ascending from 0: int64 below 2^62, or Python integers as objects.
    """

    steps: NDArray[Any]
    unit: Fraction


def ranked(values: NDArray[Any], sign: int) -> Ranked:
    """Canonical scores, ranked: the largest first for ``sign`` = 1, the smallest first for -1."""
    whole, unit = _whole(np.sort(values)[::-sign])  # [rank]
    if whole.dtype != object and abs(int(whole[0]) - int(whole[-1])) >= _SMALL:
        whole = whole.astype(object)  # [objects]
    steps = whole[0] - whole if sign > 0 else whole - whole[0]  # [steps]
    return Ranked(steps if steps.dtype == object else steps.astype(np.int64), unit)


def _whole(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Integers and a power of two whose products are ``values``."""
    if values.dtype != np.float64:
        return values, Fraction(1)  # [integers]
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**_MANTISSA).astype(np.int64)  # [mantissa]
    lowest = np.where(whole == 0, 1, whole & -whole)
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1  # [trailing-zeros]
    powers = np.where(whole == 0, np.max(exponent), exponent.astype(np.int64) - _MANTISSA + zeros)  # [powers]
    least = int(np.min(powers))
    shifts, odd = powers - least, whole >> zeros
    if int(np.max(exponent)) - least >= _MANTISSA + 8:
        whole = np.array([a << b for a, b in zip(odd.tolist(), shifts.tolist(), strict=True)], dtype=object)  # [long]
    else:
        whole = odd << np.where(odd == 0, 0, shifts)  # [short]
    return whole, Fraction(2) ** least


# end-proof-region: shortfalls
