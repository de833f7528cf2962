"""Laws of many score vectors at once, in float64 with an error near 1e-12: for enumerations that are wide, not deep.

A row is a score vector in units of the scale. Gaps between scores must be multiples of a half: densities bend at them.
"""

import functools
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_NODES, _HALF = 10, 0.25
_ENDS = np.arange(-46.0, 56.0, 2 * _HALF)


def softmax(utilities: Array) -> Array:
    weights = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def flip(utilities: Array) -> Array:
    """Permute-and-flip: w_y times the integral over 0 < x < 1 of the product of 1 - w_j x, a polynomial."""
    weights = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    nodes, masses = np.polynomial.legendre.leggauss(utilities.shape[1] // 2 + 1)
    x, masses = (nodes + 1) / 2, masses / 2
    misses = 1 - weights[:, :, None] * x
    law = np.empty_like(weights)
    for y in range(weights.shape[1]):
        law[:, y] = weights[:, y] * (np.delete(misses, y, axis=1).prod(axis=1) @ masses)
    return law


def peeled(choice: Callable[[Array], Array], scores: Array, k: int) -> Array:
    """Rankings in the order of itertools.permutations: chains of single choices."""
    d = scores.shape[1]
    chances: dict[tuple[int, ...], Array] = {(): np.ones(len(scores))}
    for _ in range(k):
        longer = {}
        for outcome, p in chances.items():
            left = [i for i in range(d) if i not in outcome]
            law = choice(scores[:, left])
            longer |= {(*outcome, i): p * law[:, place] for place, i in enumerate(left)}
        chances = longer
    return np.stack([chances[y] for y in permutations(range(d), k)], axis=1)


def canonical(scores: Array, k: int, gamma: float, kind: str) -> Array:
    """gamma m - (1 - gamma) M for every subset, in the order of itertools.combinations."""
    d, columns = scores.shape[1], []
    for chosen in combinations(range(d), k):
        inside = scores[:, list(chosen)].min(axis=1)
        rival = scores[:, [i for i in range(d) if i not in chosen]].max(axis=1)
        rival = np.maximum(rival, inside) if kind == "distance" else rival
        columns.append(gamma * inside - (1 - gamma) * rival)
    return np.stack(columns, axis=1)


def joint(scores: Array, k: int, release: str) -> Array:
    """Minus the largest gap to the true ranks, for every ranking or every set."""
    best = -np.sort(-scores, axis=1)[:, :k]
    if release == "ranking":
        outcomes = permutations(range(scores.shape[1]), k)
        return np.stack([-(best - scores[:, list(y)]).max(axis=1) for y in outcomes], axis=1)
    sets = combinations(range(scores.shape[1]), k)
    return np.stack([-(best + np.sort(-scores[:, list(y)], axis=1)).max(axis=1) for y in sets], axis=1)


def sets(rankings: Array, d: int, k: int) -> Array:
    """The law of the set of winners from that of the ranking."""
    place = {chosen: n for n, chosen in enumerate(combinations(range(d), k))}
    law = np.zeros((len(rankings), len(place)))
    for column, y in zip(rankings.T, permutations(range(d), k), strict=True):
        law[:, place[tuple(sorted(y))]] += column
    return law


def one_shot(name: str, scores: Array, k: int) -> Array:
    """Rankings in the order of itertools.permutations, by Gauss-Legendre quadrature on panels between the kinks."""
    return np.stack([_one_shot(name, tuple((row - row.max()).tolist()), k) for row in scores])


@functools.cache
def _one_shot(name: str, scores: tuple[float, ...], k: int) -> Array:
    d = len(scores)
    nodes, masses, ahead = _rule()
    at = (_ENDS[:, None] + _HALF * (1 + nodes))[None] - np.array(scores)[:, None, None]
    density, below, above = NOISE[name](at)
    lead = {(i,): above[i] for i in range(d)}
    for t in range(2, k):
        chains = permutations(range(d), t)
        lead = {y: _after(density[y[-1]] * lead[y[:-1]], masses, ahead) for y in chains}
    law = []
    for y in permutations(range(d), k):
        rest = below[[j for j in range(d) if j not in y]].prod(axis=0)
        law.append(_HALF * float(((density[y[-1]] * rest * (lead[y[:-1]] if k > 1 else 1)) @ masses).sum()))
    return np.array(law)


def _after(values: Array, masses: Array, ahead: Array) -> Array:
    """The integral from each node to infinity."""
    whole = values @ masses
    later = np.append(np.cumsum(whole[::-1])[::-1][1:], 0.0)
    return np.asarray(_HALF * (values @ ahead.T + later[:, None]))


@functools.cache
def _rule() -> tuple[Array, Array, Array]:
    """Nodes and masses on [-1, 1], and the matrix that integrates from each node to 1."""
    legendre = np.polynomial.legendre
    nodes, masses = legendre.leggauss(_NODES)
    rises = []
    for n in range(_NODES):
        primitive = legendre.legint(np.eye(_NODES)[n])
        rises.append(legendre.legval(1.0, primitive) - legendre.legval(nodes, primitive))
    return nodes, masses, np.array(rises).T @ np.linalg.inv(legendre.legvander(nodes, _NODES - 1))


def _gumbel(z: Array) -> tuple[Array, Array, Array]:
    rate = np.exp(np.minimum(-z, 50))
    return rate * np.exp(-rate), np.exp(-rate), -np.expm1(-rate)


def _exponential(z: Array) -> tuple[Array, Array, Array]:
    tail = np.exp(-np.maximum(z, 0))
    return np.where(z > 0, tail, 0), 1 - tail, tail


def _half_logistic(z: Array) -> tuple[Array, Array, Array]:
    tail = np.exp(-np.maximum(z, 0))
    return np.where(z > 0, 2 * tail / (1 + tail) ** 2, 0), (1 - tail) / (1 + tail), 2 * tail / (1 + tail)


def _laplace(z: Array) -> tuple[Array, Array, Array]:
    tail = np.exp(-np.abs(z)) / 2
    return tail, np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail)


def _logistic(z: Array) -> tuple[Array, Array, Array]:
    tail = np.exp(-np.abs(z))
    small, large = tail / (1 + tail), 1 / (1 + tail)
    return small * large, np.where(z < 0, small, large), np.where(z < 0, large, small)


NOISE: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "Gumbel": _gumbel,
    "Exponential": _exponential,
    "HalfLogistic": _half_logistic,
    "Laplace": _laplace,
    "Logistic": _logistic,
}
"""Density, distribution function and survival function of each noise."""
