"""Noise on the integers for long vectors: every value from 16 digits, and then other values at some of the places.

Each of the 2^16 beginnings of a uniform belongs to an integer. No integer gets more of them than its probability allows
at the places that keep their values. The rest of its probability comes from the other places, which are at independent
distances.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Entropy
from .inversion import (
    Boundaries,
    Ints,
    InversionTable,
    Weights,
    build_inversion_table,
    compute_boundaries,
    draw_digit_groups,
    draw_from_table,
)

_PART = 16  # digits that decide on a value, and the resolution of the probability of another one
_CELLS = 1 << _PART  # the number of beginnings of that length
_DIGITS = 3 * _PART  # digits at which steps are tabulated, as in ``inversion``: products of those fit int64
_LEAST = 2**9  # of 2^16, the least share of places with other values: smaller ones have long tables of distances
_HALF = 2**15  # of 2^16, more than the largest share
_GUARD = 32  # bits of fixed point beyond the digits requested: an error is below one for each place passed
_CHUNK = 2**16  # values at a time, so that table and values stay in the cache
_BLOCK = 2**20  # values at a time when other values are put in, so that memory beyond the result stays small
_SPREAD = 4  # standard deviations beyond the mean, so that one draw of distances nearly always suffices


# proof-region: sprinkled
@dataclass(frozen=True)
class GapDistribution:
    """The places passed before one with another value: g with probability (1 - odds / 2^16)^g odds / 2^16."""

    odds: int

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        one = power = 1 << digits + _GUARD
        ends: list[int] = []
        while power >> _GUARD:  # [enough]
            ends.append(one - power - len(ends) >> _GUARD)  # [passed]
            power = power * (_CELLS - self.odds) >> _PART  # [power]
        return Boundaries(ends, 2 + (len(ends) >> _GUARD), -1)  # [gap-width]


@dataclass(frozen=True, eq=False)
class RestDistribution:
    """The part of a distribution of ``compute_boundaries`` that its cells lack.

    ``given`` is the number of cells up to each step from ``least + 1`` on.
    """

    weights: Weights
    mirrored: bool
    odds: int
    given: Ints
    least: int

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        found = compute_boundaries(self.weights, digits, mirrored=self.mirrored)  # [deeper]
        ends = self.remaining_bounds(np.array(found.ends, dtype=object), found.least, digits)
        return Boundaries(ends.tolist(), self.step_width(found.width), found.least)

    def remaining_bounds(self, ends: NDArray[Any], least: int, digits: int) -> NDArray[Any]:
        """Return lower bounds, from those of ``compute_boundaries``."""
        places = np.arange(len(ends)) + least - self.least
        cells = self.given.take(places, mode="clip").astype(ends.dtype)  # [cells]
        lacking = np.maximum(ends - cells * (_CELLS - self.odds << digits - 2 * _PART), 0)  # [lacking]
        return np.maximum.accumulate(lacking * _CELLS // self.odds)  # [left]

    def step_width(self, width: int) -> int:
        """Return how much greater the steps may be, if those of ``compute_boundaries`` may be greater by ``width``."""
        return 2 + width * _CELLS // self.odds  # [rest-width]


@dataclass(frozen=True, eq=False)
class MixtureTables:
    """A distribution in three parts.

    Attributes:
        guide: The value for each 16 digits.
        rest: The distribution of the other values.
        gaps: The distribution of the places between those.
        odds: Of 2^16, the share of the other values.
    """

    guide: Ints
    rest: InversionTable
    gaps: InversionTable
    odds: int


@functools.lru_cache(maxsize=8)
def mixture_tables(weights: Weights, *, mirrored: bool) -> MixtureTables:
    """Return the parts of the distribution of ``compute_boundaries``.

    The results of 8 calls are cached, each of less than five megabytes at scales below 1024.
    """
    found = compute_boundaries(weights, _DIGITS, mirrored=mirrored)  # [bounds]
    ends = np.array(found.ends, dtype=np.int64)
    masses = np.maximum(np.diff(np.maximum(ends, 0)) - found.width, 0)  # [masses]
    large = masses[masses >= _HALF << _PART]

    def large_cell_count(odds: int) -> int:
        return int((large // (_CELLS - odds << _PART)).sum())  # [count]

    odds = bisect_left(range(_HALF), _CELLS, lo=_LEAST, key=large_cell_count)  # [odds]
    room = masses // (_CELLS - odds << _PART)  # [room]
    given = np.minimum(np.append(0, np.cumsum(room)), _CELLS)  # [given]
    guide = np.repeat(np.arange(len(room)) + found.least + 1, np.diff(given))  # [guide]
    rest = RestDistribution(weights, mirrored, odds, given, found.least)
    values = build_inversion_table(
        rest, rest.remaining_bounds(ends, found.least, _DIGITS), rest.step_width(found.width), found.least
    )
    return MixtureTables(guide, values, _gap_table(odds), odds)


def _gap_table(odds: int) -> InversionTable:
    gaps = GapDistribution(odds)
    found = gaps.cumulative_bounds(_DIGITS)
    return build_inversion_table(gaps, np.array(found.ends, dtype=np.int64), found.width, found.least)  # [gaps]


def draw_from_mixture(law: MixtureTables, out: Ints, entropy: Entropy) -> None:
    """Fill ``out`` with independent draws."""
    for start in range(0, len(out), _CHUNK):
        part = out[start : start + _CHUNK]
        law.guide.take(draw_digit_groups(len(part), entropy), out=part, mode="clip")  # [sixteen]
    for start in range(0, len(out), _BLOCK):
        _replace_values(law, out[start : start + _BLOCK], entropy)  # [blocks]


def _replace_values(law: MixtureTables, out: Ints, entropy: Entropy) -> None:
    """Put other values at some of the places."""
    places = _draw_replaced_places(law, len(out), entropy)
    values = np.empty(len(places), dtype=np.int64)
    draw_from_table(law.rest, values, entropy)
    out[places] = values  # [replaced]


def _draw_replaced_places(law: MixtureTables, n: int, entropy: Entropy) -> Ints:
    """Select each of the first n places with the probability of another value."""
    found, last = [], -1
    while last < n:
        mean = (n - last) * law.odds >> _PART
        gaps = np.empty(mean + _SPREAD * math.isqrt(mean) + _SPREAD, dtype=np.int64)
        draw_from_table(law.gaps, gaps, entropy)
        found.append(np.cumsum(gaps + 1) + last)  # [distances]
        last = int(found[-1][-1])
    places = np.concatenate(found)
    return places[: np.searchsorted(places, n)]  # [within]


# end-proof-region: sprinkled
