"""Renyi divergences of one order: what bounded losses, ranges and Laplace curves leave possible, and what they imply.

Proof: proofs/spaces/renyi.tex
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..numerics.arithmetic import exact, log1p_down, one_minus_exp_down, one_minus_exp_up, scaled_log_up

_MUCH = Fraction(10**300)  # more epsilon than that changes the order no more
_DIGITS = 24  # of an order: another one nearby admits nearly the same, and sums of its multiples stay short


# proof-region: renyi
def renyi_of_pure(order: Fraction, epsilon: Fraction) -> Fraction:
    """An upper bound of the divergence of that order > 1 of what is epsilon-private, epsilon >= 0."""
    rest = 2 - one_minus_exp_down((2 * order - 1) * epsilon)
    odds = (1 - one_minus_exp_up(epsilon)) * one_minus_exp_down(2 * (order - 1) * epsilon) / rest
    return epsilon - log1p_down(odds) / (order - 1)  # [renyi-pure]


def renyi_of_range(order: Fraction, a: Fraction) -> Fraction:
    """An upper bound of the divergence of that order > 1 of what has range ``a`` > 0."""
    below, whole = one_minus_exp_down((order - 1) * a), one_minus_exp_up(order * a)
    first = order * below / ((order - 1) * whole) - 1
    second = order * one_minus_exp_down(a) / whole - 1
    return a - log1p_down(max(first, Fraction(0))) - log1p_down(max(second, Fraction(0))) / (order - 1)  # [renyi-range]


def renyi_of_laplace(order: Fraction, loss: Fraction) -> Fraction:
    """An upper bound of the divergence of that order > 1 of what is joined at the cost ``loss`` >= 0."""
    part = (order - 1) * one_minus_exp_down((2 * order - 1) * loss) / (2 * order - 1)
    return loss - log1p_down(part / (1 - part)) / (order - 1)  # [renyi-laplace]


def overhead(order: Fraction, delta: Fraction) -> Fraction:
    """What is added to a divergence of that order for an epsilon at ``delta`` > 0, rounded up."""
    beta = order - 1
    return (exact(scaled_log_up(Fraction(1), 1 / delta)) - log1p_down(beta)) / beta - log1p_down(1 / beta)  # [overhead]


# end-proof-region: renyi


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About the order at which (epsilon, delta) has room for the largest rho: any order is valid, so floats will do."""
    e, logs = float(min(epsilon, _MUCH)), float(scaled_log_up(Fraction(1), 1 / delta))
    low, high = -50.0, 600.0
    for _ in range(80):
        middle = (low + high) / 2
        beta = math.exp(middle)
        if (2 + 1 / beta) * (logs - math.log1p(beta)) > beta * (e + math.log1p(1 / beta)):
            low = middle
        else:
            high = middle
    part, power = math.frexp(math.exp(low))
    return 1 + Fraction(round(part * 2**_DIGITS)) * Fraction(2) ** (power - _DIGITS)
