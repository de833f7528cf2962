"""Quantile scores: the number of rows by which a place in an order misses a quantile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


# proof-region: rank_scores
def rank_scores(rows: NDArray[np.int64], p: int, q: int) -> NDArray[np.int64]:
    """Return the score of each place: 0 for a quantile p / q of the rows, else -q times the rows by which it misses.

    Args:
        rows: The number of rows at each place, in order; their sum is at most 2^52.
        p: The numerator, above 0.
        q: The denominator, above p and at most 1000.
    """
    upto = np.cumsum(rows)
    below, whole = upto - rows, int(upto[-1])  # [below]
    scores: NDArray[np.int64] = -np.maximum(0, np.maximum(q * below - p * whole, p * whole - q * upto))  # [scores]
    return scores


# end-proof-region: rank_scores
