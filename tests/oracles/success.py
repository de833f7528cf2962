"""Events of success by their definition: some order of equal scores makes the winners right."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain, pairwise, permutations, product
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray


def holds(scores: Sequence[Any], winners: Sequence[int], sure: int, reach: int) -> bool:
    """Whether an order of ranks, descending in the scores, has its first ``sure`` among the winners and none beyond."""
    values = sorted(set(scores), reverse=True)
    groups = ([i for i, x in enumerate(scores) if x == value] for value in values)
    orders = (list(chain(*parts)) for parts in product(*(permutations(group) for group in groups)))
    return any(set(order[:sure]) <= set(winners) <= set(order[:reach]) for order in orders)


def probability(scores: Sequence[Any], law: Mapping[Hashable, Any], sure: int, reach: int) -> Any:
    """The sum of the law over the winners for whom the event holds."""
    known: dict[frozenset[int], bool] = {}
    total = mpmath.mpf(0)
    for outcome, p in law.items():
        winners = frozenset(outcome)  # type: ignore[arg-type]
        if winners not in known:
            known[winners] = holds(scores, sorted(winners), sure, reach)
        total += p if known[winners] else 0
    return total


SURVIVAL = {
    "Gumbel": lambda v: -np.expm1(-np.exp(-v)),
    "Exponential": lambda v: np.exp(-np.maximum(v, 0.0)),
    "HalfLogistic": lambda v: 2 / (1 + np.exp(np.clip(v, 0.0, 700.0))),
    "Laplace": lambda v: np.where(v > 0, np.exp(-np.abs(v)) / 2, 1 - np.exp(-np.abs(v)) / 2),
    "Logistic": lambda v: 1 / (1 + np.exp(np.minimum(v, 700.0))),
}


def exact_by_quadrature(name: str, scores: NDArray[np.float64], k: int) -> float:
    """The probability that the k best win: E[the product over them of S(V - s)], V the best noisy score of the rest."""
    ranked = np.sort(scores)[::-1]
    top, rest = ranked[:k], ranked[k:]
    survival = SURVIVAL[name]

    def best_of_rest(v: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.exp(np.sum(np.log1p(-survival(v - rest)))))

    def all_of_top(v: float) -> float:
        return float(np.prod(survival(v - top)))

    kinks = np.unique(np.concatenate([top, rest[:50]]))
    low, high = rest[0] - 30.0, rest[0] + 60.0
    points = np.unique(np.concatenate([np.linspace(low, high, 181), kinks[(kinks > low) & (kinks < high)]]))
    total = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for a, b in pairwise(points):
        middle, half = (a + b) / 2, (b - a) / 2
        for x, w in zip(nodes, weights, strict=True):
            v = middle + half * x
            hazard = np.sum(_hazard(name, v - rest))
            total += w * half * all_of_top(v) * best_of_rest(v) * hazard
    return total


def _hazard(name: str, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """f / F of the noise."""
    with np.errstate(all="ignore"):
        if name == "Gumbel":
            return np.exp(-z)
        if name == "Exponential":
            return np.where(z > 0, 1 / np.expm1(z), 0.0)
        if name == "HalfLogistic":
            return np.where(z > 0, 1 / np.sinh(z), 0.0)
        if name == "Logistic":
            return 1 / (1 + np.exp(z))
        return np.where(z > 0, np.exp(-np.abs(z)) / (2 - np.exp(-np.abs(z))), 1.0)


def counts_by_quadrature(scores: NDArray[np.float64], k: int, sure: int, reach: int) -> float:
    """Gumbel noise, no ties: condition on the best of the candidates beyond reach, and count those who beat it.

    The event: all of the first ``sure``, and at least k of the first ``reach``, beat the best of the rest, and the
    k best of those include the first ``sure``: integrated over the value of the k-th best of the first ``reach``.
    """
    w = np.exp(np.sort(scores)[::-1])
    must, free, rest = w[:sure], w[sure:reach], float(np.sum(w[reach:]))

    def entered(x: float) -> float:
        """The rate at which k have arrived, all of ``must`` among them: the arrival is the k-th."""
        p, q = -np.expm1(-free * x), np.exp(-free * x)
        counts = np.zeros(len(free) + 1)
        counts[0] = 1.0
        for a, b in zip(p, q, strict=True):
            counts[1:] = counts[1:] * b + counts[:-1] * a
            counts[0] *= b
        n = k - sure
        arrived = -np.expm1(-must * x)
        last_must = np.prod(arrived) * np.sum(must * np.exp(-must * x) / arrived) * counts[n]
        last_free = 0.0
        for i in range(len(free)):
            others = np.zeros(len(free))
            others[0] = 1.0
            for j in range(len(free)):
                if j != i:
                    others[1:] = others[1:] * q[j] + others[:-1] * p[j]
                    others[0] *= q[j]
            if n >= 1:
                last_free += free[i] * q[i] * others[n - 1]
        return float(np.exp(-rest * x) * (last_must + np.prod(arrived) * last_free))

    return integral(lambda y: float(np.exp(y)) * entered(float(np.exp(y))), -30, 8, 400)


def integral(function: Callable[[float], float], low: float, high: float, panels: int) -> float:
    """By eight nodes a panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = (high - low) / panels / 2
    middles = low + half * (2 * np.arange(panels) + 1)
    return sum(w * half * function(m + half * x) for m in middles for x, w in zip(nodes, weights, strict=True))
