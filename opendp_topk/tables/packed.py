"""Pairs of integer identifiers, packed into one integer each: sorted, and counted between the candidates' bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cores import PIECE, on_cores, sort_on_cores

Block = tuple[NDArray[Any], NDArray[Any]]

_MOST = 2**63 - 1  # the largest int64
_NARROW = 2**32 - 1  # the largest uint32, of which twice as many are sorted in a time
_SHARE = 2**14  # Candidates that are looked up at a time, which takes ten times longer than to hand them over.


# proof-region: count_packed
def count_packed(blocks: Sequence[Block], candidates: Sequence[int]) -> NDArray[Any] | None:
    """How many distinct users each candidate has, as int64; None where the pairs may not fit into 63 bits.

    Args:
        blocks: The rows in pieces, each of them two arrays of integers: users, and as many items.
        candidates: Distinct Python integers of 64 bits, at least one; where they are a range, its step is 1.
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
    if isinstance(candidates, range):
        return _consecutive(pairs, first, last, span, candidates)  # [consecutive]
    places, wanted = _inside(candidates, first, last)
    starts = ((wanted - first) * span).astype(pairs.dtype)
    repeats = np.flatnonzero(pairs[1:] == pairs[:-1])  # [repeats]
    shares = np.array_split(starts, 1 + len(starts) // _SHARE)  # [shares]
    scores[places] = np.concatenate(on_cores(partial(_between, pairs, repeats, span), shares))
    return scores


def _consecutive(pairs: NDArray[Any], first: int, last: int, span: int, candidates: range) -> NDArray[np.int64]:
    """How many different numbers of sorted ``pairs`` each of consecutive candidates has."""
    scores = np.zeros(len(candidates), dtype=np.int64)
    low, high = max(first, candidates[0]), min(last, candidates[-1])  # [common]
    if low <= high:
        new = np.concatenate([[True], pairs[1:] != pairs[:-1]])  # [new]
        items = pairs[new].astype(np.int64) // span
        found = items[(low - first <= items) & (items <= high - first)] - (low - first)  # [found]
        begin = low - candidates[0]
        scores[begin : begin + high - low + 1] = np.bincount(found, minlength=high - low + 1)  # [each]
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
    np.subtract(items, first, out=slot, dtype=np.int64, casting="unsafe")
    slot *= span
    slot += np.subtract(users, least, dtype=np.int64, casting="unsafe").astype(slot.dtype, copy=False)  # [pack]


def _inside(candidates: Sequence[int], first: int, last: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The places of the candidates from ``first`` to ``last``, both int64, and these candidates."""
    places = np.arange(len(candidates))
    if max(candidates) > _MOST:
        places = np.array([at for at, one in enumerate(candidates) if one <= _MOST], dtype=np.int64)  # [signed]
        candidates = [candidates[at] for at in places.tolist()]
    values = np.array(candidates, dtype=np.int64)
    inside = (first <= values) & (values <= last)  # [in-range]
    return places[inside], values[inside]


def _between(pairs: NDArray[Any], repeats: NDArray[Any], span: int, starts: NDArray[Any]) -> NDArray[np.int64]:
    """How many different numbers of sorted ``pairs`` lie in the ``span`` from each start, where some ``repeats``."""
    begins, ends = np.searchsorted(pairs, starts), np.searchsorted(pairs, starts + span)
    return ends - begins - (np.searchsorted(repeats, ends) - np.searchsorted(repeats, begins))  # [between]


# end-proof-region: count_packed
