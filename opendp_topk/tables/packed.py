"""Pairs of integer identifiers, packed into one integer each: sorted, and counted between the candidates' bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST = 2**63 - 1  # the largest int64


# proof-region: count_packed
def count_packed(users: NDArray[Any], items: NDArray[Any], candidates: Sequence[int]) -> NDArray[Any] | None:
    """How many distinct users each candidate has, as int64; None where the pairs may not fit into 63 bits.

    Args:
        users: Integers, one a row.
        items: As many integers.
        candidates: Distinct Python integers.
    """
    scores = np.zeros(len(candidates), dtype=np.int64)
    if len(users) == 0:
        return scores  # [no-rows]
    least, most, first, last = (int(end) for ends in (users, items) for end in (ends.min(), ends.max()))
    span = most - least + 1
    if max(most, last, span * (last - first + 1)) > _MOST:
        return None  # [range-check]
    pairs = items.astype(np.int64)
    pairs -= first
    pairs *= span
    pairs += users.astype(np.int64, copy=False) - least  # [pack]
    pairs.sort()
    distinct = pairs[np.append(True, pairs[1:] != pairs[:-1])]  # [distinct]
    places = [at for at, one in enumerate(candidates) if first <= one <= last]  # [in-range]
    starts = (np.array([candidates[at] for at in places], dtype=np.int64) - first) * span
    scores[places] = np.searchsorted(distinct, starts + span) - np.searchsorted(distinct, starts)  # [between]
    return scores


# end-proof-region: count_packed
