"""Renyi divergences of finite laws, and their largest values by search, from the definition and mpmath alone."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath

Pair = Sequence[tuple[Any, Any]]  # of each answer its probability on the one data set and on the other


def divergence(order: Any, pair: Pair) -> Any:
    """That of the second law from the first."""
    return mpmath.log(mpmath.fsum(p * (q / p) ** order for p, q in pair)) / (order - 1)


def of_response(order: Any, epsilon: Any) -> Any:
    """Of randomised response."""
    up = 1 / (1 + mpmath.exp(-epsilon))
    return divergence(order, [(up, 1 - up), (1 - up, up)])


def two_losses(low: Any, high: Any) -> Pair:
    """Two answers of these losses, below and above 0."""
    p = -mpmath.expm1(low) / (mpmath.exp(high) - mpmath.exp(low))
    return [(p, p * mpmath.exp(high)), (1 - p, (1 - p) * mpmath.exp(low))]


def of_range(order: Any, a: Any) -> Any:
    """The largest of two answers of which the losses are ``a`` apart, the place of the two being searched for."""
    return largest(lambda share: divergence(order, two_losses((share - 1) * a, share * a)))


def largest(value: Callable[[Any], Any]) -> Any:
    """The largest value of a function with one hill between 0 and 1, by thirds."""
    low, high = mpmath.mpf(10) ** -12, 1 - mpmath.mpf(10) ** -12
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if value(left) < value(right) else (low, right)
    return value((low + high) / 2)


def of_laplace(order: Any, loss: Any) -> Any:
    """Of two Laplace laws, by integration."""
    with mpmath.workdps(20):
        pieces = [-60, 0, loss, loss + 60]
        total = mpmath.quad(lambda x: mpmath.exp(-abs(x) + order * (abs(x) - abs(x - loss))) / 2, pieces, maxdegree=8)
        return mpmath.log(total) / (order - 1)
