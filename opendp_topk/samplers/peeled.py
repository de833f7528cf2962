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
    scores, left = values.copy(), np.arange(len(values))  # [all]
    for last in range(len(left) - 1, len(left) - 1 - k, -1):
        best = race.top_k(scores[: last + 1], scale, noise, 1, sign=sign, ordered=True, entropy=entropy)[0]  # [race]
        left[best], left[last] = left[last], left[best]  # [leave]
        scores[best] = scores[last]  # [fill]
    return left[: -k - 1 : -1].copy()  # [winners]


# end-proof-region: peeled
