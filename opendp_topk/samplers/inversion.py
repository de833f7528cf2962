"""Noise on the integers by inversion of its cumulative law: 16 digits and a table, then 32 and 48, then until certain.

The digits of a uniform U lead to the integer z with P(Z < z) <= U < P(Z <= z). A guide of 2^16 entries knows the
answers that 16 digits decide, and further digits are drawn for the others alone.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .boundaries import Weights, boundaries
from .entropy import Entropy

Ints = NDArray[np.int64]
Digits = NDArray[np.uint16]

_PART = 16  # digits of U that are drawn at a time
_CELLS = 2**_PART  # how many beginnings of that length there are
_DIGITS = 3 * _PART  # digits of U at which the boundaries are tabulated: one is hit once in 2^46
_WORD = 64  # digits come in words of the machine
_OPEN = -(2**15)  # no value: 16 digits leave it open
_SEVERAL = -(2**20)  # no place of a boundary: 32 digits may leave the value open wherever they are


@dataclass(frozen=True, eq=False)
class Table:
    """What the digits of U say of Z, 16 at a time.

    Attributes:
        weights: The law of the sizes of Z.
        mirrored: How they become integers, as in ``boundaries``.
        guide: For the first 16 digits, Z or ``_OPEN``.
        below: For the first 16 digits, the least that Z may be.
        edge: For the first 16 digits, the next ones of the only boundary that may follow, or ``_SEVERAL``.
        ends: The boundaries at 48 digits.
        width: How much greater they may be.
        least: What Z would be below all of them.
    """

    weights: Weights
    mirrored: bool
    guide: NDArray[np.int16]
    below: NDArray[np.int32]
    edge: NDArray[np.int32]
    ends: Ints
    width: int
    least: int


# proof-region: inversion
@functools.lru_cache(maxsize=16)
def table(weights: Weights, *, mirrored: bool) -> Table:
    """The table of a law, kept: a megabyte and a half at most, and 16 of them."""
    found = boundaries(weights, _DIGITS, mirrored=mirrored)  # [boundaries]
    ends = np.maximum(np.array(found.ends, dtype=np.int64), 0)
    entered = np.bincount(ends >> 2 * _PART, minlength=_CELLS)
    left = np.bincount(ends + found.width >> 2 * _PART, minlength=_CELLS)[:_CELLS]
    starts, after = np.cumsum(left) - left, np.cumsum(entered)  # [passed]
    values = found.least + starts
    inside = (starts > 0) & (after < len(ends))
    known = inside & (starts == after) & (abs(values) < -_OPEN)  # [known]
    only = inside & (entered == 1) & (after == starts + 1)
    only &= found.width <= _CELLS  # [only]
    place = (ends.take(starts, mode="clip") >> _PART) % _CELLS  # [place]
    return Table(
        weights=weights,
        mirrored=mirrored,
        guide=np.where(known, values, _OPEN).astype(np.int16),  # [guide]
        below=values.astype(np.int32),
        edge=np.where(only, place, _SEVERAL).astype(np.int32),  # [edge]
        ends=ends,
        width=found.width,
        least=found.least,
    )


def draw(law: Table, out: Ints, entropy: Entropy) -> None:
    """Fill ``out`` with independent draws."""
    first = _digits(len(out), entropy)
    values = law.guide.take(first)  # [sixteen]
    out[:] = values
    late = np.flatnonzero(values == _OPEN)
    if len(late):
        first = first[late]
        second = _digits(len(late), entropy)
        over = second - law.edge.take(first)
        out[late] = law.below.take(first) + (over > 0)  # [thirty-two]
        rest = np.flatnonzero((over.view(np.uint32) < 2) | (over > _CELLS))  # [undecided]
        if len(rest):
            out[late[rest]] = _searched(law, first[rest], second[rest], entropy)


def _searched(law: Table, first: Digits, second: Digits, entropy: Entropy) -> Ints:
    """The values for 32 digits that leave them open."""
    third = _digits(len(first), entropy)
    known = (first.astype(np.int64) << 2 * _PART) + (second.astype(np.int64) << _PART) + third  # [forty-eight]
    counts = np.searchsorted(law.ends, known, side="right")
    near = known - law.ends[counts - 1] < law.width  # [near]
    for i in np.flatnonzero(near | (counts == 0) | (counts == len(law.ends))).tolist():
        counts[i] = _value(law, int(known[i]), entropy) - law.least  # [deep]
    return counts + law.least


def _value(law: Table, known: int, entropy: Entropy) -> int:
    """The value for a uniform that begins with these 48 digits, by as many more as it takes."""
    digits, words = _DIGITS, 1
    while True:
        for fresh in entropy.auxiliary(words).tolist():
            known, digits = known << _WORD | fresh, digits + _WORD  # [more-digits]
        found = boundaries(law.weights, digits, mirrored=law.mirrored)
        count = bisect_right(found.ends, known)
        if 0 < count < len(found.ends) and known - found.ends[count - 1] >= found.width:
            return found.least + count  # [certain]
        words *= 2


def _digits(n: int, entropy: Entropy) -> Digits:
    """n fresh groups of 16 digits."""
    return entropy.auxiliary(-(-n // 4)).view(np.uint16)[:n]  # [digits]


# end-proof-region: inversion
