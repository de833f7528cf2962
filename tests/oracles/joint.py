"""The joint exponential mechanism by brute force, and its levels of loss counted rank by rank."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import prod
from typing import Any

import mpmath

Output = tuple[int, ...]


def outputs(d: int, k: int, ordered: bool) -> Iterable[Output]:
    return permutations(range(d), k) if ordered else combinations(range(d), k)


def loss(scores: Sequence[Any], output: Output, ordered: bool) -> Fraction:
    """max_i (x_[i] - x_S[i]) from the definition; the members of a set are taken from best to worst."""
    best = sorted(map(Fraction, scores), reverse=True)
    own = [Fraction(scores[i]) for i in output]
    own = own if ordered else sorted(own, reverse=True)
    return max(best[i] - own[i] for i in range(len(output)))


def law(scores: Sequence[Any], k: int, scale: Fraction, ordered: bool) -> dict[Output, Any]:
    """Probabilities proportional to exp(-loss / scale)."""
    listed = list(outputs(len(scores), k, ordered))
    weights = dict(zip(listed, weights_of(scores, listed, scale, ordered), strict=True))
    total = mpmath.fsum(weights.values())
    return {s: weight / total for s, weight in weights.items()}


def weights_of(scores: Sequence[Any], listed: Iterable[Output], scale: Fraction, ordered: bool = True) -> list[Any]:
    """exp(-loss / scale) of the outputs that are listed."""
    return [exp(-loss(scores, s, ordered) / scale) for s in listed]


def holds(scores: Sequence[Any], output: Output, sure: int, reach: int) -> bool:
    """Whether some order of the candidates by score puts ranks 1..sure into the output and all of it into 1..reach.

    The order that is best for the event takes members of the output first among equal scores.
    """
    order = sorted(range(len(scores)), key=lambda i: (-Fraction(scores[i]), i not in output))
    return set(order[:sure]) <= set(output) <= set(order[:reach])


def paths(ceilings: Sequence[int]) -> int:
    """Increasing sequences with i-th element <= n_i: rank after rank is the next element, or is passed over."""
    ways = [1] + [0] * len(ceilings)
    for rank in range(1, max(ceilings) + 1):
        for place in range(len(ceilings), 0, -1):
            if rank <= ceilings[place - 1]:
                ways[place] += ways[place - 1]
    return ways[-1]


def level_law(scores: Sequence[Any], k: int, scale: Fraction, ordered: bool) -> dict[Fraction, Any]:
    """The law of the loss, from counts at all possible levels."""
    best = sorted(map(Fraction, scores), reverse=True)
    weights, before = {}, 0
    for level in sorted({a - b for a in best[:k] for b in best if a >= b}):
        ceilings = [sum(best[i] - x <= level for x in best) for i in range(k)]
        total = prod(n - i for i, n in enumerate(ceilings)) if ordered else paths(ceilings)
        weights[level], before = (total - before) * exp(-level / scale), total
    whole = mpmath.fsum(weights.values())
    return {level: weight / whole for level, weight in weights.items() if weight}


def exp(value: Fraction) -> Any:
    return mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
