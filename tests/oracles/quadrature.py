"""Exact laws of one-shot rankings of one or two winners, and of sets, by quadrature over the last winner's value."""

import functools
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import mpmath
from mpmath import exp, mpf

from .noise import CDF, GAP

DENSITY = {
    "Gumbel": lambda z: exp(-z - exp(-z)),
    "Exponential": lambda z: exp(-z) if z >= 0 else mpf(0),
    "HalfLogistic": lambda z: 2 * exp(-z) / (1 + exp(-z)) ** 2 if z >= 0 else mpf(0),
    "Laplace": lambda z: exp(-abs(z)) / 2,
    "Logistic": lambda z: exp(-abs(z)) / (1 + exp(-abs(z))) ** 2,
    "AsymmetricLaplace": lambda z: 2 * (exp(2 * z) if z < 0 else exp(-z)) / 3,
    "Lomax": lambda z: (1 + z) ** -2 if z >= 0 else mpf(0),
    "Gapped": lambda z: exp(-z) if 0 <= z < 1 else exp(GAP - z) if z >= 1 + GAP else mpf(0),
    "Sixth": lambda z: 6 * exp(-z) / (2 + exp(-z)) ** 2 if z >= 0 else mpf(0),
}
UPPER = {
    "Gumbel": lambda z: -mpmath.expm1(-exp(-z)),
    "Exponential": lambda z: exp(-z) if z > 0 else mpf(1),
    "HalfLogistic": lambda z: 2 / (1 + exp(z)) if z > 0 else mpf(1),
    "Laplace": lambda z: exp(-z) / 2 if z > 0 else 1 - exp(z) / 2,
    "Logistic": lambda z: 1 / (1 + exp(z)),
    "AsymmetricLaplace": lambda z: 1 - exp(2 * z) / 3 if z < 0 else 2 * exp(-z) / 3,
    "Lomax": lambda z: 1 / (1 + z) if z > 0 else mpf(1),
    "Gapped": lambda z: exp(-max(z - GAP, min(max(z, 0), 1))),
    "Sixth": lambda z: 3 / (1 + 2 * exp(z)) if z > 0 else mpf(1),
}
KINKS = {"Gapped": (0, 1, 1 + GAP)}


def rankings(name: str, scores: Sequence[Any], k: int, digits: int = 30) -> dict[tuple[int, ...], Any]:
    """The probability of each ranking of k <= 2 indices."""
    assert k in (1, 2)
    with mpmath.workdps(digits + 10):
        numbers = _numbers(scores)
        grid, at = _grid(name, numbers, digits), _values(name, numbers)
        return {
            (*first, last): mpmath.quad(_density(at, len(scores), first, last), grid)
            for *first, last in permutations(range(len(scores)), k)
        }


def sets(name: str, scores: Sequence[Any], k: int, digits: int = 20) -> tuple[dict[tuple[int, ...], Any], Any]:
    """The probability of each set of k indices, and the largest error that the quadrature states."""
    with mpmath.workdps(digits + 10):
        numbers = _numbers(scores)
        grid, at = _grid(name, numbers, digits), _values(name, numbers)
        law, error = {}, mpf(0)
        for chosen in combinations(range(len(scores)), k):
            law[chosen] = mpf(0)
            for last in chosen:
                density = _density(at, len(scores), [i for i in chosen if i != last], last)
                value, stated = mpmath.quad(density, grid, error=True)
                law[chosen] += value
                error = max(error, k * stated)
        return law, error


def _numbers(scores: Sequence[Any]) -> list[Any]:
    return [mpf(score) if isinstance(score, int) else mpf(score.numerator) / score.denominator for score in scores]


def _grid(name: str, numbers: list[Any], digits: int) -> list[Any]:
    corners = sorted({number + kink for number in numbers for kink in KINKS.get(name, (0,))})
    last = mpmath.inf if name == "Lomax" else corners[-1] + 60 + 3 * digits
    return [corners[0] - 60 - digits, corners[0] - 6, *corners, corners[-1] + 6, last]


def _values(name: str, numbers: list[Any]) -> Callable[[Any, int], list[tuple[Any, Any, Any]]]:
    """Density, survival and distribution function of each noisy score at v, computed once for all integrals."""

    @functools.cache
    def at(v: Any, precision: int) -> list[tuple[Any, Any, Any]]:
        shifted = [v - number for number in numbers]
        return [(DENSITY[name](z), UPPER[name](z), CDF[name](z)) for z in shifted]

    return at


def _density(at: Callable[[Any, int], Any], d: int, first: Sequence[int], last: int) -> Callable[[Any], Any]:
    """The density, in the value v of ``last``, of: those of ``first`` are above v, all others below."""
    others = sorted(set(range(d)) - {last, *first})

    def density(v: Any) -> Any:
        known = at(v, mpmath.mp.prec)
        value = known[last][0]
        for i in first:
            value *= known[i][1]
        for j in others:
            value *= known[j][2]
        return value

    return density
