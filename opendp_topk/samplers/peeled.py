"""Peeling: the best of noisy scores leaves, and the others race again with fresh noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noises.noise import Noise
from . import race
from .entropy import SYSTEM, Entropy, Indices


# proof-region: peeled
def top_k(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy = SYSTEM
) -> Indices:
    """The winners of k races for one place, each among those that have not won yet, in the order of the races.

    The arguments are those of :func:`race.top_k`; every race draws noise of its own.
    """
    left = np.arange(len(values))  # [all]
    winners = np.empty(k, dtype=np.int64)
    for t in range(k):
        best = race.top_k(values[left], scale, noise, 1, sign=sign, ordered=True, entropy=entropy)[0]  # [race]
        winners[t] = left[best]
        left = np.delete(left, best)  # [leave]
    return winners


# end-proof-region: peeled
