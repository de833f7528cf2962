"""The exact top-k without noise; among equal scores the lowest index wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Indices

_CHUNK = 2**18  # 2 MiB of scores at a time, which stay in a cache while they are partitioned


# proof-region: noiseless
def top_k(values: NDArray[Any], k: int, *, sign: int, ordered: bool) -> Indices:
    """The indices of the k largest (``sign=+1``) or smallest (``sign=-1``) values.

    Best first if ``ordered``, otherwise ascending. Extra memory: O(k) + one chunk.
    """
    best = np.zeros(0, dtype=np.int64)
    for start in range(0, len(values), max(_CHUNK, k)):
        chunk = values[start : start + max(_CHUNK, k)]
        fresh = np.arange(start, start + len(chunk))
        if len(best) == k:
            worst = values[best[-1]]
            fresh = fresh[chunk > worst if sign > 0 else chunk < worst]  # [later-ties-lose]
        best = np.concatenate([best, fresh])
        best = best[_stable_order(values[best], sign)[:k]]  # [merge]
    return best if ordered else np.sort(best)


def _stable_order(values: NDArray[Any], sign: int) -> Indices:
    """Positions from best to worst, equal values in their present order."""
    if sign < 0:
        return np.argsort(values, kind="stable")
    return len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]  # [reverse]


# end-proof-region: noiseless
