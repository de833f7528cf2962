"""Privacy curves in closed form, such curves plus a delta, and curves of adaptive steps of bounded range."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors.checks import Number
from ...numerics.arithmetic import exp_up, log1p_down, one_minus_exp_down, one_minus_exp_up, round_up, to_fraction

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
