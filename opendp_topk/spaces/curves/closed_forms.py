"""Privacy curves in closed form, of noise and of adaptive steps, and the accuracy of an attacker who guesses.

Proofs: proofs/spaces/curves/normal.tex, proofs/spaces/curves/discrete.tex, proofs/spaces/curves/arrival_times.tex,
proofs/spaces/curves/guesses.tex
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq, mpz
from numpy.typing import NDArray

from ...errors.checks import Number
from ...numerics.arithmetic import (
    Intervals,
    as_mpq,
    exp_up,
    log1p_down,
    one_minus_exp_down,
    one_minus_exp_up,
    round_up,
    to_fraction,
)
from .curve import PrivacyCurve

_DIGITS = 128  # 75 bits more than a float64; the difference of the two tails cancels only a few of them
_FAR = 64  # in units of the root of two: a tail of e^-4096 is below every positive float64 and slow to evaluate
# The most by which logarithms of probabilities may differ from those of functions of normal distributions.
NEAR = Fraction(1, 2**200)


# proof-region: normal_pair
@dataclass(frozen=True)
class NormalPair:
    """The curve of two normal distributions of variance 1 at squared distance ``squares`` > 0 between their means.

    It is also a bound for randomized functions of them, and for distributions within :data:`NEAR` of such functions.
    """

    squares: Fraction

    def __call__(self, epsilon: Number) -> float:
        down, up = _CONTEXTS
        e, half = to_fraction(epsilon) - 2 * NEAR, self.squares / 2  # [nearer]
        root = [context.sqrt(as_mpq(2 * self.squares)) for context in _CONTEXTS]
        low = down.div(as_mpq(e - half), root[e >= half])  # [lower-argument]
        if low >= _FAR:
            return math.ulp(0.0)  # [far]
        high = up.div(as_mpq(e + half), root[e + half < 0])  # [upper-argument]
        kept = down.mul(down.exp(as_mpq(e)), down.erfc(high))
        top, bottom = up.sub(up.erfc(low), kept).as_integer_ratio()  # [normal-curve]
        return round_up(min(Fraction(1), (1 + 2 * NEAR) * Fraction(int(top), 2 * int(bottom))))  # [delta-up]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, NormalPair) and self.squares <= other.squares


def normal_tail_bound(x: Fraction) -> Fraction:
    """Return a rational not below the probability that a standard normal variable is at least ``x`` >= 0."""
    down, up = _CONTEXTS
    low = down.div(as_mpq(min(x, Fraction(_FAR))), up.sqrt(mpfr(2)))  # [no-farther]
    top, bottom = up.erfc(low).as_integer_ratio()  # [normal-tail]
    return Fraction(int(top), 2 * int(bottom))


_CONTEXTS = tuple(gmpy2.context(precision=_DIGITS, round=way) for way in (gmpy2.RoundDown, gmpy2.RoundUp))
# end-proof-region: normal_pair


# Bits of a weight: 2^-320 is below the weight e^-200 of an integer 20 standard deviations away. The table of weights
# for a scale of 1024 takes almost a second; for wider noise the curve of its rho is nearly as good.
# proof-region: discrete
_FIXED_POINT_DIGITS, _REACH, _LARGEST = 320, 20, 1024


@dataclass(frozen=True)
class DiscreteLaplace:
    """The tight curve of discrete Laplace noise of ``scale`` > 0 on an integer that changes by at most ``shift``."""

    shift: int
    scale: Fraction

    def __call__(self, epsilon: Number) -> float:
        e, b = to_fraction(epsilon), self.scale
        if e * b >= self.shift:
            return 0.0  # [beyond-laplace]
        first = math.floor((self.shift + e * b) / 2) + 1  # [first-laplace]
        kept = _exp_down((self.shift - first + 1) / b) + _exp_down(first / b - e)
        return _round_delta_up(1 - kept / _one_plus_exp_up(b))  # [laplace-curve]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, DiscreteLaplace) and self.shift <= other.shift and self.scale == other.scale


@functools.lru_cache(maxsize=64)
def _one_plus_exp_up(b: Fraction) -> Fraction:
    """Return a rational that is not below 1 + e^(-1/b)."""
    return 1 + exp_up(-1 / b)


@dataclass(frozen=True)
class DiscreteGaussian:
    """The tight curve of discrete Gaussian noise of ``scale`` > 0 on an integer that changes by at most ``shift``.

    If ``scale`` is above 1024 and ``shift`` is not 0, it is the trivial bound 1. The curve of the rho is nearly tight
    then.
    """

    shift: int
    scale: Fraction

    def __call__(self, epsilon: Number) -> float:
        if self.shift == 0:
            return 0.0  # [unmoved]
        if self.scale > _LARGEST:
            return 1.0  # [too-wide]
        e = to_fraction(epsilon)
        first = math.floor(e * self.scale**2 / self.shift + Fraction(self.shift, 2)) + 1  # [first-gaussian]
        lower, upper = _gaussian_tail_sums(self.scale)
        kept = _tail_sum_at(lower, first) / exp_up(-e)  # [kept]
        return _round_delta_up((_tail_sum_at(upper, first - self.shift) - kept) / lower[0])  # [gaussian-curve]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, DiscreteGaussian) and self.shift <= other.shift and self.scale == other.scale


@functools.lru_cache(maxsize=16)
def _gaussian_tail_sums(scale: Fraction) -> tuple[list[int], list[int]]:
    """Return bounds on the sums of e^(-x^2 / (2 scale^2)) 2^320 over x >= y, y = -n - 1, ..., n + 1; n >= 20 scale."""
    intervals, squares = Intervals(_FIXED_POINT_DIGITS), mpq(2 * scale.numerator**2, scale.denominator**2)
    n = math.ceil(_REACH * scale)
    ends = [intervals.exp(intervals.rational(-(mpz(x) ** 2) / squares)) for x in range(n + 1)]  # [weights]
    lower, upper = [_whole_units(low) for low, _ in ends], [_whole_units(high) + 1 for _, high in ends]  # [units]
    return _suffix_sums(lower, 0), _suffix_sums(upper, math.ceil(scale) * upper[n])  # [rest]


def _suffix_sums(weights: list[int], rest: int) -> list[int]:
    """Return sums over x >= y for y = -n - 1, ..., n + 1; ``rest`` is the sum beyond n at either end."""
    return list(itertools.accumulate([rest, *weights[:0:-1], *weights, rest]))[::-1]  # [sums]


def _tail_sum_at(sums: list[int], y: int) -> int:
    """Return the bound on the sum over x >= y."""
    n = len(sums) // 2 - 1
    return sums[min(max(y, -n - 1), n + 1) + n + 1]  # [place]


def _whole_units(weight: mpfr) -> int:
    """Return the number of whole units 2^-320 in a weight."""
    numerator, denominator = weight.as_integer_ratio()
    return int((numerator << _FIXED_POINT_DIGITS) // denominator)  # [whole-units]


def _exp_down(x: Fraction) -> Fraction:
    """Return a number not above e^-x, for x >= 0."""
    return 1 - one_minus_exp_up(x)  # [exp-down]


def _round_delta_up(value: Fraction) -> float:
    return round_up(min(Fraction(1), value))  # [delta-up]


# end-proof-region: discrete


# Closed-form bounds of privacy curves: (epsilon, delta), zCDP, one bounded range, and a pair of Laplace distributions.
#
# Proof: proofs/spaces/curves/closed_forms.tex


# proof-region: closed_forms
@dataclass(frozen=True)
class ApproximateDP:
    """The curve that (epsilon, delta)-differential privacy implies at every epsilon; ``delta = 0`` is pure privacy."""

    epsilon: Number
    delta: Number = 0

    def __call__(self, epsilon: Number) -> float:
        if epsilon >= self.epsilon:
            return round_up(to_fraction(self.delta))  # [beyond]
        if self.epsilon == math.inf:
            return 1.0  # [nothing]
        gap, own = to_fraction(self.epsilon) - to_fraction(epsilon), to_fraction(self.delta)
        left = one_minus_exp_up(gap) / (2 - one_minus_exp_up(to_fraction(self.epsilon)))  # [randomised-response]
        return round_up(min(Fraction(1), own + (1 - own) * left))

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, ApproximateDP) and self.epsilon <= other.epsilon and self.delta <= other.delta


@dataclass(frozen=True)
class ZCDPBound:
    """The curve that rho-zCDP implies: at every epsilon, nearly the best bound over all Renyi orders."""

    rho: Number

    def __call__(self, epsilon: Number) -> float:
        if self.rho == 0:
            return 0.0  # [free]
        if self.rho == math.inf:
            return 1.0
        rho, e = to_fraction(self.rho), to_fraction(epsilon)
        beta = Fraction(_best_order_minus_one(round_up(rho), round_up(e)))  # [any-order]
        exponent = beta * ((1 + beta) * rho - e) - beta * log1p_down(1 / beta) - log1p_down(beta)  # [exponent]
        return 1.0 if exponent >= 0 else round_up(min(Fraction(1), exp_up(exponent)))  # [renyi-tail]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, ZCDPBound) and self.rho <= other.rho


@dataclass(frozen=True)
class LaplacePair:
    """The curve of two Laplace distributions of max-divergence ``loss``; a bound for every pair that they dominate."""

    loss: Number

    def __call__(self, epsilon: Number) -> float:
        if epsilon >= self.loss:
            return 0.0  # [beyond-loss]
        if self.loss == math.inf:
            return 1.0
        return round_up(one_minus_exp_up((to_fraction(self.loss) - to_fraction(epsilon)) / 2))  # [laplace-curve]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, LaplacePair) and self.loss <= other.loss


@dataclass(frozen=True)
class UpToDelta:
    """The curve of ``bound`` except on an event of probability ``delta``."""

    bound: Any
    delta: Number

    @property
    def takes_long(self) -> bool:
        """Whether ``bound`` is slow."""
        return getattr(self.bound, "takes_long", False)

    def __call__(self, epsilon: Number) -> float:
        own = to_fraction(self.delta)
        return round_up(own + (1 - own) * to_fraction(self.bound(epsilon)))  # [mixture]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``."""
        return isinstance(other, UpToDelta) and self.delta <= other.delta and bool(self.bound.implies(other.bound))


def range_delta(a: Fraction, epsilon: Fraction) -> float:
    """Return the tight delta of one step of range ``a`` at epsilon >= 0, rounded up."""
    if epsilon >= a:
        return 0.0  # [beyond-range]
    root = one_minus_exp_up((a - epsilon) / 2)  # [root]
    return round_up(min(Fraction(1), root * root / one_minus_exp_down(a)))  # [range-curve]


# end-proof-region: closed_forms


def _best_order_minus_one(rho: float, epsilon: float) -> float:
    """Return nearly the best alpha - 1 for ``ZCDPBound``; any positive number is valid, so floats suffice."""
    low, high = -700.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        beta = math.exp(middle)
        if (2 * beta + 1) * rho - epsilon < math.log1p(1 / beta):
            low = middle
        else:
            high = middle
    return math.exp(high)


# A bound for arrival times whose rates differ, such as those of a race with Gumbel noise.
#
# Proof: proofs/spaces/curves/arrival_times.tex


# proof-region: arrival_times
@dataclass(frozen=True)
class ArrivalTimes:
    """The tight curve of ``count`` independent exponential variables whose rates all differ by a factor e^``shift``.

    ``shift`` > 0. It is a bound for randomized functions of them, and for smaller factors in the same direction.
    """

    shift: Fraction
    count: int = 1

    def __call__(self, epsilon: Number) -> float:
        down, up = _CONTEXTS
        once, gains = one_minus_exp_up(self.shift), _arrival_gains(self.shift, self.count)
        lead = to_fraction(epsilon) + self.count * self.shift
        time = down.add(as_mpq(min(lead * (1 - once) / once, Fraction(800 + 4 * self.count))), mpfr(0))  # [time]
        total = mpfr(0)
        for place in reversed(range(self.count)):
            total = up.add(gains[place], up.div(up.mul(total, time), place + 1))  # [horner]
        top, bottom = up.mul(up.exp(up.minus(time)), total).as_integer_ratio()  # [arrival-curve]
        return round_up(min(Fraction(1), Fraction(int(top), int(bottom))))

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, ArrivalTimes) and self.shift <= other.shift and self.count <= other.count


@functools.lru_cache(maxsize=64)
def _arrival_gains(shift: Fraction, count: int) -> tuple[mpfr, ...]:
    """Return upper bounds on 1 - e^(-(count - j) shift) for j = 0, ..., count - 1."""
    _, up = _CONTEXTS
    return tuple(up.add(as_mpq(one_minus_exp_up(left * shift)), mpfr(0)) for left in range(count, 0, -1))  # [gains]


# end-proof-region: arrival_times


# A bound of a privacy curve plus a delta.
#
# Proof: proofs/spaces/curves/added.tex


# proof-region: added
@dataclass(frozen=True)
class PlusDelta:
    """The curve of ``bound`` plus ``delta`` at every epsilon."""

    bound: Any
    delta: Number

    def __call__(self, epsilon: Number) -> float:
        return round_up(min(Fraction(1), to_fraction(self.delta) + to_fraction(self.bound(epsilon))))  # [added]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``."""
        if not isinstance(other, PlusDelta) or self.delta > other.delta:
            return False
        own, its = self.bound, other.bound
        return bool(own == its or (type(own) in (ApproximateDP, ZCDPBound) and own.implies(its)))  # [growing]


# end-proof-region: added


# A bound for k adaptive steps of bounded range, by a recursion on a grid of epsilons.
#
# Proof: proofs/spaces/curves/range_steps.tex

Floats = NDArray[np.float64]

_WORK = 3 * 2**25  # most products of a grid; the coarsest grid may take twice as many, and beyond that the curve is 1
# Cells per step: more than 128 would gain little, and fewer than 8 would be too coarse.
_FINEST, _COARSEST = 128, 8
_LOGS = 75  # deltas below e^-75 < 2^-108 are not needed
_WIDEST = 64  # a step of a larger range gives no useful bound at practical epsilons
_LEAST_RANGE = Fraction(1, 2**500)  # below it the arithmetic of the grid would slow down, with subnormal numbers


# proof-region: range_steps
@dataclass(frozen=True)
class AdaptiveRangeBound:
    """A bound for k adaptive steps, each of range ``a`` whatever was released before; tight for k = 1.

    For k > 1, this is an upper bound, computed on a grid, on the tight curve of adaptive steps. If a > 64 or the grid
    would take too much work (k in the tens of thousands), it is the trivial bound 1 at every epsilon below k a.
    """

    k: int
    a: Number
    takes_long: ClassVar[bool] = True

    def __call__(self, epsilon: Number) -> float:
        if self.a == math.inf:
            return 1.0  # [nothing]
        a, e = to_fraction(self.a), to_fraction(epsilon)
        if e >= self.k * a:
            return 0.0  # [beyond]
        if self.k == 1:
            return range_delta(a, e)  # [one-step]
        a = max(a, _LEAST_RANGE)  # [tiny]
        cells = _cells_per_step(self.k, a)
        return (
            1.0
            if cells is None
            else _interpolate_delta(a / cells, _adaptive_delta_grid(self.k, a, *_grid_size(self.k, a, cells)), e)
        )

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, AdaptiveRangeBound) and self.k <= other.k and self.a <= other.a  # [implies]


def _interpolate_delta(step: Fraction, nodes: Floats, epsilon: Fraction) -> float:
    """Return the chord in e^epsilon between the neighbouring grid values at ``epsilon``, rounded up."""
    index = epsilon // step
    if index >= len(nodes) - 1:
        return float(nodes[-1])  # [last-node]
    left, right = float(nodes[index]), float(nodes[index + 1])
    if left <= right:
        return right  # [flat]
    share = one_minus_exp_up((index + 1) * step - epsilon) / _cached_one_minus_exp(step)  # [share]
    return round_up(min(Fraction(1), to_fraction(right) + share * (to_fraction(left) - to_fraction(right))))  # [chord]


@functools.lru_cache(maxsize=64)
def _cached_one_minus_exp(step: Fraction) -> Fraction:
    return one_minus_exp_down(step)


@functools.lru_cache(maxsize=64)
def _adaptive_delta_grid(k: int, a: Fraction, cells: int, size: int) -> Floats:
    """Return upper bounds on the curve D_k of k steps at the epsilons 0, h, ..., size * h with h = a / cells."""
    h, n = a / cells, cells
    t, whole = [i * h for i in range(n + 1)], one_minus_exp_down(a)
    up = [round_up(one_minus_exp_up(a - s) / whole) for s in t]  # [up]
    down = [round_up(exp_up(s - a) * one_minus_exp_up(s) / whole) for s in t]  # [down]
    inside = round_up(one_minus_exp_up(h) / (4 * whole))  # [inside]
    growth = round_up(1 / (1 - one_minus_exp_up(h)))  # [growth]
    mirror = np.array([[round_up(one_minus_exp_up(s)), round_up(exp_up(-s))] for s in t[:0:-1]]).T  # [mirror]
    nodes = np.array([range_delta(a, i * h) if i < n else 0.0 for i in range(size + 1)])  # [first-step]
    for step in range(2, k + 1):
        count = min(size + 1, math.ceil(_epsilon_span(step, a) * n))  # [fewer]
        wide = np.concatenate([mirror[0] + mirror[1] * nodes[n:0:-1], nodes, np.full(n, nodes[-1])])  # [extend]
        near, far = wide[: n + count], wide[n : 2 * n + count]
        drop = near - far
        bend = growth * drop[:-1] - drop[1:] + (growth * np.abs(drop[:-1]) + np.abs(drop[1:])) * 2.0**-48
        bend = np.concatenate([[0.0], np.maximum(bend, 0), [0.0]])  # [bend]
        lift = inside * np.maximum(bend[:-1], bend[1:])  # [lift]
        near, far = near + lift, far + lift
        best, value, other = np.zeros((3, count))
        for i in range(n + 1):
            np.multiply(up[i], near[n - i :][:count], out=value)
            value += np.multiply(down[i], far[n - i :][:count], out=other)  # [ends]
            np.maximum(best, value, out=best)
        nodes[:count] = np.minimum(best * (1 + 2.0**-49) + 2.0**-1070, 1)  # [slack]
        nodes[count:] = 0.0 if count == step * n else nodes[count - 1]  # [beyond-all]
    nodes.setflags(write=False)
    return nodes


# end-proof-region: range_steps


def _epsilon_span(k: int, a: Fraction) -> float:
    """Return about the epsilon, in units of ``a``, above which the delta of k steps is below e^-75."""
    return min(float(k), k * float(a) / 8 + math.sqrt(_LOGS / 2 * k))


def _cells_per_step(k: int, a: Fraction) -> int | None:
    """Return the number of cells per step, as many as the work limit allows; None if that is too few."""
    if a > _WIDEST:
        return None
    cells = min(_FINEST, math.isqrt(int(_WORK / (k * _epsilon_span(k, a)))))
    if cells < _COARSEST:
        return _COARSEST if k * _epsilon_span(k, a) * _COARSEST**2 <= 2 * _WORK else None
    return cells


def _grid_size(k: int, a: Fraction, cells: int) -> tuple[int, int]:
    """Return the number of cells per step, and of nodes above 0."""
    return cells, max(cells, math.ceil(_epsilon_span(k, a) * cells))


# proof-region: guesses
_POINTS = [step / 16 for step in range(129)]  # epsilons at which the curve is evaluated; the smallest bound is used
_MARGIN = 1 + 1e-9  # far more than the rounding errors of a percentage


def total_variation(main: float, delta: float = 0.0, *, concentrated: bool = False) -> float:
    """Return a bound on the total variation distance of two output distributions.

    ``main`` is their epsilon, or their rho of zCDP if ``concentrated``, up to ``delta``.
    """
    if not concentrated:
        return min(1.0, _largest_variation(main, delta))  # [pair]
    curve = PrivacyCurve(ZCDPBound(main))
    pinsker = math.sqrt(main / 2)  # [pinsker]
    return min(
        1.0, delta + min(pinsker, *(_largest_variation(epsilon, curve.delta(epsilon)) for epsilon in _POINTS))
    )  # [least]


def attack_accuracy(total: float) -> float:
    """Return the largest attack accuracy at this total variation, in percent, rounded up to one decimal place."""
    return min(math.ceil(1000 * (1 + total) / 2 * _MARGIN) / 10, 100.0) if total else 50.0  # [percent]


def _largest_variation(epsilon: float, delta: float) -> float:
    """Return the largest total variation of two distributions that are (epsilon, delta)-close in both directions."""
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))  # [apart]


# end-proof-region: guesses
