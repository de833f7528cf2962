"""A uniformly random order within each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .entropy import SYSTEM, Entropy


# proof-region: ranks
def random_ranks(starts: NDArray[np.int64], entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """For each entry its rank, from 0, in an order of its group that is uniformly random and independent of the others.

    Args:
        starts: For each entry the index of the first entry of its group: groups are runs.
    """
    while True:
        words = entropy.auxiliary(len(starts))
        order = np.lexsort((words, starts))  # [by-words]
        sorted_words = words[order]
        same = (sorted_words[1:] == sorted_words[:-1]) & (starts[1:] == starts[:-1])
        if not same.any():  # [all-different]
            break
    ranks = np.empty(len(starts), dtype=np.int64)
    ranks[order] = np.arange(len(starts)) - starts  # [rank]
    return ranks


# end-proof-region: ranks
