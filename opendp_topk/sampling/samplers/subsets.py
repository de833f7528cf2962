"""Uniform subsets of ranks: exact counts of classes, uniform integers, uniform k-subsets.

Order the candidates by rank 1, ..., d. A k-subset other than {1, ..., k} contains the ranks 1..h, misses the rank
h + 1 and has a lowest member t > k: it belongs to class (h, t), with 0 <= h < k < t <= d.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import gmpy2
import numpy as np
from numpy.typing import NDArray

from .entropy import Entropy

_WORD = 64  # digits come in machine words
_FEW = 32  # up to this many numbers are sorted, and tested for equality, in less time one by one


class Cell(NamedTuple):
    """The classes (h, t) with first_h <= h <= last_h and first_t <= t <= last_t."""

    first_h: int
    last_h: int
    first_t: int
    last_t: int


# proof-region: subsets
def count_subsets(k: int, cell: Cell) -> gmpy2.mpz:
    """Return the number of k-subsets whose class is in ``cell``."""
    return _count_down_to(k, cell, cell.last_t) - _count_down_to(k, cell, cell.first_t - 1)  # [cell-size]


def draw_class(k: int, cell: Cell, entropy: Entropy) -> tuple[int, int]:
    """Return the class of a uniformly drawn k-subset among those whose class is in ``cell``."""
    before = _count_down_to(k, cell, cell.first_t - 1)
    place = before + draw_below(count_subsets(k, cell), entropy)  # [place]
    lowest = range(cell.first_t, cell.last_t + 1)
    t = lowest[bisect_right(lowest, place, key=lambda t: _count_down_to(k, cell, t))]  # [find-t]
    place -= _count_down_to(k, cell, t - 1)
    gaps = range(cell.first_h, cell.last_h + 1)
    return gaps[bisect_right(gaps, place, key=lambda h: _count_with_gaps(k, cell.first_h, h, t))], t  # [find-h]


def draw_members(k: int, h: int, t: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return the ranks, less one, of a uniformly drawn subset of class (h, t), or of {1, ..., k} if h = t = k."""
    if h == k:
        return np.arange(k)  # [best]
    body = h + 1 + draw_uniform_subset(t - h - 2, k - 1 - h, entropy)  # [body]
    return np.concatenate([np.arange(h), body, [t - 1]])


def draw_uniform_subset(n: int, m: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw ``m`` distinct integers of 0..n-1, ascending; every such set is equally likely."""
    if 2 * m > n:
        kept = np.ones(n, dtype=bool)
        kept[draw_uniform_subset(n, n - m, entropy)] = False  # [complement]
        return kept.nonzero()[0]
    if m <= _FEW:
        return np.array(_draw_few(n, m, entropy), dtype=np.int64)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < m:
        words = entropy.draw_auxiliary_words(m - len(chosen))  # [missing]
        words = words[words <= np.uint64(2**_WORD - 1 - 2**_WORD % n)]  # [fair-words]
        chosen = np.sort(np.concatenate([chosen, (words % np.uint64(n)).astype(np.int64)]))
        chosen = chosen[np.append(True, chosen[1:] != chosen[:-1])[: len(chosen)]]  # [distinct]
    return chosen


def _draw_few(n: int, m: int, entropy: Entropy) -> list[int]:
    """Return the result of ``draw_uniform_subset`` if 2 m <= n, from the same words."""
    chosen: set[int] = set()
    while len(chosen) < m:
        words = entropy.draw_auxiliary_words(m - len(chosen)).tolist()  # [few-missing]
        chosen.update(word % n for word in words if word < 2**_WORD - 2**_WORD % n)  # [few-fair]
    return sorted(chosen)


def draw_below(n: int | gmpy2.mpz, entropy: Entropy) -> int:
    """Draw a uniform integer in 0..n-1."""
    bits = int(n - 1).bit_length()
    words = -(-bits // _WORD)
    while True:
        value = int.from_bytes(entropy.draw_auxiliary_words(words).tobytes(), "little") >> (
            words * _WORD - bits
        )  # [uniform-bits]
        if value < n:
            return value  # [reject-above]


def draw_each_below(n: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Draw for each n >= 1 a uniform integer in 0..n-1."""
    n = n.astype(np.uint64)
    fair = np.uint64(2**_WORD - 1) - (np.uint64(2**_WORD - 1) % n + np.uint64(1)) % n  # [fair-below]
    words = entropy.draw_auxiliary_words(len(n)).copy()
    while (unfair := np.flatnonzero(words > fair)).size:
        words[unfair] = entropy.draw_auxiliary_words(len(unfair))  # [redraw]
    return (words % n).astype(np.int64)  # [residues]


def _count_down_to(k: int, cell: Cell, t: int) -> gmpy2.mpz:
    """Return the number of subsets with a first gap in the cell's range and lowest member in k+1..t."""
    return gmpy2.bincoef(t - cell.first_h, k - cell.first_h) - gmpy2.bincoef(
        t - cell.last_h - 1, k - cell.last_h - 1
    )  # [two-sums]


def _count_with_gaps(k: int, first: int, last: int, t: int) -> gmpy2.mpz:
    """Return the number of subsets of the classes (first, t), ..., (last, t)."""
    rest = gmpy2.bincoef(t - 2 - last, k - 2 - last) if last < k - 1 else 0
    return gmpy2.bincoef(t - 1 - first, k - 1 - first) - rest  # [one-sum]


# end-proof-region: subsets
