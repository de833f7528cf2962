"""Exact output distributions of one-shot noisy top-k, by closed forms and power series."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import pairwise, permutations
from math import ceil, factorial, log, perm
from typing import Any

import gmpy2
import mpmath
from gmpy2 import mpfr

from ...errors import CapacityError, ParameterError
from ..noises.noise import Noise, Series

# Exact distributions of one-shot rankings with noises that are neither max-stable nor memoryless, by power series.
#
# In x = exp(-noisy score) the densities and survival functions of these noises are rational between the points
# 1 / w_i, w_i = exp(score_i). The line is cut into cells such that all their poles are at least three half-widths away
# from the middle, so the terms of a Taylor series about the middle eventually fall by more than a factor of two.
#
# Proof: proofs/distributions/series.tex

_DIGITS = 70  # digits beyond those that cancel: 40 more than are guaranteed
_MOST_STEPS = 20_000_000  # work limit: the product of rankings, cells, factors and bits
_WIDEST = Fraction(2, 3)  # narrow enough for the series about the middle of a cell to converge fast

Outcome = tuple[int, ...]


# proof-region: series
def ranking_probability(noise: Noise, scores: Sequence[Fraction], k: int) -> Callable[[Outcome], Any]:
    """Return a function from rankings of ``k`` indices to their probability.

    Args:
        noise: A noise of the library whose distribution in a race has cells.
        scores: The scores in units of the scale; the largest is 0.
        k: The number of winners.

    Raises:
        CapacityError: The rankings, cells and terms need more than 20,000,000 steps.
    """
    build = noise.arrival_distribution().cells
    assert build is not None
    d, edges = len(scores), _cell_edges(scores)
    n = len(edges) + 1
    digits = _DIGITS + ceil((k * (int(edges[-1]) + 1) + d * log(30 * n)) / 2.3)  # [digits]
    bits = 10 * digits // 3 + 8  # [bits]
    if perm(d, k) * n * (d + k) * bits > _MOST_STEPS:
        raise CapacityError(
            f"the exact distribution of {k} winners among {d} scores requires too many steps: use fewer "
            "scores, or scores closer to each other"
        )
    context = gmpy2.context(precision=bits)
    with context:
        cells = build(list(scores), edges)  # [cells]
    one = [[mpfr(1)] + [mpfr(0)] * (bits - 1) for _ in cells]  # [degree]
    rising: dict[Outcome, list[Series]] = {(): one}

    def outcome_probability(outcome: Outcome) -> Any:
        with context:
            for t in range(1, k):
                if outcome[:t] not in rising:
                    before, winner = rising[outcome[: t - 1]], outcome[t - 1]
                    rising[outcome[:t]] = _cumulative_integrals(
                        [density[winner].multiply_series(g) for g, (density, _) in zip(before, cells, strict=True)]
                    )[0]
            integrands = []
            for g, (density, survival) in zip(rising[outcome[:-1]], cells, strict=True):
                integrand = density[outcome[-1]].multiply_series(g)
                for j in range(d):
                    if j not in outcome:
                        integrand = survival[j].multiply_series(integrand)
                integrands.append(integrand)
            mantissa, exponent = _cumulative_integrals(integrands)[1].as_mantissa_exp()
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))  # [total]

    return outcome_probability


def _cumulative_integrals(integrands: list[Series]) -> tuple[list[Series], mpfr]:
    """Return the integral from the left end of the first cell, as a series in each cell, and the whole integral."""
    start, result = mpfr(0), []
    for p in integrands:
        antiderivative = [mpfr(0), *(c / (n + 1) for n, c in enumerate(p[:-1]))]
        antiderivative[0] = start - sum((c if n % 2 == 0 else -c for n, c in enumerate(antiderivative)), mpfr(0))
        start = sum(antiderivative, mpfr(0))  # [next-cell]
        result.append(antiderivative)
    return result, start


def _cell_edges(scores: Sequence[Fraction]) -> list[Fraction]:
    """Return the logarithms of the cell ends from the smallest to the largest 1 / w_i; every -score is one of them."""
    corners = sorted({-score for score in scores})
    edges = corners[:1]
    for left, right in pairwise(corners):
        pieces = ceil((right - left) / _WIDEST)  # [pieces]
        edges += [left + (right - left) * Fraction(i, pieces) for i in range(1, pieces + 1)]
    return edges


# end-proof-region: series


# Exact output distribution of one-shot top-k: the k best of independently perturbed scores.
#
# With Gumbel and exponential noise, all sums below have nonnegative terms, so nothing cancels. With a working precision
# of 50 digits, and one more for every digit of the spread of the scores, every probability has more than 30 correct
# digits, however small it is. For the other noises the power series above are used.
#
# Proof: proofs/distributions/one_shot.tex

_WORKING_DIGITS = 50  # 20 more than are guaranteed
_MOST_WORK = 5_000_000  # work limit: the number of rankings times d^2


# proof-region: one_shot_law
def output_distribution(
    noise: Noise, scores: Sequence[Fraction], noiseless: bool, k: int, ordered: bool
) -> dict[Hashable, Any]:
    """Return the probability of every ranking or set of k indices.

    Args:
        noise: One of the five noises of the library.
        scores: The scores in units of the scale; larger is better.
        noiseless: Whether the scale is 0; then the exact top-k has probability 1.
        k: The number of winners, at most ``len(scores)``.
        ordered: True for rankings, False for sets (ascending tuples).

    Raises:
        CapacityError: The number of rankings times d^2 is above 5,000,000, or the series need more than 20,000,000
            steps, which would take more than a few seconds.
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    require_enumerable(d, k)
    if noiseless:
        best = tuple(sorted(range(d), key=lambda i: (-scores[i], i))[:k])
        return {best if ordered else tuple(sorted(best)): mpmath.mpf(1)}  # [point-mass]
    top = max(scores)
    shifted = [score - top for score in scores]  # [shift]
    spread = int(top - min(scores))
    with mpmath.workdps(_WORKING_DIGITS + spread.bit_length() // 3 + 1):  # [digits]
        ranking = _ranking_probability(noise, shifted, k)
        result: dict[Hashable, Any] = {}
        for outcome in permutations(range(d), k):
            released = outcome if ordered else tuple(sorted(outcome))
            result[released] = result.get(released, mpmath.mpf(0)) + ranking(outcome)  # [orders]
        return result


def require_enumerable(d: int, k: int) -> None:
    """Raise unless k <= d and there are few enough rankings of k among d scores to enumerate."""
    if k > d:
        raise ParameterError(f"the exact distribution requires at least k scores ({k})")
    if perm(d, k) * d * d > _MOST_WORK:
        raise CapacityError(
            f"the exact distribution of {k} winners among {d} scores has {perm(d, k)} rankings, too many to enumerate: "
            "use fewer scores"
        )


def _ranking_probability(noise: Noise, scores: list[Fraction], k: int) -> Callable[[Outcome], Any]:
    """Return a function from rankings to their probability, at the caller's precision or a higher one."""
    if not (noise.is_max_stable or noise.is_memoryless):
        return ranking_probability(noise, scores, k)  # [series]
    weights = [mpmath.exp(_to_mpf(score)) for score in scores]  # [weights]
    if noise.is_max_stable:
        return lambda outcome: _gumbel_ranking(weights, outcome)
    return lambda outcome: _exponential_ranking(scores, weights, outcome)


def _gumbel_ranking(weights: Sequence[Any], outcome: Outcome) -> Any:
    """Return the product of the softmax probabilities of each winner among the remaining candidates."""
    left = set(range(len(weights)))
    probability = mpmath.mpf(1)
    for winner in outcome:
        probability *= weights[winner] / mpmath.fsum(weights[i] for i in sorted(left))  # [softmax]
        left.remove(winner)
    return probability


def _exponential_ranking(scores: Sequence[Fraction], weights: Sequence[Any], outcome: Outcome) -> Any:
    """Return the integral over x_1 < ... < x_k, x_t <= 1 / w_t, of the probability that all others are above x_k.

    It is multiplied by the densities w_t of the winners.
    """
    k = len(outcome)
    losers = [i for i in range(len(scores)) if i not in outcome]
    best_loser = [max(scores[i] for i in losers)] if losers else []
    caps = [max([scores[i] for i in outcome[t:]] + best_loser) for t in range(k)]  # [caps]
    edges = sorted(set(caps), reverse=True)
    volume = [mpmath.mpf(1)] + [mpmath.mpf(0)] * k
    total = mpmath.mpf(0)
    for i, edge in enumerate(edges):
        upper = mpmath.exp(-_to_mpf(edge))
        length = upper * (-mpmath.expm1(_to_mpf(edge - edges[i - 1])) if i else 1)  # [length]
        others = _survival_coefficients(scores, weights, losers, edge, length)
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


def _survival_coefficients(
    scores: Sequence[Fraction], weights: Sequence[Any], losers: Sequence[int], edge: Fraction, length: Any
) -> list[Any]:
    """Return coefficients, in powers of 1 - y, of the product of 1 - w_j x over losers, x = upper - length (1 - y)."""
    coefficients = [mpmath.mpf(1)]
    for j in losers:
        constant, slope = -mpmath.expm1(_to_mpf(scores[j] - edge)), weights[j] * length  # [bernstein]
        shifted = [mpmath.mpf(0), *(slope * c for c in coefficients)]
        coefficients = [constant * c + s for c, s in zip([*coefficients, mpmath.mpf(0)], shifted, strict=True)]
    return coefficients


def _to_mpf(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator  # [number]


# end-proof-region: one_shot_law
