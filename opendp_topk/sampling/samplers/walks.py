"""Sets under ceilings, drawn by a random walk whose odds are floats that err on one side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import frexp, fsum, ldexp
from typing import NamedTuple

import numpy as np
from gmpy2 import bincoef, mpq, mpz
from numpy.typing import NDArray

from ...numerics.floats import Floats, log_bounds
from .ceilings import multiply_by_pairs
from .entropy import Entropy, Indices
from .subsets import draw_below, draw_uniform_subset

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


_SUM_SLACK = 1 + 2.0**-30  # more than the rounding error of a sum of 2^22 rounded products
_FINE = 2.0**-50  # odds are integers below 2^53, which are exact in float64
_NEGLIGIBLE = 2.0**-32  # bounds smaller than the largest by this factor are not stored separately
_TINY = 2.0**-800  # numbers down to this keep their relative error when they are multiplied
_SHORT = 8  # up to this many bounds at the ends are not worth cutting off
_LARGE = 2.0**100  # numbers are kept between 2^-100 and 2^100, so that products neither overflow nor underflow
_AHEAD = 2**8  # words that are read at a time: 2 KiB, which takes little longer than one
_LN2 = 0.6931471805599453  # ln 2 rounded; the slack at its use covers the error


class BoundRow(NamedTuple):
    """Bounds for the walks through the first blocks that have W more members than these blocks' shares.

    The bound is ``bounds[W - start]``, or ``outside`` if there is no such entry, times 2 to the sum of all ``power`` so
    far; no bound exceeds ``peak``. ``unit`` and ``rest`` belong to the step from the previous row, in units of this
    row. ``damped`` has the bounds of the previous row and the bound outside of them, as this step uses them, in units
    of the previous row.
    """

    start: int
    bounds: Floats
    outside: float
    peak: float
    unit: float
    rest: float
    power: int
    damped: tuple[Floats, float]

    def bound_at(self, excess: int) -> float:
        i = excess - self.start
        return float(self.bounds[i]) if 0 <= i < len(self.bounds) else self.outside  # [bound]


# proof-region: walks
@dataclass(frozen=True, eq=False)
class Walk:
    """All sets of ranks under ``ceilings``, found among those under the fewer conditions of ``blocks``."""

    ceilings: Indices
    blocks: RankBlocks

    def log_bound(self) -> float:
        """Return an upper bound on ln(1 / P), with P the least probability of a set in a draw."""
        last, powers = np.array([self.bound_rows[-1].bound_at(0)]), sum(row.power for row in self.bound_rows)
        return self.blocks.log_units() + float(log_bounds(last, last)[1][0]) + powers * _LN2 + 2.0**-20  # [log-bound]

    @cached_property
    def bound_rows(self) -> list[BoundRow]:
        """The rows, from the one without any block to the one with all blocks."""
        k, tilt = len(self.ceilings), float(self.blocks.tilts[0])
        found, left = [BoundRow(0, np.ones(1), 0.0, 1.0, _FINE, 0.0, 0, (np.ones(1), 0.0))], k
        steps = zip(self.blocks.weight_tables, self.blocks.shares.tolist(), self.blocks.tilts.tolist(), strict=True)
        for (first, weights, total, other), share, new in steps:
            left -= share
            damped = _damp_bounds(found[-1], tilt, new)
            raw = np.correlate(damped[0], weights[::-1], "full")  # [convolve]
            start = found[-1].start + first - share
            raw, start = raw[max(-start, 0) : max(left - start + 1, 0)], min(max(start, 0), left)  # [cut]
            found.append(_next_row(raw, start, found[-1], damped, total, other, k))
            tilt = new
        return found

    def draw_ranks(self, entropy: Entropy) -> tuple[Indices, mpq] | None:
        """Draw a set under the ceilings.

        Returns:
            Its ranks counted from 0, ascending, and the exact probability with which the set is drawn. Or None, as soon
            as members drawn so far are known to violate the ceilings, or the walk ends without a set.
        """
        parts: list[Indices] = []
        odds: list[int] = []
        drawn: list[tuple[int, int]] = []
        excess, left, start = 0, len(self.ceilings), int(self.ceilings[-1])
        sizes, shares, entropy = *self._sizes_and_shares, _BufferedEntropy(entropy)
        for i in range(len(sizes) - 1, -1, -1):
            step = self._step_odds(i, excess)
            if step is None:
                return None
            least, ways, whole = step
            place = int(ways.cumsum().searchsorted(draw_below(whole, entropy), side="right"))  # [place]
            if place == len(ways):
                return None  # [missed]
            odds += [int(ways[place]), whole]
            size, members = sizes[i], excess + shares[i] - least - place  # [members]
            excess, start = least + place, start - size
            if members:
                ranks = start + draw_uniform_subset(size, members, entropy)
                if (ranks >= self.ceilings[left - members : left]).any():
                    return None  # [outside]
                parts.append(ranks)
                drawn.append((size, members))
                left -= members
        wholes = [mpz(n) for n in odds[1::2]] + [bincoef(b, t) for b, t in drawn]
        chance = mpq(multiply_by_pairs([mpz(n) for n in odds[::2]]), multiply_by_pairs(wholes))  # [probability]
        return np.concatenate(parts[::-1]), chance

    @cached_property
    def _sizes_and_shares(self) -> tuple[list[int], list[int]]:
        """The sizes and the shares of the blocks, as Python integers."""
        return self.blocks.sizes.tolist(), self.blocks.shares.tolist()

    def _step_odds(self, i: int, excess: int) -> tuple[int, Indices, int] | None:
        """Return the least excess before block i, the odds of it and those above, and the total to draw from.

        Returns None if no excess is possible.
        """
        before, row = self.bound_rows[i : i + 2]
        first, weights, _, _ = self.blocks.weight_tables[i]
        sizes, shares = self._sizes_and_shares
        total = excess + shares[i]
        least, most = max(total - sizes[i], 0), total if i else 0  # [range]
        if least > most:
            return None
        odds = np.empty(most - least + 1, dtype=np.int64)
        odds.fill(int(row.rest / row.unit))  # [rest]
        low, high = max(least, total - first - len(weights) + 1), min(most, total - first)
        if low <= high:
            damped, outside = row.damped
            odds[low - least : high - least + 1] += (
                weights[total - high - first : total - low - first + 1][::-1]
                * _padded_window(damped, before.start, outside, low, high)
                * ldexp(1 / row.unit, -row.power)
            ).astype(np.int64)  # [odds]
        return least, odds, int(row.bound_at(excess) / row.unit)  # [whole]


class _BufferedEntropy(Entropy):
    """Words that are read many at a time, for one walk, which requests them one by one."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy, self._words = entropy, np.zeros(0, dtype=np.uint64)

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        if n > len(self._words):
            more = self._entropy.draw_auxiliary_words(max(n - len(self._words), _AHEAD))
            self._words = np.concatenate([self._words, more])  # [ahead]
        words, self._words = self._words[:n], self._words[n:]
        return words  # [in-turn]


def _next_row(
    raw: Floats, start: int, before: BoundRow, damped: tuple[Floats, float], total: float, other: float, k: int
) -> BoundRow:
    """Return the next row: ``raw`` from the bounds before, weights of ``total``, and ``other`` for unlisted weights."""
    raw = raw if len(raw) else np.zeros(1)
    most, inflow = float(raw[raw.argmax()]), damped[1] * total  # [most]
    unlisted = 2 * other * before.peak
    unit = max(most, inflow, (k + 2) * unlisted, _TINY) * _FINE  # [unit]
    rest = unlisted + 3 * unit  # [rest-bound]
    outside = everywhere = (inflow + (k + 2) * rest) * _SUM_SLACK  # [everywhere]
    least = most * _NEGLIGIBLE
    if len(raw) > 2 * _SHORT and min(raw[_SHORT], raw[-_SHORT]) <= least < most:
        kept = (raw > least).nonzero()[0]
        raw, start = raw[kept[0] : kept[-1] + 1], start + int(kept[0])
        outside += least * _SUM_SLACK  # [trim]
    largest = max(most, everywhere)
    power = 0 if 1 / _LARGE < largest < _LARGE else frexp(largest)[1]  # [power]
    scaled = ldexp(_SUM_SLACK, -power)
    bounds = raw * (_SUM_SLACK * scaled)
    bounds += everywhere * scaled  # [bounds]
    peak = (most * _SUM_SLACK + outside) * (_SUM_SLACK * scaled)  # [peak]
    return BoundRow(start, bounds, outside * scaled, peak, unit * scaled, rest * scaled, power, damped)


def _damp_bounds(row: BoundRow, tilt: float, new: float) -> tuple[Floats, float]:
    """Return upper bounds on the row's bounds times (new / tilt)^W, and one on all outside."""
    if new == tilt:
        return row.bounds, row.outside
    ratio, end = min(new / tilt * (1 + 2.0**-51), 1.0), row.start + len(row.bounds)  # [ratio]
    factors = np.empty(end + 1)
    factors.fill(ratio)
    factors[0] = 1.0
    powers = np.multiply.accumulate(factors)
    least = float(powers[end]) * _SUM_SLACK + _TINY if row.start == 0 else 1.0
    return row.bounds * (powers[row.start : end] * _SUM_SLACK), row.outside * least  # [damped]


def _padded_window(values: Floats, start: int, outside: float, low: int, high: int) -> Floats:
    """Return the entries from ``low`` to ``high`` of values from ``start`` on, with ``outside`` around them."""
    first, last = max(low, start), min(high + 1, start + len(values))
    if (first, last) == (low, high + 1):
        return values[first - start : last - start]  # [inside]
    found = np.full(high - low + 1, outside)
    if first < last:
        found[first - low : last - low] = values[first - start : last - start]  # [window]
    return found


def build_walk(ceilings: Indices, detail: int) -> Walk:
    """Return the walk over the sets under ``ceilings``; with more ``detail``, fewer draws are rejected."""
    return Walk(ceilings, build_blocks(ceilings, detail))


# end-proof-region: walks
