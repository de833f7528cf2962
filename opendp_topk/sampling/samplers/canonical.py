"""Sets of k items by the canonical exponential mechanism and its relatives."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import ceil, log
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import Interval, Intervals, as_mpq, round_down
from ...numerics.floats import Floats, log_bounds
from . import subsets
from .advantages import ScaledScores
from .bins import extend_to_rank, order_best_scores
from .entropy import SYSTEM, Entropy, Indices
from .subsets import Cell, draw_below

_WORD = 64  # digits come in machine words
_ALIKE = mpq(-1, 1000)  # replaces a logarithm of 0, whose exponential would take less time than that of others


# proof-region: arrivals
class LazyUniform:
    """A uniform variable on [0, 1] whose binary digits are drawn when they are needed, and only once."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._digits = self._known = 0

    def rational_bounds(self, known: int) -> tuple[mpq, mpq]:
        """Return bounds that are 2^-known apart; ``known`` is a multiple of 64 and never decreases between calls."""
        while self._known < known:
            self._digits = self._digits << _WORD | int(self._entropy.draw_auxiliary_words(1)[0])  # [digits]
            self._known += _WORD
        return mpq(self._digits, 1 << self._known), mpq(self._digits + 1, 1 << self._known)  # [enclose]


class ArrivalClock:
    """The time y of the latest arrival of a Poisson process with ``rate`` arrivals per unit of time."""

    def __init__(self, rate: mpq, entropy: Entropy) -> None:
        self._rate = rate
        self._entropy = entropy
        self._waits: list[LazyUniform] = []

    def add_arrival(self) -> None:
        """Add the next arrival."""
        self._waits.append(LazyUniform(self._entropy))  # [wait]

    def lag_interval(self, log_weight: mpq, known: int) -> Interval:
        """Return an interval that contains ln(w + (1 - w) e^y), with w = e^log_weight <= 1.

        If w = 1, digits are drawn and functions computed as well, so neither the number of digits nor the time reveals
        it.
        """
        at = Intervals(known + _WORD)
        down = gmpy2.context(precision=known + _WORD, round=gmpy2.RoundDown)
        up = gmpy2.context(precision=known + _WORD, round=gmpy2.RoundUp)
        lower, upper = self._time_interval(at, known, down, up)
        exponent = at.rational(log_weight or _ALIKE)  # [exponent]
        rest = at.negative((down.expm1(exponent[0]), up.expm1(exponent[1])))  # [rest]
        lag = at.log1p((down.mul(rest[0], down.expm1(lower)), up.mul(rest[1], up.expm1(upper))))  # [lag]
        return at.rational(mpq(0)) if log_weight == 0 else lag  # [no-lag]

    def _time_interval(self, at: Intervals, known: int, down: gmpy2.context, up: gmpy2.context) -> tuple[mpfr, mpfr]:
        lower = upper = mpq(1)
        for wait in self._waits:
            bounds = wait.rational_bounds(known)
            lower, upper = lower * bounds[0], upper * bounds[1]  # [product]
        rate = at.rational(self._rate)
        span = at.negative(at.log((at.rational(lower)[0], at.rational(upper)[1])))
        return down.div(span[0], rate[1]), up.div(span[1], rate[0])  # [time]


# end-proof-region: arrivals


# A partition of the classes of k-subsets into few cells, each with a bound on its weight.
#
# A class (h, t) has the weight C(t-h-2, k-1-h) e^(fall(t) + rise(h)): fall does not increase with t, rise does not
# decrease with h, and neither is positive. Cells are split if they may be heavy and their weight varies, so that few
# proposals are rejected. The bounds are valid for any partition.

Integers = NDArray[np.int64]

_SINGLE = 64  # up to this many classes, each is a cell of its own: one pass is quicker than splitting
_SAMPLES = 2**9  # a fall is evaluated at about this many places at most, to see which cells are worth splitting
_MOST_CELLS = 2**17  # splitting ends here: any partition is correct, but a coarse one has more proposals rejected
_NARROW = 1.0  # weights in a cell differ by a factor of e at most, so that a good part of its proposals is accepted
_STRIPS = 2**7  # initial cells, each of all first gaps: one look replaces many rounds of splitting in two
_NEGLIGIBLE = 4.0  # cells lighter than e^-4 of an even share of the heaviest are not worth splitting
DEPTH = 40  # lighter cells are proposed as if they had 2^-40 of the largest weight, which hardly ever happens
_LEAST_LOG_TWO_PI = 1.8378  # below ln(2 pi) = 1.837877..., as an upper bound on a binomial needs it
_BITS_PER_NAT = 1.4426950408889634  # 1 / ln 2 rounded; the slack at its use covers the error


@dataclass(frozen=True, eq=False)
class WeightedCells:
    """Cells as columns; the weight of cell i is at most ``2 ** bits[i]``."""

    corners: Integers
    bits: Integers

    def __getitem__(self, i: int) -> Cell:
        return Cell(*self.corners[:, i].tolist())


@dataclass(frozen=True)
class FallBounds:
    """Upper bounds on the part of the log-weight that depends on t; ``bound(t - k - 1)`` for t = k+1, ..., k + size."""

    size: int
    bound: Callable[[Integers], Floats]

    @cached_property
    def sampled_bounds(self) -> tuple[Integers, Floats]:
        """Ascending places and their bounds: all places, or in a large fall many at the head and few at the end."""
        places = _sample_places(self.size)
        return places, self.bound(places)


@functools.lru_cache(maxsize=16)
def _sample_places(size: int) -> Integers:
    places = np.arange(min(size, _SAMPLES // 4))
    if size <= _SAMPLES // 4:
        return places
    rest = np.geomspace(_SAMPLES // 4, size, _SAMPLES)
    return np.unique(np.concatenate([places, rest.astype(np.int64) - 1]))


# proof-region: cells
def partition_classes(k: int, fall: FallBounds, rise: Floats) -> WeightedCells:
    """Return cells that together contain every class (h, t) once, 0 <= h < k < t <= d.

    Args:
        k: The size of the subsets, k < d.
        fall: Upper bounds on the part of the log-weight that depends on t = k+1, ..., d; its size is d - k.
        rise: Upper bounds on the part that depends on h = 0, ..., k-1; shape (k,).
    """
    if k * fall.size <= _SINGLE:
        h, t = np.indices((k, fall.size)).reshape(2, -1)
        found = np.array([h, h, t + k + 1, t + k + 1])  # [single]
        return WeightedCells(found, _binary_exponents(_log_weights(k, found, fall, rise)))
    corners = np.array([[0], [k - 1], [k + 1], [k + fall.size]])  # [one-cell]
    floor = -_log_sizes(k, corners)[0] - DEPTH
    if fall.sampled_bounds[1][0] > floor:
        corners = _initial_strips(k, fall, floor)  # [strips]
    rising, heaviest = np.maximum(rise, floor), 0.0
    kept: list[tuple[Integers, Floats]] = []
    while True:
        first_h, last_h, first_t, last_t = corners
        log_weights = _log_weights(k, corners, fall, rise)
        falls = np.maximum(fall.bound(np.concatenate([first_t, last_t]) - k - 1), floor)
        upper, lower = falls[: len(first_t)], falls[len(first_t) :]
        drop_h, drop_t = rising[last_h] - rising[first_h], upper - lower
        drop = drop_h + drop_t
        heaviest = max(heaviest, float(np.max(log_weights - drop)))
        number = len(drop) + sum(len(weights) for _, weights in kept)
        split = (drop > _NARROW) & (log_weights > heaviest - np.log(number) - _NEGLIGIBLE)
        if number > _MOST_CELLS:
            split[:] = False  # [enough]
        kept.append((corners[:, ~split], log_weights[~split]))  # [kept]
        if not split.any():
            return WeightedCells(
                np.concatenate([c for c, _ in kept], axis=1), _binary_exponents(np.concatenate([w for _, w in kept]))
            )
        by_h, by_t = split & (drop_h > drop_t), split & (drop_h <= drop_t)
        levels = np.maximum((upper + lower)[by_t] / 2, floor)
        corners = np.concatenate(
            [*_split_h(corners[:, by_h], rising), *_split_t(corners[:, by_t], levels, fall, k)], axis=1
        )


def _initial_strips(k: int, fall: FallBounds, floor: float) -> Integers:
    """Return cells of all first gaps, with the lowest members divided at about even steps of the fall."""
    places, bounds = fall.sampled_bounds
    depth = -max(float(bounds[-1]), floor)
    number = min(int(depth / _NARROW), _STRIPS)
    levels = np.arange(number) * (depth / max(number, 1))
    inner = places[np.minimum(np.searchsorted(-bounds, levels, side="right"), len(places) - 1)]
    inner = np.maximum.accumulate(inner)  # [ascending]
    starts = k + 1 + np.append(0, inner[np.append(0, inner[:-1]) < inner])
    ends = np.append(starts[1:] - 1, k + fall.size)
    return np.array([np.zeros_like(starts), np.full_like(starts, k - 1), starts, ends])


def _log_weights(k: int, corners: Integers, fall: FallBounds, rise: Floats) -> Floats:
    """Return upper bounds on the logarithm of each cell's size times the largest weight in it."""
    return np.asarray(_log_sizes(k, corners) + (fall.bound(corners[2] - k - 1) + rise[corners[1]]))  # [corner]


def _split_h(corners: Integers, rising: Floats) -> tuple[Integers, Integers]:
    first_h, last_h, first_t, last_t = corners
    middle = np.searchsorted(rising, (rising[first_h] + rising[last_h]) / 2, side="right")
    middle = np.clip(middle, first_h + 1, last_h)  # [split-h]
    return np.array([first_h, middle - 1, first_t, last_t]), np.array([middle, last_h, first_t, last_t])


def _split_t(corners: Integers, levels: Floats, fall: FallBounds, k: int) -> tuple[Integers, Integers]:
    first_h, last_h, first_t, last_t = corners
    places, bounds = fall.sampled_bounds
    middle = k + 1 + places[np.minimum(np.searchsorted(-bounds, -levels, side="right"), len(places) - 1)]
    middle = np.where((first_t < middle) & (middle <= last_t), middle, (first_t + last_t + 1) // 2)  # [split-t]
    return np.array([first_h, last_h, first_t, middle - 1]), np.array([first_h, last_h, middle, last_t])


def _log_sizes(k: int, corners: Integers) -> Floats:
    """Return upper bounds on the logarithm of the number of subsets in each cell."""
    first_h, last_h, first_t, last_t = corners
    n, m, j = last_t - first_h - 2, k - 1 - first_h, last_t - k - 1
    rows = np.minimum(last_h - first_h + 1, (n + 1) / (j + 1))  # [rows]
    columns = np.minimum(last_t - first_t + 1, (n + 2) / (m + 1))  # [columns]
    both = np.array([rows, columns])
    return np.asarray(_log_binomials(n, m, j) + np.sum(log_bounds(both, both)[1], axis=0) + 2.0**-10)  # [size]


def _log_binomials(n: Integers, m: Integers, j: Integers) -> Floats:
    """Return upper bounds on ln C(n, m), with n = m + j."""
    inner = (m > 0) & (j > 0)
    a, b, c = each = np.where(inner, np.array([n, m, j]), 1).astype(np.float64)
    lower, upper = log_bounds(each, each)
    log_a, log_b, log_c = upper[0], lower[1], lower[2]
    leading = a * log_a - b * log_b - c * log_c  # [entropy-term]
    root = (log_a - log_b - log_c - _LEAST_LOG_TWO_PI) / 2  # [root-term]
    return np.where(inner, leading + root + 2.0**-44 * a * (log_a + 4), 0.0)  # [slack]


def _binary_exponents(log_weights: Floats) -> Integers:
    """Return integers with 2 ** bits >= e ** log_weights, none more than 40 below the larger of 0 and their largest."""
    powers = log_weights * _BITS_PER_NAT
    powers += np.abs(powers) * 2.0**-48 + 2.0**-10  # [to-base-two]
    top = max(0.0, float(np.ceil(np.max(powers))))  # [top]
    bits: Integers = np.ceil(np.maximum(powers, top - DEPTH)).astype(np.int64)  # [never-below]
    return bits


# end-proof-region: cells


# The k-subset with the best noisy utility among all C(d, k), drawn exactly without listing them.
#
# The utility of a subset is gamma m - (1 - gamma) M, with m the worst score inside it and M the best outside. A cell of
# classes is proposed with a probability proportional to a bound on its weight, then a subset of it uniformly. The
# proposal is accepted with the probability that corrects the bound, decided by as many binary digits as necessary.

_CLIP = 2.0**1000  # keeps products and sums of a few terms finite; clipping from below raises a bound
_SHRINK = 1 - 2.0**-40  # a smaller weight of a shortfall bounds it from above: margin for all roundings
_RARE = 16  # subsets with a member that is not sorted with the others have less than e^-16 of the weight
_TINY = 2.0**-900  # a smaller weight counts as 0, which also bounds from above: its products could underflow


# proof-region: canonical
def draw_subsets(
    values: NDArray[Any],
    scale: Fraction,
    gamma: Fraction,
    k: int,
    *,
    sign: int,
    capped: bool,
    exponential: bool = False,
    entropy: Entropy = SYSTEM,
) -> Iterator[Indices]:
    """Yield, without end, independent k-subsets S with the largest u(S) / scale + noise, as ascending indices.

    Work that depends on the scores only is done once.

    u(S) = gamma m - (1 - gamma) M, with m the least of ``sign * values`` in S and M the greatest outside S. If
    ``capped``, max(M, m) replaces M.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        gamma: 0 <= gamma <= 1.
        k: The size of the subset, 1 <= k < d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        capped: Whether M is replaced by max(M, m).
        exponential: False (the default) for a probability proportional to e^(u(S) / scale), the output distribution of
            the largest u(S) / scale + Z(S) with Gumbel noise; True for the output distribution with exponential noise.
        entropy: The source of digits; by default the operating system.

    Yields:
        int64 arrays of shape (k,).
    """
    first = order_best_scores(values, sign, k + 1, _negligible_depth(len(values), k, scale, gamma), scale)
    best = ScaledScores(first.best_scores[: k + 1], scale, 1)  # [rank]
    edge, rival = best.values[k - 1], best.values[k - 1 if capped else k]  # [references]
    with np.errstate(all="ignore"):
        fall = FallBounds(
            len(values) - k,
            lambda j: _weighted_upper_bounds(gamma, best.approximate_advantages(first.score_upper_bounds(k + j), edge)),
        )  # [fall]
        rise = _weighted_upper_bounds(1 - gamma, -best.approximate_advantages(best.values[:k], rival))  # [rise]
        cells = partition_classes(k, fall, rise)
    lowest = max(0, int(cells.bits.max())) - DEPTH  # [lowest]
    bits = np.append(cells.bits, max(0, lowest))  # [with-best]
    proposals = np.cumsum(1 << (bits - lowest))  # [proposals]
    while True:
        rungs = first  # [as-at-first]
        clock = ArrivalClock(int(proposals[-1]) * _power_of_two(lowest), entropy) if exponential else None  # [clock]
        accepting = False
        while not accepting:
            i = bisect_right(proposals, draw_below(int(proposals[-1]), entropy))  # [propose]
            if i == len(cells.bits):
                h, t, n = k, k, gmpy2.mpz(1)  # [best-proposed]
            else:
                cell = cells[i]
                (h, t), n = subsets.draw_class(k, cell, entropy), subsets.count_subsets(k, cell)  # [class-proposed]
                rungs = extend_to_rank(rungs, t - 1, values, sign)  # [others]
            ranks = subsets.draw_members(k, h, t, entropy)  # [members]
            if h == k:
                log_weight = mpq(0)  # [weight-of-best]
            else:
                worst = ScaledScores(rungs.worst_score(ranks), scale, 1)
                log_weight = _weighted_advantage(gamma, worst, 0, edge) - _weighted_advantage(
                    1 - gamma, best, h, rival
                )  # [log-weight]
            accepting = accept_proposal(log_weight, _power_of_two(int(bits[i])) / n, clock, entropy)
        yield np.sort(rungs.candidates_at_ranks(ranks))  # [release]


def _negligible_depth(d: int, k: int, scale: Fraction, gamma: Fraction) -> Fraction | None:
    """Return the depth below the k-th best at which a set's weight is negligible; None if ``gamma`` is 0."""
    return None if gamma == 0 else (ceil(k * (log(d / k) + 1)) + _RARE) * scale / gamma


def _weighted_upper_bounds(weight: Fraction, advantages: Floats) -> Floats:
    """Return upper bounds, up to less than 2^-1000, on ``weight`` times advantages that are not positive."""
    factor = round_down(weight) * _SHRINK if weight >= _TINY else 0.0  # [shrink]
    return np.asarray(np.maximum(advantages, -_CLIP) * factor)  # [product]


def _weighted_advantage(weight: Fraction, scores: ScaledScores, index: int, reference: Any) -> mpq:
    return as_mpq(weight * scores.exact_advantage(index, reference))


def _power_of_two(exponent: int) -> mpq:
    return mpq(1 << max(exponent, 0), 1 << max(-exponent, 0))


def accept_proposal(log_weight: mpq, ratio: mpq, clock: ArrivalClock | None, entropy: Entropy) -> bool:
    """Return whether a fresh uniform V satisfies ln(ratio V) + lag < log_weight; the lag is 0 without a clock."""
    uniform = LazyUniform(entropy)  # [fresh]
    if clock is not None:
        clock.add_arrival()  # [tick]
    for known in count(_WORD, _WORD):
        at = Intervals(known + _WORD)
        lower, upper = uniform.rational_bounds(known)
        lag = at.rational(mpq(0)) if clock is None else clock.lag_interval(log_weight, known)
        left = at.add(at.log((at.rational(lower)[0], at.rational(upper)[1])), at.log(at.rational(ratio)))
        left, right = at.add(left, lag), at.rational(log_weight)  # [sides]
        if left[1] < right[0]:
            return True  # [accept]
        if left[0] > right[1]:
            return False  # [refuse]
    raise AssertionError("count() is infinite")


# end-proof-region: canonical
