"""Exact laws of one-shot rankings of one or two winners, for every noise, by quadrature over the last one's value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import mpmath
from mpmath import exp, mpf

from .noise import CDF

DENSITY = {
    "Gumbel": lambda z: exp(-z - exp(-z)),
    "Exponential": lambda z: exp(-z) if z >= 0 else mpf(0),
    "HalfLogistic": lambda z: 2 * exp(-z) / (1 + exp(-z)) ** 2 if z >= 0 else mpf(0),
    "Laplace": lambda z: exp(-abs(z)) / 2,
    "Logistic": lambda z: exp(-abs(z)) / (1 + exp(-abs(z))) ** 2,
}
UPPER = {
    "Gumbel": lambda z: -mpmath.expm1(-exp(-z)),
    "Exponential": lambda z: exp(-z) if z > 0 else mpf(1),
    "HalfLogistic": lambda z: 2 / (1 + exp(z)) if z > 0 else mpf(1),
    "Laplace": lambda z: exp(-z) / 2 if z > 0 else 1 - exp(z) / 2,
    "Logistic": lambda z: 1 / (1 + exp(z)),
}


def rankings(name: str, scores: Sequence[Any], k: int, digits: int = 30) -> dict[tuple[int, ...], Any]:
    """The probability of each ranking of k <= 2 indices."""
    assert k in (1, 2)
    with mpmath.workdps(digits + 10):
        numbers = [
            mpf(score) if isinstance(score, int) else mpf(score.numerator) / score.denominator for score in scores
        ]
        corners = sorted(set(numbers))
        grid = [corners[0] - 60 - digits, corners[0] - 6, *corners, corners[-1] + 6, corners[-1] + 60 + 3 * digits]
        law = {}
        for outcome in permutations(range(len(scores)), k):
            *first, last = outcome

            def density(v: Any, first: list[int] = first, last: int = last) -> Any:
                value = DENSITY[name](v - numbers[last])
                for i in first:
                    value *= UPPER[name](v - numbers[i])
                for j in set(range(len(numbers))) - {last, *first}:
                    value *= CDF[name](v - numbers[j])
                return value

            law[outcome] = mpmath.quad(density, grid)
        return law
