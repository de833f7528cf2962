"""Exact law of the k best of independently perturbed scores (one-shot top-k).

With Gumbel and exponential noise every sum below has nonnegative terms only, so nothing cancels. With 50 digits of
working precision, and one more for every digit of the scores' spread, every probability has more than 30 correct
digits, however small it is. The laws of the other noises come from power series (``series.py``).

Proof: proofs/distributions/one_shot.tex
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import permutations
from math import factorial, perm
from typing import Any

import mpmath

from ...errors import CapacityError, ParameterError
from ..noises.noise import Noise
from . import series

_WORKING_DIGITS = 50  # 20 more than are promised
_MOST_WORK = 5_000_000  # a limit of work: rankings, and d^2 for each

Outcome = tuple[int, ...]


# proof-region: one_shot_law
def law(noise: Noise, scores: Sequence[Fraction], noiseless: bool, k: int, ordered: bool) -> dict[Hashable, Any]:
    """The probability of every ranking (or set) of k indices.

    Args:
        noise: One of the five noises.
        scores: The scores in units of the scale, larger being better.
        noiseless: Whether the scale is 0: then the exact top-k has probability 1.
        k: The number of winners, at most ``len(scores)``.
        ordered: Rankings if True, sets (ascending tuples) otherwise.

    Raises:
        CapacityError: The rankings times d^2 are more than 5,000,000, or the series take more than 20,000,000
            steps: more than some seconds of work.
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    require_listable(d, k)
    if noiseless:
        best = tuple(sorted(range(d), key=lambda i: (-scores[i], i))[:k])
        return {best if ordered else tuple(sorted(best)): mpmath.mpf(1)}  # [point-mass]
    top = max(scores)
    shifted = [score - top for score in scores]  # [shift]
    spread = int(top - min(scores))
    with mpmath.workdps(_WORKING_DIGITS + spread.bit_length() // 3 + 1):  # [digits]
        ranking = _ranking(noise, shifted, k)
        result: dict[Hashable, Any] = {}
        for outcome in permutations(range(d), k):
            released = outcome if ordered else tuple(sorted(outcome))
            result[released] = result.get(released, mpmath.mpf(0)) + ranking(outcome)  # [orders]
        return result


def require_listable(d: int, k: int) -> None:
    """Raise unless there are k among d scores, and few enough rankings of them to list."""
    if k > d:
        raise ParameterError(f"the exact distribution needs at least k scores ({k})")
    if perm(d, k) * d * d > _MOST_WORK:
        raise CapacityError(
            f"the exact distribution of {k} winners among {d} scores has {perm(d, k)} rankings, too many to enumerate: "
            "use fewer scores"
        )


def _ranking(noise: Noise, scores: list[Fraction], k: int) -> Callable[[Outcome], Any]:
    """The probability of a ranking, as a function of the ranking, at the caller's precision or a higher one."""
    if not (noise.is_max_stable or noise.is_memoryless):
        return series.ranking(noise, scores, k)  # [series]
    weights = [mpmath.exp(_number(score)) for score in scores]  # [weights]
    if noise.is_max_stable:
        return lambda outcome: _gumbel_ranking(weights, outcome)
    return lambda outcome: _exponential_ranking(scores, weights, outcome)


def _gumbel_ranking(weights: Sequence[Any], outcome: Outcome) -> Any:
    """The product of the softmax probabilities of each winner among those left."""
    left = set(range(len(weights)))
    probability = mpmath.mpf(1)
    for winner in outcome:
        probability *= weights[winner] / mpmath.fsum(weights[i] for i in sorted(left))  # [softmax]
        left.remove(winner)
    return probability


def _exponential_ranking(scores: Sequence[Fraction], weights: Sequence[Any], outcome: Outcome) -> Any:
    """The volume of x_1 < ... < x_k, x_t <= 1 / w_t, weighted by the chance that nobody else is below x_k."""
    k = len(outcome)
    losers = [i for i in range(len(scores)) if i not in outcome]
    best_loser = [max(scores[i] for i in losers)] if losers else []
    caps = [max([scores[i] for i in outcome[t:]] + best_loser) for t in range(k)]  # [caps]
    edges = sorted(set(caps), reverse=True)
    volume = [mpmath.mpf(1)] + [mpmath.mpf(0)] * k
    total = mpmath.mpf(0)
    for i, edge in enumerate(edges):
        upper = mpmath.exp(-_number(edge))
        length = upper * (-mpmath.expm1(_number(edge - edges[i - 1])) if i else 1)  # [length]
        others = _survival(scores, weights, losers, edge, length)
        for m in range(1, k + 1):
            beta = mpmath.fsum(g * factorial(n) / mpmath.mpf(factorial(m + n)) for n, g in enumerate(others))
            total += volume[k - m] * length**m * beta  # [last-cell]
        needed = sum(cap >= edge for cap in caps)
        volume = [
            mpmath.fsum(volume[n - m] * length**m / factorial(m) for m in range(n + 1))
            if n >= needed
            else mpmath.mpf(0)
            for n in range(k + 1)
        ]  # [cells]
    return total * mpmath.fprod(weights[i] for i in outcome)


def _survival(
    scores: Sequence[Fraction], weights: Sequence[Any], losers: Sequence[int], edge: Fraction, length: Any
) -> list[Any]:
    """Coefficients, in powers of (1 - y), of the product over losers of 1 - w_j x at x = upper - length (1 - y)."""
    coefficients = [mpmath.mpf(1)]
    for j in losers:
        constant, slope = -mpmath.expm1(_number(scores[j] - edge)), weights[j] * length  # [bernstein]
        shifted = [mpmath.mpf(0), *(slope * c for c in coefficients)]
        coefficients = [constant * c + s for c, s in zip([*coefficients, mpmath.mpf(0)], shifted, strict=True)]
    return coefficients


def _number(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator  # [number]


# end-proof-region: one_shot_law
