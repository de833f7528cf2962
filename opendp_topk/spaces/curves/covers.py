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

# Measures of losses on a grid that bound a privacy curve from above, multiplied in exact integer arithmetic.
#
# Proof: proofs/spaces/curves/covers.tex

# Digits of a unit of mass, 2^-128: rounding up a grid of a million nodes adds 10^-32. What weighs less than
# 2^-100 at either end of a grid is moved up, which no delta in use notices.
# proof-region: covers
DIGITS = 128
ONE = 1 << DIGITS
_LIGHT = mpz(1) << DIGITS - 100


@dataclass(frozen=True)
class LossDistribution:
    """``masses[i]`` units at the loss (``lowest`` + i) h, h the step of a grid, and ``infinite`` units at infinity."""

    lowest: int
    masses: tuple[mpz, ...]
    infinite: mpz

    @property
    def total_mass(self) -> mpz:
        """All of the mass."""
        return sum(self.masses, self.infinite)

    def __mul__(self, other: LossDistribution) -> LossDistribution:
        """A cover of two steps, of which this covers one and ``other`` the other one."""
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
        """A cover of ``count`` >= 1 steps of which this covers each, by repeated squaring."""
        if count == 1:
            return self
        half = self.self_compose(count // 2)
        return half * half * self if count % 2 else half * half  # [square]

    def refine_grid(self, every: int) -> LossDistribution:
        """The same on a grid whose step is so many times smaller."""
        masses = [mpz(0)] * ((len(self.masses) - 1) * every + 1)
        masses[::every] = self.masses  # [spread]
        return LossDistribution(self.lowest * every, tuple(masses), self.infinite)

    def _truncate_tails(self) -> LossDistribution:
        """Light masses at the top moved to infinity, and those at the bottom up to the lowest node that stays."""
        top = _count_light_masses(reversed(self.masses))
        bottom = _count_light_masses(self.masses[: len(self.masses) - top])
        kept = self.masses[bottom : len(self.masses) - top]
        if not kept:
            return LossDistribution(0, (mpz(0),), self.total_mass)  # [all-light]
        below, above = sum(self.masses[:bottom], mpz(0)), sum(self.masses[len(self.masses) - top :], mpz(0))
        return LossDistribution(self.lowest + bottom, (kept[0] + below, *kept[1:]), self.infinite + above)  # [move-up]


def _units_up(joint: mpz, nodes: int, digits: int) -> mpz:
    """The digits of ``joint`` in base 2^``digits``, each at most 2^digits - 2^128, in units, rounded up."""
    ones = ((mpz(1) << nodes * digits) - 1) // ((mpz(1) << digits) - 1)  # [ones]
    return (joint + ones * (ONE - 1)) >> DIGITS & ones * ((mpz(1) << digits - DIGITS) - 1)


def _count_light_masses(masses: Iterable[mpz]) -> int:
    """How many of the first masses weigh no more than 2^-100 together."""
    return len(list(itertools.takewhile(_LIGHT.__ge__, itertools.accumulate(masses))))


# end-proof-region: covers


# From a privacy curve to a cover: the curve's values at the nodes of a grid, joined by chords.
#
# Proof: proofs/spaces/curves/covers.tex

_LOOKS = 32  # nodes at which all bounds of a curve are asked: between two of them its least bound hardly changes


# proof-region: dots
def discretize(curve: PrivacyCurve, h: Fraction, n: int) -> LossDistribution:
    """A cover of what ``curve`` states, at the losses -n h, ..., n h and infinity; n >= 1 and h >= 2^-60."""
    upper = _rounded_powers(_ceil(exp_up(-h) * ONE), n, up=True)  # [decay-up]
    lower = _rounded_powers(math.floor((1 - one_minus_exp_up(h)) * ONE), n, up=False)  # [decay-down]
    heights = [_ceil(Fraction(delta) * ONE) for delta in _deltas_on_grid(curve, h, n)]
    right = _lower_to_chords(heights, float(h), upper, lower)
    left = [ONE - (lower[i] * (ONE - right[i]) >> DIGITS) for i in range(n, 0, -1)]  # [reflect]
    return _least_loss_distribution([*left, *right], upper[1])


def _deltas_on_grid(curve: PrivacyCurve, h: Fraction, n: int) -> list[float]:
    """Deltas of ``curve`` at 0, h, ..., n h: at some by all bounds, between two of these by the best at either."""
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
    """The least masses, from the top down, whose chords are nowhere below ``heights`` at the nodes."""
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
    """``heights``, lowered to chords between some of them where these are below."""
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
    """The powers 0, ..., n of ``base`` units, each product rounded up or down."""
    powers = [mpz(ONE)]
    for _ in range(n):
        product = powers[-1] * base
        powers.append(-(-product >> DIGITS) if up else product >> DIGITS)  # [directed]
    return powers


def _ceil(value: Fraction) -> mpz:
    return mpz(math.ceil(value))  # [unit-up]


# end-proof-region: dots


def _hull_corners(heights: list[mpz], h: float) -> list[int]:
    """About the corners of the lower convex hull of the points (e^(i h), heights[i]); any ascending list is valid."""
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


# How fine the grid of a composition is: heuristics alone, since every grid gives an upper bound.
#
# A grid of step h costs no more than a further release of range h after every release, which is h^2 / 8 of zCDP
# (proofs/spaces/curves/covers.tex). With h at a hundredth of the standard deviation of a loss it adds about 0.001 %
# to epsilon, and at a twentieth 0.03 %. Where there are few steps, a small delta lies in the tails of each, and the
# grid is finer.

# How far apart the nodes of a step's curve are, as a part of its standard deviation: as close as is of use, and at
# most, if more work can help it. Where all losses end within six deviations, as those of few steps do, the ends show,
# and closer is of use.
_FINE, _MOST_COARSE, _ENDS = 0.03, 0.05, 6
# Values of all curves together, some tens of microseconds each, and nodes of the last convolution: as a rule, and at
# most, where losses would be resolved too coarsely.
_VALUES, _MOST_VALUES = 4096, 16384
_NODES, _MOST_NODES = 2.0**15, 2.0**18
_COARSE = 16  # nodes of the first look at a curve, which tells its variance
_TAILS = 24  # standard deviations from one end to the other: beyond is less than 2^-100 of a normal law
_TAIL = 2.0**-100
_FARTHEST, _NEAREST = 2.0**20, 2.0**-60  # epsilons in use, and the least step that the arithmetic takes
# Of its reach, a curve's deviation is taken to be this at least: where nearly all losses are one, as of noise far too
# small, nodes would have no end.
_NARROWEST = 2.0**-20


def choose_grid(parts: tuple[tuple[PrivacyCurve, int], ...]) -> tuple[Fraction, list[tuple[int, int]]]:
    """The step h of the grid, and for each part every how many nodes its curve is read, and how often.

    Each part may add as much as any other to the variance of all losses.
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
    """Whether next to all of what the steps lose together is about more than ``farthest``."""
    moments = [(count, *_loss_moments(curve)) for curve, count in parts]
    deviation = math.sqrt(sum(count * spread * spread for count, *_, spread in moments))
    return sum(count * mean for count, _, mean, _ in moments) - _TAILS / 2 * deviation > farthest


def _allowed_fineness(wanted: float, usual: float, least: float) -> float:
    """As fine as ``wanted``, but coarser where that is more work than is usual, or most of all where it has to be."""
    return max(wanted, min(usual, max(_MOST_COARSE, least)))


def _tail_epsilon(curve: PrivacyCurve) -> float:
    """The epsilon from which on a curve hardly falls any more."""
    return min(curve.epsilon(min(1.0, max(_TAIL, curve.delta(_FARTHEST)))), _FARTHEST)


@functools.lru_cache(maxsize=64)
def _loss_moments(curve: PrivacyCurve) -> tuple[float, float, float]:
    """The reach, and about the mean and the deviation of the finite losses, at least a small part of the reach."""
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
