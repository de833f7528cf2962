"""Pairs of integer identifiers, packed into one integer each: sorted, and counted between the candidates' bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cores import PIECE, on_cores, processors, sort_on_cores

Block = tuple[NDArray[Any], NDArray[Any]]

_MOST = 2**63 - 1  # the largest int64
_NARROW = 2**32 - 1  # the largest uint32, of which twice as many are sorted in a time


# proof-region: count_packed
def count_packed(blocks: Sequence[Block], candidates: Sequence[int]) -> NDArray[Any] | None:
    """How many distinct users each candidate has, as int64; None where the pairs may not fit into 63 bits.

    Args:
        blocks: The rows in pieces, each of them two arrays of integers: users, and as many items.
        candidates: Distinct Python integers.
    """
    scores = np.zeros(len(candidates), dtype=np.int64)
    pieces = _pieces(blocks)
    if not pieces:
        return scores  # [no-rows]
    ends = list(zip(*on_cores(_ends, pieces), strict=True))
    least, most, first, last = min(ends[0]), max(ends[1]), min(ends[2]), max(ends[3])  # [all-ends]
    span = most - least + 1
    size = span * (last - first + 1)
    if max(most, last, size) > _MOST:
        return None  # [range-check]
    bounds = np.cumsum([0, *(len(users) for users, _ in pieces)]).tolist()
    pairs = np.empty(bounds[-1], dtype=np.uint32 if size <= _NARROW else np.int64)  # [narrow]
    slots = [pairs[start:stop] for start, stop in pairwise(bounds)]
    on_cores(partial(_pack, least, first, span), list(zip(slots, pieces, strict=True)))
    sort_on_cores(pairs)
    places, wanted = _inside(candidates, first, last)
    starts = (wanted - first) * span
    limits = starts.astype(pairs.dtype), (starts + span).astype(pairs.dtype)
    scores[places] = sum(on_cores(partial(_between, pairs, *limits), _shares(len(pairs))))  # [shares]
    return scores


def _pieces(blocks: Sequence[Block]) -> list[Block]:
    """The same rows in pieces that are neither empty nor long."""
    return [
        (users[start : start + PIECE], items[start : start + PIECE])
        for users, items in blocks
        for start in range(0, len(users), PIECE)  # [cut]
    ]


def _ends(piece: Block) -> list[int]:
    return [int(end) for column in piece for end in (column.min(), column.max())]  # [ends]


def _pack(least: int, first: int, span: int, task: tuple[NDArray[Any], Block]) -> None:
    slot, (users, items) = task
    packed = items.astype(np.int64)
    packed -= first
    packed *= span
    packed += users.astype(np.int64, copy=False) - least
    slot[:] = packed  # [pack]


def _inside(candidates: Sequence[int], first: int, last: int) -> tuple[Any, NDArray[np.int64]]:
    """The places of the candidates from ``first`` to ``last``, and these candidates."""
    if first <= min(candidates) and max(candidates) <= last:
        return slice(None), np.array(candidates, dtype=np.int64)  # [all-in-range]
    places = [at for at, one in enumerate(candidates) if first <= one <= last]  # [in-range]
    return places, np.array([candidates[at] for at in places], dtype=np.int64)


def _shares(size: int) -> list[tuple[int, int]]:
    """From 0 to ``size``, cut once for each processor if this pays."""
    shares = max(1, min(processors(), size // PIECE))
    return list(pairwise(size * at // shares for at in range(shares + 1)))  # [cut-shares]


def _between(
    pairs: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any], share: tuple[int, int]
) -> NDArray[np.signedinteger[Any]]:
    """How many different numbers of sorted ``pairs`` lie from each start to before its end, and begin in this share."""
    start, stop = share
    new = start == 0 or pairs[start - 1] != pairs[start]
    distinct = pairs[start:stop][np.append(new, pairs[start + 1 : stop] != pairs[start : stop - 1])]  # [distinct]
    return np.searchsorted(distinct, ends) - np.searchsorted(distinct, starts)  # [between]


# end-proof-region: count_packed
