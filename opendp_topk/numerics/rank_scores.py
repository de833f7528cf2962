"""By how many rows each of some places in an order fails to be a quantile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


# proof-region: rank_scores
def rank_scores(rows: NDArray[np.int64], p: int, q: int) -> NDArray[np.int64]:
    """For each place 0 where it is a quantile p / q of the rows, and else -q times the rows by which it is not.

    Args:
        rows: How many rows each place has, in order; no sum of them is beyond 2^52.
        p: The numerator, above 0.
        q: The denominator, above p and at most 1000.
    """
    upto = np.cumsum(rows)
    below, whole = upto - rows, int(upto[-1])  # [below]
    scores: NDArray[np.int64] = -np.maximum(0, np.maximum(q * below - p * whole, p * whole - q * upto))  # [scores]
    return scores


# end-proof-region: rank_scores
