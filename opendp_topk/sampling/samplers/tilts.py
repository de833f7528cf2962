"""Numbers of members of the blocks between ceilings, as weights that are close to 1 for likely numbers.

With ceilings n_1 <= ... <= n_k, a set of ranks is under them if its i-th member is one of the first n_i ranks. Only
some of these conditions matter; they cut the ranks into blocks. A block of b ranks has C(b, t) subsets with t members.
Its weight is C(b, t) z^(t - c) for a tilt z and the number c of conditions that end with it, in units of about the
largest weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats, log_bounds

Integers = NDArray[np.int64]

_CORNERS = 256  # conditions from which the tilts are computed: tilts that fit badly only cost time
_BENDS = 48  # places at which the bend of the conditions is measured: a guess that affects only the time
_REACHES = 4  # times the cube root of variance by square of the bend, the length on which both are of equal weight
_STEEPEST = 2.0**60  # a tilt for blocks whose ranks must all be members
_SPREADS, _MORE = 7, 8  # weights are listed up to this many standard deviations and members from the heaviest
_SMALLEST = 16  # the narrowest table; wider ones have twice its width, four times, and so on
_SLACK = 1 + 2.0**-30  # exceeds the rounding of a weight's products: fewer than 2^22 operations of 2^-53 each
_STIRLING = 16  # from here on three terms of Stirling's series are within 1e-9
_HALF_LOG_TWO_PI = 0.9189385332046728  # rounded; the slack at its use covers the error


@dataclass(frozen=True, eq=False)
class RankBlocks:
    """Blocks of ranks: the first has ``sizes[0]`` ranks, at least ``shares[0]`` of them must be members, and so on.

    ``tilts`` do not increase. ``modes`` are the numbers of members with the largest weight, or nearly so.
    """

    sizes: Integers
    shares: Integers
    tilts: Floats
    modes: Integers

    # proof-region: tilts
    def log_units(self) -> float:
        """Return an upper bound on the logarithm of the product of the weights' units, C(b, mode) z^(mode - c)."""
        b, a, spare = self.sizes, self.modes, self.modes - self.shares
        lower, upper = log_bounds(self.tilts, self.tilts)
        tilted = spare * np.where(spare > 0, upper, lower)
        of_sizes, of_modes, of_others = _log_factorials(np.array([b, a, b - a]))
        terms = np.concatenate([of_sizes, -of_modes, -of_others, tilted])
        return fsum(terms) + fsum(np.abs(terms)) * 2.0**-40 + len(b) * 2.0**-28  # [log-units]

    @cached_property
    def weight_tables(self) -> list[tuple[int, Floats, float, float]]:
        """For each block the first listed number of members, weights from there on, bounds on sum and others."""
        spread = np.sqrt(self.modes * (1 - self.modes / np.maximum(self.sizes, 1)))
        times = np.maximum((_SPREADS * spread + _MORE) / _SMALLEST, 1)
        width = _SMALLEST * np.exp2(np.ceil(np.log2(times))).astype(np.int64)
        found: list[tuple[int, Floats, float, float]] = [(0, np.zeros(0), 0.0, 0.0)] * len(width)
        for w in np.unique(width).tolist():
            self._fill_tables(np.flatnonzero(width == w), w, found)
        return found

    def _fill_tables(self, which: Integers, width: int, found: list[tuple[int, Floats, float, float]]) -> None:
        down = min(width, int(self.modes[which].max()))
        b, a, z = (x[which, np.newaxis] for x in (self.sizes, self.modes, self.tilts))
        more = a + np.arange(width + 1)
        rising = np.cumprod(z * np.maximum(b - more, 0) / (more + 1), axis=1)
        fewer = a - np.arange(down + 1)
        falling = np.cumprod(np.maximum(fewer, 0) / (z * (b - fewer + 1)), axis=1)
        rest = np.maximum(rising[:, -1], falling[:, -1]) + 2.0**-900
        weights = np.concatenate([falling[:, -2::-1], np.ones((len(which), 1)), rising[:, :-1]], axis=1) * _SLACK
        sums = np.sum(weights, axis=1) * _SLACK  # [sum]
        columns = which, weights, self.modes[which] - down, sums, rest * _SLACK
        for i, row, start, total, other in zip(*(c if c.ndim > 1 else c.tolist() for c in columns), strict=True):
            cut = max(-start, 0)
            found[i] = start + cut, row[cut:], total, other  # [table]


def build_blocks(ceilings: Integers, detail: int) -> RankBlocks:
    """Return blocks of ceilings n_1 <= ... <= n_k with n_i >= i; a larger ``detail`` makes more blocks."""
    places = np.arange(1, len(ceilings) + 1)
    spare = ceilings - places
    least = np.minimum.accumulate(spare[::-1])[::-1]
    matters = np.flatnonzero(np.append(spare[:-1] < least[1:], True))  # [matters]
    picked = matters[_spaced_places(_condition_reaches(spare[matters], places[matters]), detail)]  # [picked]
    needed, ends = places[picked], ceilings[picked]
    sizes, shares = _successive_differences(ends), _successive_differences(needed)
    tilts = _hull_slopes(ends - needed, needed)
    modes = np.minimum(np.floor((sizes + 1) * (tilts / (1 + tilts))), sizes).astype(np.int64)
    return RankBlocks(sizes, shares, tilts, modes)


def _spaced_places(reaches: Floats, detail: int) -> Integers:
    """Return ascending places, with the last, at gaps of up to 1 / ``detail`` of a reach and of the way to an end."""
    last = len(reaches) - 1
    way = np.minimum(np.arange(last + 1), np.arange(last, -1, -1))
    gaps = (np.minimum(way, reaches) / detail).astype(np.int64).tolist()
    places = [0]
    while places[-1] < last:
        places.append(min(places[-1] + 1 + gaps[places[-1]], last))
    return np.array(places)


def _condition_reaches(spare: Integers, needed: Integers) -> Floats:
    """Return about how many conditions it takes until a set close to all of them forgets how close it was."""
    at = _even_places(len(spare), _BENDS)
    if len(at) < 3:
        return np.full(len(spare), np.inf)
    rise, where = 1 / _hull_slopes(spare[at], needed[at]), needed[at]
    bend = (rise[2:] - rise[:-2]) / (where[2:] - where[:-2])
    reach = np.cbrt(rise[1:-1] * (1 + rise[1:-1]) / np.maximum(bend, 2.0**-60) ** 2)
    return np.asarray(_REACHES * np.interp(np.arange(len(spare)), at[1:-1], reach))


def _hull_slopes(spare: Integers, needed: Integers) -> Floats:
    """Return the slopes, not increasing, of a line from (0, 0) above points (spare, needed), at the points."""
    corners = [(0, 0)]
    picked = _even_places(len(spare), _CORNERS)
    for x, y in zip(spare[picked].tolist(), needed[picked].tolist(), strict=True):
        while len(corners) > 1 and _is_slope_rising(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    x, y = np.array(corners).T
    with np.errstate(divide="ignore"):
        slopes = np.minimum(np.diff(y) / np.diff(x), _STEEPEST)
    return np.asarray(slopes[np.searchsorted(x[1:], spare)])


def _even_places(n: int, most: int) -> Integers:
    """Return distinct places of 0..n-1, ascending, with both ends: all, or ``most`` of them."""
    number = min(n, most)
    return np.arange(number) * (n - 1) // max(number - 1, 1)


def _successive_differences(ascending: Integers) -> Integers:
    """Return the first number, and the difference of each other number to the one before."""
    steps = ascending.copy()
    steps[1:] -= ascending[:-1]
    return steps


def _is_slope_rising(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Return whether the slope from b to c is at least that from a to b."""
    return (c[1] - b[1]) * (b[0] - a[0]) >= (b[1] - a[1]) * (c[0] - b[0])


@cache
def _small_factorials(most: int) -> Floats:
    """Return ln n! for n up to 16 at most, with exact float64 factorials: the series is not close enough for them."""
    factorials = np.cumprod(np.append(1.0, np.arange(1.0, most + 1)))
    return log_bounds(factorials, factorials)[0]


def _log_factorials(n: Integers) -> Floats:
    """Return ln n! within 2^-30 + 2^-44 ln n!."""
    large = np.maximum(n, _STIRLING).astype(np.float64)
    log = log_bounds(large, large)[0]
    series = (large + 0.5) * log - large + (1 / 12 - 1 / (360 * large * large)) / large + _HALF_LOG_TWO_PI
    return np.where(n < _STIRLING, _small_factorials(_STIRLING)[np.minimum(n, _STIRLING)], series)


# end-proof-region: tilts
