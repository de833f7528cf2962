"""Integers with weights exp(-(a x + c x^2)): bounds on their cumulative distribution, and draws by a table of it."""

from __future__ import annotations

import functools
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Protocol

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import Intervals, as_mpq
from .entropy import Entropy

# Bounds, in fixed point, on the steps of the cumulative distribution of noise on the integers.

_GUARD = 64  # bits of fixed point beyond the digits requested: errors grow like the cube of the number of steps
_MARGIN = 8  # bits of MPFR beyond those of the fixed point


# proof-region: boundaries
@dataclass(frozen=True)
class Weights:
    """w(x) = exp(-(linear x + square x^2)) for x = 0, 1, 2, ...: the weight of an integer of size x."""

    linear: Fraction
    square: Fraction

    def coarse_weights(self, shift: int) -> Weights:
        """Return the weights of the multiples of 2^shift; the x-th multiple is x in the new weights."""
        return Weights(self.linear * 2**shift, self.square * 4**shift)  # [coarse]

    def minus_log_weight(self, x: int) -> mpq:
        """Return -ln w(x), exactly."""
        return as_mpq(self.linear) * x + as_mpq(self.square) * x * x  # [level]


@dataclass(frozen=True)
class Boundaries:
    """P(Z < z) for z from ``least + 1`` on: ``ends[i] <= 2^digits P(Z < least + 1 + i) <= ends[i] + width``."""

    ends: list[int]
    width: int
    least: int


def compute_boundaries(weights: Weights, digits: int, *, mirrored: bool) -> Boundaries:
    """Return the boundaries of Z, whose size H has this weight: Z = H or -H if ``mirrored``, else Z = H or -1 - H."""
    sums, rest, bits = _partial_sums(weights, digits, mirrored)
    k, total, half = len(sums), sums[-1], 1 << digits - 1
    error = 2 * k**3  # [error]
    inverse = (1 << 2 * bits) // (total + error + rest)  # [inverse]
    width = 3 + (2 * error + rest << digits - 1) // total  # [width]
    above = [part * inverse >> 2 * bits - digits + 1 for part in sums]  # [above]
    below = [half - end - width for end in reversed(above)]  # [below]
    ends = [*below, *([] if mirrored else [half]), *(half + end for end in above)]  # [ends]
    return Boundaries(ends, width, -k - (not mirrored))


def _partial_sums(weights: Weights, digits: int, halved: bool) -> tuple[list[int], int, int]:
    """Return sums of the first weights, from 1 of them to K, and a bound on the others, in units of 2^-bits."""
    bits = digits + _GUARD
    one = 1 << bits
    ratio, bend = (
        _exp_fixed_point(weights.linear + weights.square, bits),
        _exp_fixed_point(2 * weights.square, bits),
    )  # [factors]
    sizes, weight = [], one
    while weight << digits > one - ratio:  # [enough]
        sizes.append(weight)
        weight, ratio = weight * ratio >> bits, ratio * bend >> bits  # [next]
    sizes[0] >>= halved  # [halved]
    k = len(sizes)
    rest = (weight + 6 * k * k << bits) // (one - ratio - 4 * (k + 1)) + 1  # [rest]
    return list(accumulate(sizes)), rest, bits


def _exp_fixed_point(exponent: Fraction, bits: int) -> int:
    """Return floor(2^bits y) for some y that is equal to e^-exponent or negligibly below it."""
    if exponent == 0:
        return 1 << bits  # [no-bend]
    contexts = Intervals(bits + _MARGIN)
    lower, _ = contexts.exp(contexts.rational(-as_mpq(exponent)))
    return int(mpq(lower) * (1 << bits) // 1)  # [power]


# end-proof-region: boundaries


# Integers by inversion of their cumulative distribution: 16 digits and a table, then 32 and 48, then until certain.
#
# A uniform U has 2^16 possible beginnings of 16 digits; each integer gets as many of them as fit in its probability.
# The remaining probabilities share the rest of the unit interval, and further digits decide between neighbours there.

Ints = NDArray[np.int64]
Digits = NDArray[np.uint16]

_PART = 16  # digits of U that are drawn at a time
_CELLS = 2**_PART  # the number of beginnings of that length
_DIGITS = 3 * _PART  # digits of U at which the steps are tabulated: a step is hit once in 2^46
_FINE = 5  # digits after the first 16 at which the rest of the unit interval has a table
_WORD = 64  # digits come in machine words
_CHUNK = 2**16  # values at a time, so that intermediate arrays stay in the cache
_OPEN = -(2**31)  # marks 21 digits that do not decide the value


class IntegerDistribution(Protocol):
    """A distribution on the integers."""

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        ...


@dataclass(frozen=True, eq=False)
class InversionTable:
    """A table from the digits of U, 16 at a time, to Z.

    Attributes:
        law: The distribution of Z.
        guide: Z for each first 16 digits that are assigned to a single value.
        more: Z or ``_OPEN`` for the first 21 digits of the others, counted from the first of them.
        ends: The steps between the remaining probabilities, at 48 digits.
        width: Upper bound on how much greater the steps may be.
        least: The value of Z below all steps.
        given: The number of beginnings that the integers up to each step were assigned.
    """

    law: IntegerDistribution
    guide: Ints
    more: NDArray[np.int32]
    ends: Ints
    width: int
    least: int
    given: Ints


# proof-region: inversion
@dataclass(frozen=True)
class SizeDistribution:
    """The integers whose sizes have these weights, as in ``compute_boundaries``."""

    weights: Weights
    mirrored: bool

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        return compute_boundaries(self.weights, digits, mirrored=self.mirrored)  # [boundaries]


@functools.lru_cache(maxsize=16)
def inversion_table(weights: Weights, *, mirrored: bool) -> InversionTable:
    """Return the table of such a distribution; 16 tables are cached, each of less than three megabytes."""
    law = SizeDistribution(weights, mirrored)
    found = law.cumulative_bounds(_DIGITS)  # [sized]
    return build_inversion_table(law, np.array(found.ends, dtype=np.int64), found.width, found.least)


def build_inversion_table(law: IntegerDistribution, bounds: Ints, width: int, least: int) -> InversionTable:
    """Return the table of a distribution with these bounds at 48 digits."""
    steps = np.maximum(bounds, 0)
    room = np.maximum(np.diff(steps) - width, 0) >> 2 * _PART  # [room]
    given = np.append(0, np.cumsum(room))
    total = int(given[-1])
    ends = steps + (total - given << 2 * _PART)  # [rest]
    guide = np.zeros(_CELLS, dtype=np.int64)
    guide[:total] = np.repeat(np.arange(len(room)) + least + 1, room)  # [guide]
    return InversionTable(law, guide, _finer_table(ends, width, least, total), ends, width, least, given)


def _finer_table(ends: Ints, width: int, least: int, total: int) -> NDArray[np.int32]:
    """Return the values that 21 digits decide, for uniforms from ``total`` / 2^16 on."""
    shift, length = 2 * _PART - _FINE, _CELLS - total << _FINE
    cells, late = ((ends + back >> shift) - (total << _FINE) for back in (0, width))
    entered = np.bincount(cells, minlength=length)
    left = np.bincount(late, minlength=length)[:length]
    starts, after = np.cumsum(left) - left, np.cumsum(entered)  # [passed]
    known = (starts == after) & (starts > 0) & (after < len(ends))  # [known]
    return np.where(known, least + starts, _OPEN).astype(np.int32)  # [more]


def draw_from_table(law: InversionTable, out: Ints, entropy: Entropy) -> None:
    """Fill ``out`` with independent draws."""
    left = [_looked_up(law, out[start : start + _CHUNK], entropy) for start in range(0, len(out), _CHUNK)]
    rest = np.concatenate([places + i * _CHUNK for i, (places, _) in enumerate(left)] or [out])
    if len(rest):
        out[rest] = _search_values(law, np.concatenate([known for _, known in left]), entropy)  # [undecided]


def _looked_up(law: InversionTable, out: Ints, entropy: Entropy) -> tuple[Ints, Ints]:
    """Fill ``out`` except for values that 21 digits leave open: return their places and first 32 digits."""
    first, total = draw_digit_groups(len(out), entropy), int(law.given[-1])
    law.guide.take(first, out=out, mode="clip")  # [sixteen]
    late = np.flatnonzero(first >= total)
    known = (first[late].astype(np.int64) - total << _PART) + draw_digit_groups(len(late), entropy)  # [thirty-two]
    values = law.more.take(known >> _PART - _FINE)  # [twenty-one]
    out[late] = values
    rest = np.flatnonzero(values == _OPEN)
    return late[rest], known[rest] + (total << _PART)  # [left-open]


def _search_values(law: InversionTable, known: Ints, entropy: Entropy) -> Ints:
    """Return the values for uniforms whose first 32 digits may leave them open."""
    known = (known << _PART) + draw_digit_groups(len(known), entropy)  # [forty-eight]
    counts = np.searchsorted(law.ends, known, side="right")
    near = known - law.ends[counts - 1] < law.width  # [near]
    for i in np.flatnonzero(near | (counts == 0) | (counts == len(law.ends))).tolist():
        counts[i] = _decide_value(law, int(known[i]), entropy) - law.least  # [deep]
    return counts + law.least


def _decide_value(law: InversionTable, known: int, entropy: Entropy) -> int:
    """Return the value for a uniform that begins with these 48 digits, by as many more as necessary."""
    digits, words = _DIGITS, 1
    while True:
        for fresh in entropy.draw_auxiliary_words(words).tolist():
            known, digits = known << _WORD | fresh, digits + _WORD  # [more-digits]
        found = law.law.cumulative_bounds(digits)
        places = np.arange(len(found.ends)) + found.least - law.least
        after = (law.given[-1] - law.given.take(places, mode="clip")).tolist()  # [after]
        moved = (end + (cells << digits - _PART) for end, cells in zip(found.ends, after, strict=True))
        ends = list(accumulate(moved, max))  # [moved]
        count = bisect_right(ends, known)
        if 0 < count < len(ends) and known - ends[count - 1] >= found.width:
            return found.least + count  # [certain]
        words *= 2


def draw_digit_groups(n: int, entropy: Entropy) -> Digits:
    """Return n fresh groups of 16 digits."""
    return entropy.draw_auxiliary_words(-(-n // 4)).view(np.uint16)[:n]  # [digits]


# end-proof-region: inversion
