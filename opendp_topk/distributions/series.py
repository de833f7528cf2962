"""Exact laws of one-shot rankings with half-logistic, Laplace and logistic noise, by power series.

In x = exp(-noisy score) the densities and survival functions of these noises are rational between the points
1 / w_i, w_i = exp(score_i). The line is cut into cells in which all their poles are at least three half-widths
away, so Taylor series about the middle of a cell lose a factor of two at least with every term.

Proof: proofs/distributions/series.tex
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, log, perm
from typing import Any

import gmpy2
import mpmath
from gmpy2 import mpfr, mpq

from ..errors import CapacityError
from ..noises.noise import Noise

_DIGITS = 70  # beyond those that cancel: 40 more than are promised
_MOST_STEPS = 20_000_000  # a limit of work: rankings by cells, terms and digits
_WIDEST = Fraction(2, 3)  # so narrow that the series about the middle of a cell converge fast

Series = list[mpfr]
Outcome = tuple[int, ...]


# proof-region: series
@dataclass(frozen=True)
class Factor:
    """The function (constant + slope t) / (1 + rho t)^power of t in [-1, 1]."""

    constant: mpfr
    slope: mpfr
    rho: mpfr
    power: int

    def times(self, series: Series) -> Series:
        """The product with ``series``, cut at its degree."""
        if self.constant == 0 and self.slope == 0:
            return [self.slope] * len(series)
        result = [self.constant * c + self.slope * b for b, c in zip([mpfr(0), *series], series, strict=False)]
        for _ in range(self.power):
            last = mpfr(0)
            for n, c in enumerate(result):
                last = result[n] = c - self.rho * last  # [recurrence]
        return result


Cell = tuple[list[Factor], list[Factor]]


def ranking(noise: Noise, scores: Sequence[Fraction], k: int) -> Callable[[Outcome], Any]:
    """The probability of a ranking of ``k`` indices, as a function of the ranking.

    Args:
        noise: ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``.
        scores: The scores in units of the scale, the largest being 0.
        k: The number of winners.

    Raises:
        CapacityError: The rankings, cells and terms need more than 20,000,000 steps.
    """
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
        build = {"HalfLogistic": _half_logistic, "Laplace": _laplace, "Logistic": _logistic}[noise.name]
        cells = build(list(scores), edges)
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


def _middles(edges: list[Fraction]) -> list[tuple[mpfr, mpfr, Fraction]]:
    """The middle and the half-width of each cell, and the logarithm of its right end: [0, 1] first."""
    ends = [_exp(edge) for edge in edges]
    first = [(mpfr("0.5"), mpfr("0.5"), edges[0])]
    return first + [((b + a) / 2, (b - a) / 2, edge) for a, b, edge in zip(ends, ends[1:], edges[1:], strict=False)]


def _half_logistic(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, none = [], Factor(mpfr(0), mpfr(0), mpfr(0), 0)
    for c, h, end in _middles(edges):
        density, survival = [], []
        for score in scores:
            w = _exp(score)
            a, inside = 1 + w * c, end <= -score  # [inside]
            density.append(Factor(2 * w * h / a**2, mpfr(0), w * h / a, 2) if inside else none)
            survival.append(Factor((1 - w * c) / a, -w * h / a, w * h / a, 1) if inside else none)
        cells.append((density, survival))
    return cells


def _laplace(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, zero = [], mpfr(0)
    weights = [_exp(score) for score in scores]
    for c, h, end in _middles(edges):
        density, survival = [], []
        for score, w in zip(scores, weights, strict=True):
            if end <= -score:
                density.append(Factor(w * h / 2, zero, zero, 0))
                survival.append(Factor(1 - w * c / 2, -w * h / 2, zero, 0))
            else:
                density.append(Factor(h / (2 * w * c**2), zero, h / c, 2))
                survival.append(Factor(1 / (2 * w * c), zero, h / c, 1))
        cells.append((density, survival))
    c = _exp(-edges[-1]) / 2
    tail = [c / (2 * w) for w in weights]
    cells.append(([Factor(a, zero, zero, 0) for a in tail], [Factor(a, -a, zero, 0) for a in tail]))  # [laplace-tail]
    return cells


def _logistic(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, zero = [], mpfr(0)
    weights = [_exp(score) for score in scores]
    for c, h, _ in _middles(edges):
        sums = [1 + w * c for w in weights]
        density = [Factor(w * h / a**2, zero, w * h / a, 2) for w, a in zip(weights, sums, strict=True)]
        survival = [Factor(1 / a, zero, w * h / a, 1) for w, a in zip(weights, sums, strict=True)]
        cells.append((density, survival))
    c = _exp(-edges[-1]) / 2
    density = [Factor(w * c / (w + c) ** 2, zero, -c / (w + c), 2) for w in weights]
    survival = [Factor(c / (w + c), -c / (w + c), -c / (w + c), 1) for w in weights]
    cells.append((density, survival))  # [logistic-tail]
    return cells


def _exp(value: Fraction) -> mpfr:
    return gmpy2.exp(mpfr(mpq(value.numerator, value.denominator)))  # [exponential]


# end-proof-region: series
