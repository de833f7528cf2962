"""Exact laws of one-shot top-k, by other routes than the library's.

Gumbel noise: products of softmax probabilities. Exponential noise: with w = e^score, T_i = e^-(noisy score) is
uniform on [0, 1 / w_i] and the smallest win; the chain T_1 < ... < T_k < all others is integrated from below,
one winner after another, as a piecewise polynomial in t. Weights are rationals (exact results) or mpmath numbers
(every operation at the precision that the caller has set).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np

Polynomial = list[Any]


def rankings(name: str, weights: Sequence[Any], k: int) -> dict[tuple[int, ...], Any]:
    """The probability of each ranking of k indices."""
    one = {"Gumbel": _gumbel, "Exponential": _exponential}[name]
    return {outcome: one(weights, outcome) for outcome in permutations(range(len(weights)), k)}


def sets(law: dict[tuple[int, ...], Any]) -> dict[tuple[int, ...], Any]:
    """The law of the sorted outcome."""
    result: dict[tuple[int, ...], Any] = {}
    for outcome, p in law.items():
        key = tuple(sorted(outcome))
        result[key] = result[key] + p if key in result else p
    return result


def _gumbel(weights: Sequence[Any], outcome: tuple[int, ...]) -> Any:
    product: Any = 1
    for t, winner in enumerate(outcome):
        left = [weight for i, weight in enumerate(weights) if i not in outcome[:t]]
        product = product * weights[winner] / sum(sorted(left))
    return product


def _exponential(weights: Sequence[Any], outcome: tuple[int, ...]) -> Any:
    one = weights[0] / weights[0]
    edges = [one - one, *sorted({1 / weight for weight in weights})]
    pieces = list(pairwise(edges))
    below: list[Polynomial] = [[one] for _ in pieces]
    for t, winner in enumerate(outcome):
        density = [
            [weights[winner] * c for c in polynomial] if b <= 1 / weights[winner] else [one - one]
            for (_, b), polynomial in zip(pieces, below, strict=True)
        ]
        if t == len(outcome) - 1:
            break
        below, total = [], 0
        for (a, b), polynomial in zip(pieces, density, strict=True):
            primitive = [0, *(c / (n + 1) for n, c in enumerate(polynomial))]
            below.append([total - _at(primitive, a), *primitive[1:]])
            total = total + _at(primitive, b) - _at(primitive, a)
    result: Any = 0
    losers = [weight for i, weight in enumerate(weights) if i not in outcome]
    for (a, b), polynomial in zip(pieces, density, strict=True):
        if any(b > 1 / weight for weight in losers):
            continue
        for weight in losers:
            polynomial = _times_one_minus(polynomial, weight)
        primitive = [0, *(c / (n + 1) for n, c in enumerate(polynomial))]
        result = result + _at(primitive, b) - _at(primitive, a)
    return result


def _at(polynomial: Polynomial, t: Any) -> Any:
    value: Any = 0
    for c in reversed(polynomial):
        value = value * t + c
    return value


def _times_one_minus(polynomial: Polynomial, weight: Any) -> Polynomial:
    """The polynomial times 1 - weight t."""
    return [c - weight * p for c, p in zip([*polynomial, 0], [0, *polynomial], strict=True)]


def class_law(
    name: str, classes: Sequence[Hashable], scores: Sequence[float], k: int
) -> dict[tuple[Hashable, ...], float]:
    """The law of the winners' classes for k <= 2 and many candidates; equal classes have equal scores.

    By quadrature that is exact for polynomials of degree 127 between the edges 1 / w; float64.
    """
    sizes = Counter(classes)
    score = dict(zip(classes, scores, strict=True))
    if name == "Gumbel":
        return _gumbel_classes(sizes, score, k)
    nodes, factors = np.polynomial.legendre.leggauss(64)
    weight = {c: np.exp(s) for c, s in score.items()}
    edges = [0.0, *sorted({1 / w for w in weight.values()})]
    law: dict[tuple[Hashable, ...], float] = {}
    for a, b in pairwise(edges):
        t = (a + b) / 2 + nodes * (b - a) / 2
        left = {c: np.maximum(1 - w * t, 0.0) for c, w in weight.items()}
        active = {c: float(b <= 1 / w) for c, w in weight.items()}
        for last in sizes:
            others = {c: n - (c == last) for c, n in sizes.items()}
            for first in sizes if k == 2 else [None]:
                if first is None:
                    before, rest = 1.0, others
                else:
                    before = others[first] * np.minimum(weight[first] * t, 1.0)
                    rest = {c: n - (c == first) for c, n in others.items()}
                    if others[first] == 0:
                        continue
                product = np.prod([left[c] ** n for c, n in rest.items()], axis=0)
                mass = sizes[last] * weight[last] * active[last] * before * product
                outcome = (last,) if first is None else (first, last)
                law[outcome] = law.get(outcome, 0.0) + float(np.dot(factors, mass) * (b - a) / 2)
    return law


def _gumbel_classes(sizes: Counter[Hashable], score: dict[Hashable, float], k: int) -> dict[Any, float]:
    mass = {c: n * float(np.exp(score[c])) for c, n in sizes.items()}
    total = sum(mass.values())
    if k == 1:
        return {(c,): m / total for c, m in mass.items()}
    law = {}
    for first, m in mass.items():
        one = float(np.exp(score[first]))
        for second, n in mass.items():
            law[first, second] = m / total * (n - one * (first == second)) / (total - one)
    return law
