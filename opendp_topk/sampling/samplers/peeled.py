"""Peeling: the best of noisy scores is removed, and the others race again with fresh noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noises.noise import Noise
from . import race, rows
from .entropy import SYSTEM, Entropy, Indices

_TOGETHER = 2**16  # scores at a time, of all draws together


# proof-region: peeled
def top_k(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy = SYSTEM
) -> Indices:
    """Return the winners of k races for one place, each among those that have not won yet, in the order of the races.

    The arguments are those of :func:`race.top_k`; every race draws its own noise.
    """
    scores, left = values.copy(), np.arange(len(values))  # [all]
    for last in range(len(left) - 1, len(left) - 1 - k, -1):
        best = race.top_k(scores[: last + 1], scale, noise, 1, sign=sign, ordered=True, entropy=entropy)[0]  # [race]
        left[best], left[last] = left[last], left[best]  # [leave]
        scores[best] = scores[last]  # [fill]
    return left[: -k - 1 : -1].copy()  # [winners]


def repeat_top_k(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, times: int, *, sign: int, entropy: Entropy = SYSTEM
) -> Indices:
    """Return the results of ``times`` independent calls of :func:`top_k`, an int64 array of shape (times, k)."""
    together = max(_TOGETHER // len(values), 1)
    parts = [min(together, times - start) for start in range(0, times, together)]
    return np.concatenate([_side_by_side(np.tile(values, (n, 1)), scale, noise, k, sign, entropy) for n in parts])


def _side_by_side(scores: NDArray[Any], scale: Fraction, noise: Noise, k: int, sign: int, entropy: Entropy) -> Indices:
    """Return the winners of peeling in each row of ``scores``, which is overwritten."""
    n, d = scores.shape
    left, row = np.tile(np.arange(d), (n, 1)), np.arange(n)  # [all-rows]
    for last in range(d - 1, d - 1 - k, -1):
        racing = scores[:, : last + 1]
        best = rows.top_k_of_each(racing, scale, noise, 1, sign=sign, ordered=True, entropy=entropy)[
            :, 0
        ]  # [race-each]
        winner = left[row, best]
        left[row, best], left[:, last] = left[:, last], winner  # [leave-rows]
        scores[row, best] = scores[:, last]  # [fill-rows]
    return left[:, : -k - 1 : -1].copy()  # [row-winners]


# end-proof-region: peeled
