"""Upper bounds of loss distributions on grids, from which curves of compositions are computed."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import gmpy2
from gmpy2 import mpz

from ...numerics.arithmetic import exp_up, one_minus_exp_up, round_up
from .curve import PrivacyCurve

# Loss distributions on a grid that dominate a privacy curve. They are convolved in integer arithmetic.
#
# Proof: proofs/spaces/curves/covers.tex

# A unit of mass is 2^-128: rounding up on a grid of a million nodes adds less than 10^-32. A mass of at most 2^-100 at
# either end of a grid is moved up, which is negligible for practical deltas.
# proof-region: covers
DIGITS = 128
ONE = 1 << DIGITS
_LIGHT = mpz(1) << DIGITS - 100


@dataclass(frozen=True)
class LossDistribution:
    """An upper bound on a loss distribution, on a grid of step h.

    It has ``masses[i]`` units at the loss (``lowest`` + i) h and ``infinite`` units at infinity. The sum may exceed 1.
    """

    lowest: int
    masses: tuple[mpz, ...]
    infinite: mpz

    @property
    def total_mass(self) -> mpz:
        """The total mass, including that at infinity."""
        return sum(self.masses, self.infinite)

    def __mul__(self, other: LossDistribution) -> LossDistribution:
        """Return a bound for the composition of two steps, one bounded by ``self`` and one by ``other``."""
        whole = self.total_mass
        others = whole if other is self else other.total_mass
        digits = int(whole * others + ONE).bit_length()  # [slot]
        one = gmpy2.pack(list(self.masses), digits)  # [pack]
        joint = one * (one if other is self else gmpy2.pack(list(other.masses), digits))  # [convolution]
        nodes = len(self.masses) + len(other.masses) - 1
        masses = gmpy2.unpack(_units_up(joint, nodes, digits), digits)  # [mass-up]
        infinite = self.infinite * others + (whole - self.infinite) * other.infinite  # [either-infinite]
        return LossDistribution(
            self.lowest + other.lowest, tuple(masses), (infinite + (ONE - 1)) >> DIGITS
        )._truncate_tails()

    def self_compose(self, count: int) -> LossDistribution:
        """Return a bound for the composition of ``count`` >= 1 steps, each bounded by ``self``; by squaring."""
        if count == 1:
            return self
        half = self.self_compose(count // 2)
        return half * half * self if count % 2 else half * half  # [square]

    def refine_grid(self, every: int) -> LossDistribution:
        """Return the same distribution on a grid whose step is smaller by the factor ``every``."""
        masses = [mpz(0)] * ((len(self.masses) - 1) * every + 1)
        masses[::every] = self.masses  # [spread]
        return LossDistribution(self.lowest * every, tuple(masses), self.infinite)

    def _truncate_tails(self) -> LossDistribution:
        """Move light masses at the top to infinity, and those at the bottom up to the lowest remaining node."""
        top, above = _light_masses(reversed(self.masses))
        bottom, below = _light_masses(self.masses[: len(self.masses) - top])
        kept = self.masses[bottom : len(self.masses) - top]
        if not kept:
            return LossDistribution(0, (mpz(0),), self.total_mass)  # [all-light]
        return LossDistribution(self.lowest + bottom, (kept[0] + below, *kept[1:]), self.infinite + above)  # [move-up]


def _units_up(joint: mpz, nodes: int, digits: int) -> mpz:
    """Return the digits of ``joint`` in base 2^``digits``, each at most 2^digits - 2^128, in units, rounded up.

    The result is one integer with these digits, in the same base.
    """
    fractions = gmpy2.pack([mpz(ONE - 1)] * nodes, digits)  # [fractions]
    raised = joint + fractions
    return (raised - (raised & fractions)) >> DIGITS


def _light_masses(masses: Iterable[mpz]) -> tuple[int, mpz]:
    """Return how many of the first masses have a sum of at most 2^-100, and their sum."""
    sums = list(itertools.takewhile(_LIGHT.__ge__, itertools.accumulate(masses)))
    return len(sums), sums[-1] if sums else mpz(0)


# end-proof-region: covers


# From a privacy curve to a loss distribution: the values of the curve at the nodes of a grid, interpolated by chords.
#
# Proof: proofs/spaces/curves/covers.tex

_LOOKS = 32  # intervals at whose ends all bounds of a curve are evaluated; within one, the best bound rarely changes


# proof-region: dots
def discretize(curve: PrivacyCurve, h: Fraction, n: int) -> LossDistribution:
    """Return a loss distribution that dominates ``curve``, at the losses -n h, ..., n h and infinity.

    n >= 1 and h >= 2^-60.
    """
    upper = _rounded_powers(_ceil(exp_up(-h) * ONE), n, up=True)  # [decay-up]
    lower = _rounded_powers(math.floor((1 - one_minus_exp_up(h)) * ONE), n, up=False)  # [decay-down]
    heights = [_ceil(Fraction(delta) * ONE) for delta in _deltas_on_grid(curve, h, n)]
    right = _lower_to_chords(heights, float(h), upper, lower)
    left = [ONE - (lower[i] * (ONE - right[i]) >> DIGITS) for i in range(n, 0, -1)]  # [reflect]
    return _least_loss_distribution([*left, *right], upper[1])


def _deltas_on_grid(curve: PrivacyCurve, h: Fraction, n: int) -> list[float]:
    """Return deltas of ``curve`` at 0, h, ..., n h.

    All bounds are evaluated at a few of these nodes, and between two of them only the bounds that are best at one.
    """
    alone = [PrivacyCurve(bound) for bound in curve.bounds]
    looks = sorted({n * place // _LOOKS for place in range(_LOOKS + 1)})
    seen = {i: [one.delta(i * h) for one in alone] for i in looks}
    deltas = [min(seen[0])]
    for start, end in itertools.pairwise(looks):
        best = {seen[i].index(min(seen[i])) for i in (start, end)}
        deltas += [min(alone[one].delta(i * h) for one in best) for i in range(start + 1, end)]  # [nodes]
        deltas.append(min(seen[end]))
    return deltas


def _least_loss_distribution(heights: list[mpz], decay: mpz) -> LossDistribution:
    """Return the smallest masses, from the top down, whose curve is not below ``heights`` at the nodes."""
    infinite = heights[-1]  # [beyond]
    above, damped, masses = mpz(0), mpz(0), []
    for height in heights[-2::-1]:
        lacking = ((height - infinite - above) << DIGITS) + decay * damped
        mass = max(mpz(0), -(-lacking // (ONE - decay)))  # [fill]
        masses.append(mass)
        above += mass
        damped = -(-decay * (damped + mass) >> DIGITS)  # [damp]
    masses.append(max(mpz(0), ONE - infinite - above))  # [rest]
    return LossDistribution(-(len(heights) // 2), tuple(reversed(masses)), infinite)


def _lower_to_chords(heights: list[mpz], h: float, upper: list[mpz], lower: list[mpz]) -> list[mpz]:
    """Lower ``heights``, in place, to the chords between some of them."""
    for i in range(1, len(heights)):
        heights[i] = min(heights[i], heights[i - 1])  # [monotone]
    corners = _hull_corners(heights, h)
    for left, right in itertools.pairwise(corners):
        drop = heights[left] - heights[right]
        for i in range(left + 1, right):
            share = -(-((ONE - lower[right - i]) << DIGITS) // (ONE - upper[right - left]))  # [share]
            heights[i] = min(heights[i], heights[right] - (-share * drop >> DIGITS))  # [chord]
    return heights


def _rounded_powers(base: mpz, n: int, *, up: bool) -> list[mpz]:
    """Return the powers 0, ..., n of ``base`` units, with each product rounded up or down."""
    powers = [mpz(ONE)]
    for _ in range(n):
        product = powers[-1] * base
        powers.append(-(-product >> DIGITS) if up else product >> DIGITS)  # [directed]
    return powers


def _ceil(value: Fraction) -> mpz:
    return mpz(math.ceil(value))  # [unit-up]


# end-proof-region: dots


def _hull_corners(heights: list[mpz], h: float) -> list[int]:
    """Return about the corners of the lower convex hull of (e^(i h), heights[i]); any ascending list is valid."""
    points = [(math.exp(min(i * h, 700.0)), float(height)) for i, height in enumerate(heights)]
    hull: list[int] = []
    for i, (x, y) in enumerate(points):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = points[hull[-2]], points[hull[-1]]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append(i)
    return hull


# The grid of a composition. Its choice is a heuristic: every grid gives an upper bound.
#
# A grid of step h costs at most as much as one more release of range h after every release, which is (h^2 / 8)-zCDP
# (proofs/spaces/curves/covers.tex). A step h of 1/100 of the standard deviation of a loss adds about 0.001 % to
# epsilon, and 1/20 adds 0.03 %. For few steps, small deltas depend on the tails of each, so the grid is finer.

# Distance between the nodes of a step's curve, relative to its standard deviation: the usual one, and the largest that
# is accepted while more work can reduce it. If all losses are within six deviations, as for few steps, a smaller
# distance is used.
_FINE, _MOST_COARSE, _ENDS = 0.03, 0.05, 6
# Evaluations of all curves, some tens of microseconds each, and nodes of the last convolution: the usual limit, and the
# limit if the grid would be too coarse otherwise. With a million steps, the grid adds about 0.3 % to epsilon.
_VALUES, _MOST_VALUES = 4096, 16384
_NODES, _MOST_NODES = 2.0**15, 2.0**17
_COARSE = 16  # nodes for the first estimate of the variance of a curve
_TAILS = 24  # width of the grid in standard deviations: a normal distribution has less than 2^-100 outside
_TAIL = 2.0**-100
_FARTHEST, _NEAREST = 2.0**20, 2.0**-60  # the largest epsilon in use, and the smallest step of the arithmetic
# Lower bound on a curve's deviation, relative to its reach: if nearly all losses are equal, as with far too little
# noise, the number of nodes would be unbounded.
_NARROWEST = 2.0**-20


def choose_grid(parts: tuple[tuple[PrivacyCurve, int], ...]) -> tuple[Fraction, list[tuple[int, int]]]:
    """Return the step h of the grid, and for each part (every, n): its curve is read at n multiples of every h.

    All parts may contribute equally to the variance that the grid adds.
    """
    reaches, _, spreads = zip(*(_loss_moments(curve) for curve, _ in parts), strict=True)
    counts = [count for _, count in parts]
    deviation = math.sqrt(sum(count * spread * spread for count, spread in zip(counts, spreads, strict=True)))
    shares = [deviation / math.sqrt(len(parts) * count) for count in counts]
    values = sum(reach / share for reach, share in zip(reaches, shares, strict=True)) if deviation > 0 else 0.0
    end = sum(count * reach for count, reach in zip(counts, reaches, strict=True))
    wanted = _FINE * (end / deviation / _ENDS) ** 4 if end < _ENDS * deviation else _FINE
    fine = _allowed_fineness(wanted, values / _VALUES, values / _MOST_VALUES)
    width = min(2 * end, _TAILS * deviation + 2 * max(reaches))
    least = min(shares)
    nodes = width / least if least > 0 else 0.0
    step = max(least * _allowed_fineness(fine, nodes / _NODES, nodes / _MOST_NODES), _NEAREST)
    first = max(zip(counts, reaches, strict=True), key=lambda pair: pair[0] * pair[1])[1]
    h = Fraction(round_up(Fraction(first) / math.ceil(first / step))) if first > 0 else Fraction(1)
    h = max(h, Fraction(step) if first < step else Fraction(_NEAREST))
    every = [max(1, math.floor(fine * share / float(h))) for share in shares]
    return h, [
        (stride, max(1, math.ceil(Fraction(reach) / (stride * h))))
        for reach, stride in zip(reaches, every, strict=True)
    ]


def surely_beyond(parts: tuple[tuple[PrivacyCurve, int], ...], farthest: float) -> bool:
    """Whether, by an estimate, nearly the whole distribution of the total loss is above ``farthest``."""
    moments = [(count, *_loss_moments(curve)) for curve, count in parts]
    deviation = math.sqrt(sum(count * spread * spread for count, *_, spread in moments))
    return sum(count * mean for count, _, mean, _ in moments) - _TAILS / 2 * deviation > farthest


def _allowed_fineness(wanted: float, usual: float, least: float) -> float:
    """Return ``wanted``, or a coarser distance if it needs more than the usual work.

    It is coarser than ``_MOST_COARSE`` only if that needs more than the largest allowed work.
    """
    return max(wanted, min(usual, max(_MOST_COARSE, least)))


def _tail_epsilon(curve: PrivacyCurve) -> float:
    """Return the epsilon from which on a curve hardly decreases."""
    return min(curve.epsilon(min(1.0, max(_TAIL, curve.delta(_FARTHEST)))), _FARTHEST)


@functools.lru_cache(maxsize=64)
def _loss_moments(curve: PrivacyCurve) -> tuple[float, float, float]:
    """Return the reach of a curve, and estimates of the mean and the standard deviation of its finite losses.

    The deviation is at least a small part of the reach.
    """
    reach = _tail_epsilon(curve)
    if reach <= _NEAREST:
        return reach, 0.0, 0.0
    h = Fraction(reach) / _COARSE
    cover: LossDistribution = discretize(curve, h, _COARSE)
    whole = float(sum(cover.masses))
    losses = [float(h) * (cover.lowest + i) for i in range(len(cover.masses))]
    shares = [float(mass) / whole for mass in cover.masses] if whole else [0.0 for _ in losses]
    mean = sum(share * loss for share, loss in zip(shares, losses, strict=True))
    variance = sum(share * (loss - mean) ** 2 for share, loss in zip(shares, losses, strict=True))
    return reach, mean, max(math.sqrt(variance), _NARROWEST * reach)
