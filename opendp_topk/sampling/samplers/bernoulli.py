"""Independent events of exact rational probabilities, in units of 2^-128."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .entropy import SYSTEM, Entropy

DIGITS = 128  # two words of the machine; a chance of fewer digits is no delta that anybody asks for
_WORD = 64  # digits come in words of the machine
_LOW = 2**_WORD - 1  # the digits of the second word


# proof-region: bernoulli
def events(chances: Sequence[int], entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
    """Which of independent events happen; the i-th has the probability ``chances[i] / 2^128``, at most 1."""
    certain = np.array([chance >> DIGITS > 0 for chance in chances], dtype=np.bool_)  # [certain]
    high = np.array([chance >> _WORD & _LOW for chance in chances], dtype=np.uint64)
    low = np.array([chance & _LOW for chance in chances], dtype=np.uint64)
    first, second = entropy.auxiliary(len(chances)), entropy.auxiliary(len(chances))
    happened: NDArray[np.bool_] = certain | (first < high) | ((first == high) & (second < low))  # [below]
    return happened


# end-proof-region: bernoulli
