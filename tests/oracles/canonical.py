"""The canonical mechanism by brute force: every subset, every set of heads; and the binomials as once printed."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import mpmath
import numpy as np

Subset = tuple[int, ...]


def utility(scores: Sequence[Any], chosen: Subset, gamma: Fraction, kind: str) -> Fraction:
    """gamma m - (1 - gamma) M from the definition."""
    inside = [Fraction(scores[i]) for i in chosen]
    outside = [Fraction(x) for i, x in enumerate(scores) if i not in chosen]
    rival = max(outside) if kind == "margin" else max([*outside, min(inside)])
    return gamma * min(inside) - (1 - gamma) * rival


def gumbel_law(scores: Sequence[Any], k: int, scale: Fraction, gamma: Fraction, kind: str) -> dict[Subset, Any]:
    """Probabilities proportional to exp(utility / scale)."""
    weights = {s: exp(utility(scores, s, gamma, kind) / scale) for s in combinations(range(len(scores)), k)}
    total = mpmath.fsum(weights.values())
    return {s: weight / total for s, weight in weights.items()}


def flip_law(scores: Sequence[Any], k: int, scale: Fraction, gamma: Fraction, kind: str) -> dict[Subset, Any]:
    """Permute-and-flip: every subset flips a coin, heads with exp((utility - best) / scale); a uniform head wins."""
    table = {s: utility(scores, s, gamma, kind) / scale for s in combinations(range(len(scores)), k)}
    coins = {s: exp(u - max(table.values())) for s, u in table.items()}
    law = {}
    for s, p in coins.items():
        others = [mpmath.mpf(1)]
        for q in (coin for other, coin in coins.items() if other != s):
            others = [a * (1 - q) + b * q for a, b in zip([*others, 0], [0, *others], strict=True)]
        law[s] = p * mpmath.fsum(heads / (n + 1) for n, heads in enumerate(others))
    return law


def class_of(chosen: Subset, d: int) -> tuple[int, int]:
    """(h, t) of a set of ranks 1..d: the ranks before the first gap, and the lowest rank."""
    h = min(rank for rank in range(1, d + 2) if rank not in chosen) - 1
    return h, max(chosen)


def sizes(d: int, k: int) -> dict[tuple[int, int], int]:
    """The number of subsets in every class, as binomials."""
    return {(h, t): comb(t - h - 2, k - 1 - h) for h in range(k) for t in range(k + 1, d + 1)} | {(k, k): 1}


def printed_sizes(d: int, k: int) -> dict[tuple[int, int], Fraction]:
    """The running product as it was once printed: h descends, and the factor is (t - h - 1) / (k - h - 1)."""
    result = {(k, k): Fraction(1)}
    for t in range(k + 1, d + 1):
        size = Fraction(1)
        for h in range(k - 1, -1, -1):
            if k - h - 1 > 0:
                size *= Fraction(t - h - 1, k - h - 1)
            result[h, t] = size
    return result


def class_law(
    scores: Sequence[Any], k: int, scale: Fraction, gamma: Fraction, count: Callable[[int, int], dict[Any, Any]]
) -> dict[tuple[int, int], Any]:
    """The law of the class (margin utility), from the sizes that ``count`` gives."""
    x = [None, *sorted(map(Fraction, scores), reverse=True)]
    weights = {}
    for (h, t), size in count(len(scores), k).items():
        rival = x[k + 1] if h == k else x[h + 1]
        weight = exp((gamma * x[t] - (1 - gamma) * rival) / scale)
        weights[h, t] = weight * mpmath.mpf(Fraction(size).numerator) / Fraction(size).denominator
    total = mpmath.fsum(weights.values())
    return {label: weight / total for label, weight in weights.items()}


def merged_law(scores: Sequence[Any], k: int, scale: Fraction) -> dict[int, Any]:
    """The law of the lowest rank at gamma = 1, from C(t - 1, k - 1) subsets each."""
    x = sorted(map(Fraction, scores), reverse=True)
    weights = {t: comb(t - 1, k - 1) * exp(x[t - 1] / scale) for t in range(k, len(x) + 1)}
    return {t: weight / mpmath.fsum(weights.values()) for t, weight in weights.items()}


def exp(value: Fraction) -> Any:
    """e to the power of a fraction."""
    return mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)


def flip_class_law(weights: dict[Any, Any], sizes: dict[Any, int]) -> dict[Any, float]:
    """Permute-and-flip by classes: n w (1 - w x)^(n - 1) times (1 - w x)^n of the others, integrated over 0 < x < 1.

    ``weights`` are probabilities of one subset each, relative to the best. A sum over a fine grid of ln x.
    """
    x = np.exp(np.linspace(-45, 0, 200_001)[:-1])
    survival = sum(sizes[label] * np.log1p(-float(w) * x) for label, w in weights.items())
    masses = {
        label: float(np.sum(x * sizes[label] * float(w) / (1 - float(w) * x) * np.exp(survival)))
        for label, w in weights.items()
    }
    total = sum(masses.values())
    return {label: mass / total for label, mass in masses.items()}
