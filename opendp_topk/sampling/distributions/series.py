"""Exact laws of one-shot rankings with noises that are neither max-stable nor memoryless, by power series.

In x = exp(-noisy score) the densities and survival functions of these noises are rational between the points
1 / w_i, w_i = exp(score_i). The line is cut into cells in which all their poles are at least three half-widths
away, so Taylor series about the middle of a cell lose a factor of two at least with every term.

Proof: proofs/distributions/series.tex
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, log, perm
from typing import Any

import gmpy2
import mpmath
from gmpy2 import mpfr

from ...errors import CapacityError
from ..noises.noise import Noise
from ..noises.races.cells import Series

_DIGITS = 70  # beyond those that cancel: 40 more than are promised
_MOST_STEPS = 20_000_000  # a limit of work: rankings by cells, terms and digits
_WIDEST = Fraction(2, 3)  # so narrow that the series about the middle of a cell converge fast

Outcome = tuple[int, ...]


# proof-region: series
def ranking(noise: Noise, scores: Sequence[Fraction], k: int) -> Callable[[Outcome], Any]:
    """The probability of a ranking of ``k`` indices, as a function of the ranking.

    Args:
        noise: One of the library whose law in a race has cells.
        scores: The scores in units of the scale, the largest being 0.
        k: The number of winners.

    Raises:
        CapacityError: The rankings, cells and terms need more than 20,000,000 steps.
    """
    build = noise.law_in_a_race().cells
    assert build is not None
    d, edges = len(scores), _edges(scores)
    n = len(edges) + 1
    digits = _DIGITS + ceil((k * (int(edges[-1]) + 1) + d * log(30 * n)) / 2.3)  # [digits]
    bits = 10 * digits // 3 + 8  # [bits]
    if perm(d, k) * n * (d + k) * bits > _MOST_STEPS:
        raise CapacityError(
            f"the exact distribution of {k} winners among {d} scores needs too many steps: "
            "use fewer scores, or scores that are closer to each other"
        )
    context = gmpy2.context(precision=bits)
    with context:
        cells = build(list(scores), edges)  # [cells]
    one = [[mpfr(1)] + [mpfr(0)] * (bits - 1) for _ in cells]  # [degree]
    rising: dict[Outcome, list[Series]] = {(): one}

    def probability(outcome: Outcome) -> Any:
        with context:
            for t in range(1, k):
                if outcome[:t] not in rising:
                    before, winner = rising[outcome[: t - 1]], outcome[t - 1]
                    rising[outcome[:t]] = _integrals(
                        [density[winner].times(g) for g, (density, _) in zip(before, cells, strict=True)]
                    )[0]
            integrands = []
            for g, (density, survival) in zip(rising[outcome[:-1]], cells, strict=True):
                integrand = density[outcome[-1]].times(g)
                for j in range(d):
                    if j not in outcome:
                        integrand = survival[j].times(integrand)
                integrands.append(integrand)
            mantissa, exponent = _integrals(integrands)[1].as_mantissa_exp()
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))  # [total]

    return probability


def _integrals(integrands: list[Series]) -> tuple[list[Series], mpfr]:
    """The integral from the left end of the first cell, as a series in each cell, and the whole integral."""
    start, result = mpfr(0), []
    for p in integrands:
        antiderivative = [mpfr(0), *(c / (n + 1) for n, c in enumerate(p[:-1]))]
        antiderivative[0] = start - sum((c if n % 2 == 0 else -c for n, c in enumerate(antiderivative)), mpfr(0))
        start = sum(antiderivative, mpfr(0))  # [next-cell]
        result.append(antiderivative)
    return result, start


def _edges(scores: Sequence[Fraction]) -> list[Fraction]:
    """Logarithms of the ends of the cells between the least and the largest 1 / w_i: every -score is one."""
    corners = sorted({-score for score in scores})
    edges = corners[:1]
    for left, right in pairwise(corners):
        pieces = ceil((right - left) / _WIDEST)  # [pieces]
        edges += [left + (right - left) * Fraction(i, pieces) for i in range(1, pieces + 1)]
    return edges


# end-proof-region: series
