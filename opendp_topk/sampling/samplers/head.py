"""A ladder of the best candidates alone, where the others hardly ever matter: a small part is sorted in place of all.

A candidate who is far below the others is chosen so seldom that its place among those like it need not be known before.
Whoever asks for one who is not on such a ladder gets the ladder of all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bins import Bins, bins
from .entropy import Indices
from .ladder import Ladder, ascending, ladder, limited, lowered, lowest, mirrored

_MANY = 2**15  # fewer candidates are sorted faster than they are looked through
_EACH = 64  # best of so many candidates each: some of the best of all are among them, whatever their order
_LARGEST = 4  # a head of more than this part of all candidates saves less than it takes to find
_SAMPLE = 2**10  # about so many candidates tell whether the head is that large

_LONG = 2**18  # so many candidates are put into bins in less time than they are sorted
_AMONG = 2**14  # and those that are released are found in less time, too, if they are one in so many


# proof-region: head
def head(values: NDArray[Any], sign: int, rank: int, depth: Fraction | None, scale: Fraction) -> Ladder | Bins:
    """The ladder of all candidates at most ``depth`` worse than the ``rank``-th best one, and perhaps of others.

    Those who are not on it, if any, are worse than all who are: their scores are below its ``cut``. It lies more than
    ``depth`` below the ``rank``-th best score, or as much up to rounding, so that it says how little they matter. Where
    nearly everybody is near, and there are many, they are in bins that are narrow against ``scale`` instead.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        rank: Counted from 1, at most d.
        depth: >= 0, or None where everybody matters.
        scale: > 0.
    """
    d = len(values)
    if depth is None or d < max(_MANY, _EACH * rank) or values.dtype == object:
        return ladder(values, sign)
    scores = mirrored(values, sign)
    limit = limited(scores.dtype, depth) + (scores.dtype != np.float64)  # [one-more]
    columns = scores[: len(scores) // _EACH * _EACH].reshape(_EACH, -1).max(axis=0)
    known = ascending(columns)[[len(columns) - rank]]  # [no-better]
    cut = lowered(known, lowest(scores.dtype), limit)[0]  # [cut]
    sample = scores[:: max(d // _SAMPLE, 1)]
    if np.count_nonzero(sample >= cut) * _LARGEST > len(sample):
        few = d >= max(_LONG, _AMONG * rank)
        found = bins(scores, _best(scores, columns, rank, known[0]), depth, scale) if few else None
        return found or ladder(scores, 1)  # [everybody]
    who = np.flatnonzero(scores >= cut)  # [who]
    chosen = scores[who]
    return Ladder(chosen, ascending(chosen), who, d, cut)  # [sort-the-head]


def _best(scores: NDArray[Any], columns: NDArray[Any], rank: int, known: Any) -> Indices:
    """From best to worst all candidates above a score, and of the first columns whose best has this score one each."""
    wide = len(columns)
    rows = wide * np.arange(_EACH)[:, np.newaxis]
    above, level = rows + np.flatnonzero(columns > known), rows + np.flatnonzero(columns == known)[:rank]
    who = np.concatenate([above.ravel(), np.arange(_EACH * wide, len(scores))])
    who = np.append(who[scores[who] > known], np.max(np.where(scores[level] == known, level, 0), axis=0))  # [best]
    return who[np.argsort(scores[who], kind="stable")[::-1]]


def reaching(rungs: Ladder | Bins, rank: int, values: NDArray[Any], sign: int) -> Ladder | Bins:
    """The same, if it has this rank, counted from 0, and the ladder of all candidates otherwise."""
    return rungs if rank < len(rungs.scores) else ladder(values, sign)  # [reaching]


# end-proof-region: head
