"""Sets under ceilings, drawn by a random walk whose odds are floats that err on one side.

Walks for similar ceilings are prepared together, as the columns of arrays, which takes a fraction of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import ldexp
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
_OUT_OF_REACH = 8  # standard deviations from the hull at which conditions are not kept, which may cost time
_STEEPEST = 2.0**60  # a tilt for blocks whose ranks must all be members
_SPREADS, _MORE = 7, 8  # weights are listed up to this many standard deviations and members from the heaviest
_SMALLEST = 16  # the narrowest table; wider ones have twice its width, four times, and so on
_SLACK = 1 + 2.0**-29  # exceeds the rounding of a weight's products: fewer than 2^23 operations of 2^-53 each
_TOGETHER = 48  # walks in one array at most: with more of them, its rows no longer fit in a cache
_PIECE = 2**16  # weights that are computed at a time: 512 KiB, which stay in a cache
_STIRLING = 16  # from here on three terms of Stirling's series are within 1e-9
_HALF_LOG_TWO_PI = 0.9189385332046728  # rounded; the slack at its use covers the error


@dataclass(frozen=True, eq=False)
class RankBlocks:
    """Blocks of ranks for several ceilings: a column has those for one of them, after blocks without any rank.

    The first block of column j has ``sizes[0, j]`` ranks, at least ``shares[0, j]`` of them must be members, and so on.
    ``tilts`` do not increase. ``modes`` are the numbers of members with the largest weight, or nearly so.
    """

    sizes: Integers
    shares: Integers
    tilts: Floats
    modes: Integers

    # proof-region: tilts
    def log_units(self) -> Floats:
        """Return for each column an upper bound on the logarithm of the product of its C(b, mode) z^(mode - c)."""
        b, a, spare = self.sizes, self.modes, self.modes - self.shares
        lower, upper = log_bounds(self.tilts, self.tilts)
        tilted = spare * np.where(spare > 0, upper, lower)
        of_sizes, of_modes, of_others = _log_factorials(np.array([b, a, b - a]))
        terms = np.concatenate([of_sizes, -of_modes, -of_others, tilted])
        slack = np.abs(terms).sum(axis=0) * 2.0**-30 + len(b) * 2.0**-28
        return np.asarray(terms.sum(axis=0) + slack)  # [log-units]

    @cached_property
    def weight_tables(self) -> list[tuple[Integers, Floats, Floats, Floats]]:
        """For each block the first listed numbers of members, weights from there on, bounds on sums and others.

        The weights have shape (numbers of members, ceilings), the others shape (ceilings,).
        """
        spread = np.sqrt(self.modes * (1 - self.modes / np.maximum(self.sizes, 1))).max(axis=1)
        times = np.maximum((_SPREADS * spread + _MORE) / _SMALLEST, 1)
        width = _SMALLEST * np.exp2(np.ceil(np.log2(times))).astype(np.int64)
        found: list[tuple[Integers, Floats, Floats, Floats]] = []
        place: list[int] = []
        for w in np.unique(width).tolist():
            which, step = np.flatnonzero(width == w), max(_PIECE // (2 * w * self.modes.shape[1]), 1)
            for i in range(0, len(which), step):
                found += self._list_weights(which[i : i + step], w)
            place += which.tolist()
        return [found[i] for i in np.argsort(place)]

    def _list_weights(self, which: Integers, width: int) -> list[tuple[Integers, Floats, Floats, Floats]]:
        b, a, z = (x[which, np.newaxis] for x in (self.sizes, self.modes, self.tilts))
        first, last = np.maximum(a - width, 0), np.minimum(a + width, b)
        lengths = (last - first + 1).max(axis=2)[:, 0].tolist()  # [listed]
        t = first + np.arange(max(lengths))[:, np.newaxis]
        more = np.maximum(b - t, 0)
        rising = np.cumprod(np.where(t < a, 1.0, z * more / (t + 1)), axis=1)
        falling = np.cumprod(np.where(t > a, 1.0, t / (z * (more + 1)))[:, ::-1], axis=1)[:, ::-1]
        weights = np.full(rising.shape, _SLACK)
        weights[:, 1:] *= rising[:, :-1]
        weights[:, :-1] *= falling[:, 1:]
        return [
            (
                start[0],
                row[:n].copy(),
                row[:n].sum(axis=0) * _SLACK,  # [sum]
                (np.maximum(up[n - 1], down[0]) + 2.0**-900) * _SLACK,
            )
            for start, row, up, down, n in zip(first, weights, rising, falling, lengths, strict=True)
        ]  # [table]


def build_blocks(ceilings: list[Integers], detail: int) -> RankBlocks:
    """Return blocks for several ceilings n_1 <= ... <= n_k with n_i >= i; a larger ``detail`` makes more blocks."""
    columns = [_blocks_of_column(each, detail) for each in ceilings]
    most = max(len(sizes) for sizes, *_ in columns)
    sizes, shares, tilts, modes = (
        np.stack([np.append(np.full(most - len(each), before), each) for each, before in part], axis=1)
        for part in zip(*([(a, 0), (b, 0), (c, c[0]), (d, 0)] for a, b, c, d in columns), strict=True)
    )  # [empty]
    return RankBlocks(sizes, shares, tilts, modes)


def _blocks_of_column(ceilings: Integers, detail: int) -> tuple[Integers, Integers, Floats, Integers]:
    """Return sizes, shares, tilts and modes for one of the ceilings."""
    places = np.arange(1, len(ceilings) + 1)
    spare = ceilings - places
    least = np.minimum.accumulate(spare[::-1])[::-1]
    matters = np.flatnonzero(np.append(spare[:-1] < least[1:], True))  # [matters]
    corners = _hull_corners(spare[matters], places[matters])
    if detail < len(places):
        matters = matters[_can_be_reached(spare[matters], places[matters], *corners)]
    picked = matters[_spaced_places(_condition_reaches(spare[matters], places[matters]), detail)]  # [picked]
    needed, ends = places[picked], ceilings[picked]
    sizes, shares = _successive_differences(ends), _successive_differences(needed)
    tilts = _hull_slopes(ends - needed, *corners)
    modes = np.minimum(np.floor((sizes + 1) * (tilts / (1 + tilts))), sizes).astype(np.int64)
    return sizes, shares, tilts, modes


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
    rise, where = 1 / _hull_slopes(spare[at], *_hull_corners(spare[at], needed[at])), needed[at]
    bend = (rise[2:] - rise[:-2]) / (where[2:] - where[:-2])
    reach = np.cbrt(rise[1:-1] * (1 + rise[1:-1]) / np.maximum(bend, 2.0**-60) ** 2)
    return np.asarray(_REACHES * np.interp(np.arange(len(spare)), at[1:-1], reach))


def _can_be_reached(spare: Integers, needed: Integers, x: Integers, y: Integers) -> NDArray[np.bool_]:
    """Return which conditions are few deviations from the line with corners x, y, so that sets come close to them."""
    right = np.clip(np.searchsorted(x, spare), 1, len(x) - 1)
    slope = (y[right] - y[right - 1]) / np.maximum(x[right] - x[right - 1], 1)
    way = np.minimum(spare - x[right - 1], x[right] - spare)
    far = np.interp(spare, x, y) - needed
    near = np.asarray(far**2 <= _OUT_OF_REACH**2 * (slope * (1 + slope) * way + 1))
    near[-1] = True  # [last]
    return near


def _hull_corners(spare: Integers, needed: Integers) -> tuple[Integers, Integers]:
    """Return the corners of a concave line from (0, 0) to the last point, close above points (spare, needed)."""
    corners = [(0, 0)]
    picked = _even_places(len(spare), _CORNERS)
    for x, y in zip(spare[picked].tolist(), needed[picked].tolist(), strict=True):
        while len(corners) > 1 and _is_slope_rising(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    along, up = np.array(corners).T
    return along, up


def _hull_slopes(spare: Integers, x: Integers, y: Integers) -> Floats:
    """Return the slopes, not increasing, of the line with corners x, y at the points."""
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
_NEGLIGIBLE = 2.0**-32  # bounds that exceed those outside by less than this part of the largest are not kept
_TINY = 2.0**-800  # numbers down to this keep their relative error when they are multiplied
_AHEAD = 2**8  # words that are read at a time: 2 KiB, which takes little longer than one
_LN2 = 0.6931471805599453  # ln 2 rounded; the slack at its use covers the error


class BoundRow(NamedTuple):
    """Bounds for the walks through the first blocks that have W more members than these blocks' shares.

    Each column j belongs to one of several walks. Its bound is ``bounds[W - start[j], j]``, or ``outside[j]`` if there
    is no such entry, times 2 to the sum of all ``power`` so far; no bound exceeds ``peak``. ``unit`` and ``rest``
    belong to the step from the previous row, in units of this row. ``damped`` has the bounds of the previous row and
    the bound outside of them, as this step uses them, in units of the previous row.
    """

    start: Integers
    bounds: Floats
    outside: Floats
    peak: Floats
    unit: Floats
    rest: Floats
    power: Integers
    damped: tuple[Floats, Floats]

    def bound_at(self, column: int, excess: int) -> float:
        i = excess - int(self.start[column])
        return float(self.bounds[i, column] if 0 <= i < len(self.bounds) else self.outside[column])  # [bound]


# proof-region: walks
@dataclass(frozen=True, eq=False)
class WalkBounds:
    """Bounds for walks with the same number of members, one for each column of ``blocks``."""

    blocks: RankBlocks

    @cached_property
    def log_bounds(self) -> list[float]:
        """Upper bounds on ln(1 / P), with P the least probability of a set in a draw, for each walk."""
        rows = self.bound_rows
        last = np.array([rows[-1].bound_at(j, 0) for j in range(len(rows[-1].start))])
        powers = sum(row.power for row in rows)
        found = self.blocks.log_units() + log_bounds(last, last)[1] + powers * _LN2 + 2.0**-20  # [log-bound]
        return [float(each) for each in found]

    @cached_property
    def bound_rows(self) -> list[BoundRow]:
        """The rows, from the one without any block to the one with all blocks."""
        k, tilts = int(self.blocks.shares[:, 0].sum()), self.blocks.tilts
        one, zero, none = (np.full(tilts.shape[1], x) for x in (1.0, 0.0, 0))
        found = [BoundRow(none, one[np.newaxis], zero, one, one * _FINE, zero, none, (one[np.newaxis], zero))]
        left = np.full(len(zero), k)
        steps = zip(self.blocks.weight_tables, self.blocks.shares, [tilts[0], *tilts], tilts, strict=False)
        for (first, weights, total, other), share, tilt, new in steps:
            left = left - share
            damped, start = _damp_bounds(found[-1], tilt, new), found[-1].start + first - share
            raw = _convolve_columns(damped, weights, start, left)
            found.append(_next_row(raw, start, found[-1], damped, total, other, k))
        return found


@dataclass(frozen=True, eq=False)
class Walk:
    """All sets of ranks under ``ceilings``, found among those under the fewer conditions of blocks.

    The blocks, and the bounds for them, are a ``column`` of those that are ``shared`` with other walks.
    """

    ceilings: Indices
    shared: WalkBounds
    column: int

    def log_bound(self) -> float:
        """Return an upper bound on ln(1 / P), with P the least probability of a set in a draw."""
        return self.shared.log_bounds[self.column]

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
        return self.shared.blocks.sizes[:, self.column].tolist(), self.shared.blocks.shares[:, self.column].tolist()

    def _step_odds(self, i: int, excess: int) -> tuple[int, Indices, int] | None:
        """Return the least excess before block i, the odds of it and those above, and the total to draw from.

        Returns None if no excess is possible.
        """
        j, (before, row) = self.column, self.shared.bound_rows[i : i + 2]
        starts, weights, _, _ = self.shared.blocks.weight_tables[i]
        sizes, shares = self._sizes_and_shares
        total, first, unit = excess + shares[i], int(starts[j]), float(row.unit[j])
        least, most = max(total - sizes[i], 0), total if i else 0  # [range]
        if least > most:
            return None
        odds = np.empty(most - least + 1, dtype=np.int64)
        odds.fill(int(float(row.rest[j]) / unit))  # [rest]
        low, high = max(least, total - first - len(weights) + 1), min(most, total - first)
        if low <= high:
            damped, outside = row.damped
            odds[low - least : high - least + 1] += (
                weights[total - high - first : total - low - first + 1, j][::-1]
                * _padded_window(damped[:, j], int(before.start[j]), float(outside[j]), low, high)
                * ldexp(1 / unit, -int(row.power[j]))
            ).astype(np.int64)  # [odds]
        return least, odds, int(row.bound_at(j, excess) / unit)  # [whole]


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


def _convolve_columns(damped: tuple[Floats, Floats], weights: Floats, start: Integers, left: Integers) -> Floats:
    """Return the convolution of each column, of which row i is for the excess ``start`` + i.

    It is 0 for an excess that is negative or more than ``left``.
    """
    (n, walks), taps = damped[0].shape, len(weights)
    padded = np.empty((n + 2 * taps - 2, walks))
    padded[:] = damped[1]
    padded[taps - 1 : taps - 1 + n] = damped[0]  # [around]
    step = padded.strides[0]
    windows = np.ndarray((n + taps - 1, taps, walks), np.float64, padded, 0, (step, step, 8))
    raw = np.asarray(np.einsum("itj,tj->ij", windows, weights[::-1]))  # [convolve]
    place = np.arange(len(raw))[:, np.newaxis]
    low, high = max(-int(start.min()), 0), max(int((left - start).min()) + 1, 0)
    raw[:low][place[:low] < -start] = 0  # [below]
    raw[high:][place[high:] > left - start] = 0  # [above]
    return raw


def _next_row(
    raw: Floats,
    start: Integers,
    before: BoundRow,
    damped: tuple[Floats, Floats],
    total: Floats,
    other: Floats,
    k: int,
) -> BoundRow:
    """Return the next row: ``raw`` from the bounds before, weights of ``total``, and ``other`` for unlisted weights."""
    most, inflow = raw.max(axis=0), damped[1] * total  # [most]
    unlisted = 2 * other * before.peak
    unit = np.maximum(np.maximum(most, inflow), np.maximum((k + 2) * unlisted, _TINY)) * _FINE  # [unit]
    rest = unlisted + 3 * unit  # [rest-bound]
    everywhere = (k + 2) * rest * _SUM_SLACK  # [everywhere]
    limit = inflow + most * _NEGLIGIBLE
    kept = raw > limit
    first, last = np.maximum(kept.argmax(axis=0), -start), len(raw) - kept[::-1].argmax(axis=0)
    raw, start = _shifted_rows(raw, first, max(int((last - first).max()), 1), inflow), start + first
    outside = limit * _SUM_SLACK + everywhere  # [trim]
    power = np.frexp(np.maximum(most, outside))[1]  # [power]
    scaled = np.ldexp(_SUM_SLACK, -power)
    bounds = raw * (_SUM_SLACK * scaled)
    bounds += everywhere * scaled  # [bounds]
    peak = (most * _SUM_SLACK + outside) * (_SUM_SLACK * scaled)  # [peak]
    return BoundRow(start, bounds, outside * scaled, peak, unit * scaled, rest * scaled, power, damped)


def _shifted_rows(values: Floats, first: Integers, n: int, after: Floats) -> Floats:
    """Return n rows of each column, from row ``first`` of this column on, and ``after`` where it has no more rows."""
    low, high = int(first.min()), int(first.max())
    if high + n > len(values):
        values = np.concatenate([values, np.broadcast_to(after, (high + n - len(values), len(after)))])
    if low == high:
        return values[low : low + n]
    return np.take_along_axis(values, np.arange(n)[:, np.newaxis] + first, axis=0)  # [shifted]


def _damp_bounds(row: BoundRow, tilt: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Return upper bounds on the row's bounds times (new / tilt)^W, and one on all outside."""
    if (new == tilt).all():
        return row.bounds, row.outside
    ratio, n = np.minimum(new / tilt * (1 + 2.0**-51), 1.0), len(row.bounds)  # [ratio]
    factors = np.ones((int(row.start.max()) + n + 1, len(ratio)))
    factors[1:] = ratio
    powers = _shifted_rows(np.multiply.accumulate(factors, axis=0), row.start, n + 1, ratio)
    least = np.where(row.start == 0, powers[n] * _SUM_SLACK + _TINY, 1.0)
    return row.bounds * (powers[:n] * _SUM_SLACK), row.outside * least  # [damped]


def _padded_window(values: Floats, start: int, outside: float, low: int, high: int) -> Floats:
    """Return the entries from ``low`` to ``high`` of values from ``start`` on, with ``outside`` around them."""
    first, last = max(low, start), min(high + 1, start + len(values))
    if (first, last) == (low, high + 1):
        return values[first - start : last - start]  # [inside]
    found = np.full(high - low + 1, outside)
    if first < last:
        found[first - low : last - low] = values[first - start : last - start]  # [window]
    return found


def build_walks(ceilings: list[Indices], detail: int) -> list[Walk]:
    """Return a walk over the sets under each of these ceilings; with more ``detail``, fewer draws are rejected.

    It takes less time if ceilings that follow one another are similar.
    """
    found: list[Walk] = []
    for i in range(0, len(ceilings), _TOGETHER):
        some = ceilings[i : i + _TOGETHER]
        shared = WalkBounds(build_blocks(some, detail))
        found += [Walk(each, shared, j) for j, each in enumerate(some)]  # [columns]
    return found


# end-proof-region: walks
