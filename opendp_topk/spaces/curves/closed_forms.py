"""Bounds of privacy curves in closed form: of (epsilon, delta), zCDP, one bounded range, and a pair of Laplace laws.

Proof: proofs/spaces/curves/closed_forms.tex
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors.checks import Number
from ...numerics.arithmetic import exact, exp_up, log1p_down, one_minus_exp_down, one_minus_exp_up, round_up


# proof-region: closed_forms
@dataclass(frozen=True)
class ApproximateDP:
    """What (epsilon, delta)-differential privacy says at every other epsilon; ``delta = 0`` is pure privacy."""

    epsilon: Number
    delta: Number = 0

    def __call__(self, epsilon: Number) -> float:
        if epsilon >= self.epsilon:
            return round_up(exact(self.delta))  # [beyond]
        if self.epsilon == math.inf:
            return 1.0  # [nothing]
        gap, own = exact(self.epsilon) - exact(epsilon), exact(self.delta)
        left = one_minus_exp_up(gap) / (2 - one_minus_exp_up(exact(self.epsilon)))  # [randomised-response]
        return round_up(min(Fraction(1), own + (1 - own) * left))

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too; exact comparisons of the parameters."""
        return isinstance(other, ApproximateDP) and self.epsilon <= other.epsilon and self.delta <= other.delta


@dataclass(frozen=True)
class Concentrated:
    """What rho-zCDP says at every epsilon: the best of the bounds that Renyi divergences of all orders give."""

    rho: Number

    def __call__(self, epsilon: Number) -> float:
        if self.rho == 0:
            return 0.0  # [free]
        if self.rho == math.inf:
            return 1.0
        rho, e = exact(self.rho), exact(epsilon)
        beta = Fraction(_order(round_up(rho), round_up(e)))  # [any-order]
        exponent = beta * ((1 + beta) * rho - e) - beta * log1p_down(1 / beta) - log1p_down(beta)  # [exponent]
        return 1.0 if exponent >= 0 else round_up(min(Fraction(1), exp_up(exponent)))  # [renyi-tail]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too; exact comparison of the parameters."""
        return isinstance(other, Concentrated) and self.rho <= other.rho


@dataclass(frozen=True)
class LaplacePair:
    """What two Laplace laws whose loss is at most ``loss`` say: exact for them, and true of all that they dominate."""

    loss: Number

    def __call__(self, epsilon: Number) -> float:
        if epsilon >= self.loss:
            return 0.0  # [beyond-loss]
        if self.loss == math.inf:
            return 1.0
        return round_up(one_minus_exp_up((exact(self.loss) - exact(epsilon)) / 2))  # [laplace-curve]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too; exact comparison of the parameters."""
        return isinstance(other, LaplacePair) and self.loss <= other.loss


@dataclass(frozen=True)
class Mixture:
    """What ``bound`` says up to an event of probability ``delta``."""

    bound: Any
    delta: Number

    def __call__(self, epsilon: Number) -> float:
        own = exact(self.delta)
        return round_up(own + (1 - own) * exact(self.bound(epsilon)))  # [mixture]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too."""
        return isinstance(other, Mixture) and self.delta <= other.delta and bool(self.bound.implies(other.bound))


def range_delta(a: Fraction, epsilon: Fraction) -> float:
    """The exact curve of one bounded range a at epsilon >= 0, rounded up."""
    if epsilon >= a:
        return 0.0  # [beyond-range]
    root = one_minus_exp_up((a - epsilon) / 2)  # [root]
    return round_up(min(Fraction(1), root * root / one_minus_exp_down(a)))  # [range-curve]


# end-proof-region: closed_forms


def _order(rho: float, epsilon: float) -> float:
    """About the best alpha - 1 for ``Concentrated``: any positive number is valid, so plain floats will do."""
    low, high = -700.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        beta = math.exp(middle)
        if (2 * beta + 1) * rho - epsilon < math.log1p(1 / beta):
            low = middle
        else:
            high = middle
    return math.exp(high)
