"""Tests of samples against an exact law, with odds that are fixed for the whole suite, and what they can tell.

Pearson's statistic sees errors that are spread over many cells. An error of the best cell alone is seen soonest by
the deviation of that cell: of the arcsine of the root of its frequency, whose standard deviation is 1 / (2 sqrt(n))
whatever the cell's probability. Both are limits, and far out in the tail they are wrong by much where little is
expected: cells that are expected fewer than 1000 times are judged one by one, by the exact tail of the binomial law,
and enter Pearson's statistic in groups.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import mpmath

ODDS = 1e-10
"""False-alarm odds of one test: even with a thousand tests, those of the suite stay below 1e-6."""
LARGEST_ERROR = 0.05
"""What a test must detect that does not say otherwise: a relative error of its best cell."""
_LEAST_EXPECTED = 50
_SPARSE = 1000
Law = Mapping[Hashable, Any]
JUDGED: list[float] = []
"""The p-values of the samples that passed in this process."""


def p_value(counts: Mapping[Hashable, int], law: Law) -> float:
    """The odds of a deviation at least as large as that of ``counts`` from ``law``, of all cells or of the best one.

    An outcome that the law excludes has p-value 0.
    """
    total = mpmath.fsum(law.values())
    assert abs(total - 1) < 1e-9, "the law must sum to 1"
    if set(counts) - {outcome for outcome, p in law.items() if p > 0}:
        return 0.0
    spread = 2 * min(_of_all_cells(counts, law), _of_sparse_cells(counts, law))
    return min(1.0, 2 * min(spread, _of_the_best_cell(counts, law)))


def smallest_error(n: int, p: Any, odds: float = ODDS) -> float:
    """The smallest relative error, up or down, of a cell of probability ``p`` that ``n`` samples detect.

    A larger one is refused but for ``odds``, where a true law is refused at ``odds``. Each side has half of an
    arc: what chance explains of the frequency, and what it explains of the deviation.
    """
    arc, here = _quantile(odds) / mpmath.sqrt(n), mpmath.asin(mpmath.sqrt(p))
    if not arc < here < mpmath.pi / 2 - arc:
        return float(mpmath.inf)
    return float(max(mpmath.sin(here + arc) ** 2 / p - 1, 1 - mpmath.sin(here - arc) ** 2 / p))


def enough(p: Any, error: float = LARGEST_ERROR) -> int:
    """How many samples detect a relative error of a cell of probability ``p``, up or down."""
    below, here, above = (mpmath.asin(mpmath.sqrt(p * (1 + step))) for step in (-error, 0, error))
    return int((_quantile(ODDS) / min(above - here, here - below)) ** 2) + 1


def tilted(law: Law, error: float = LARGEST_ERROR) -> dict[Hashable, Any]:
    """The law with its best cell made likelier by ``error`` times its probability, at the cost of all others."""
    best = _best(law)
    others = (1 - (1 + error) * law[best]) / (1 - law[best])
    return {outcome: p * (1 + error if outcome == best else others) for outcome, p in law.items()}


def assert_follows(counts: Mapping[Hashable, int], law: Law, detects: float = LARGEST_ERROR) -> None:
    """Fail where ``counts`` deviate from ``law`` more than chance explains.

    ``detects`` states the power: a relative error of the best cell that would be refused but for :data:`ODDS`.
    """
    n = sum(counts.values())
    smallest = smallest_error(n, law[_best(law)])
    assert smallest <= detects, f"{n} samples detect an error of {smallest:.3g}: draw more, or state it as detects"
    odds = p_value(counts, law)
    assert odds > ODDS, f"samples deviate from the exact law: p = {odds:.2g}"
    JUDGED.append(odds)


def _of_all_cells(counts: Mapping[Hashable, int], law: Law) -> float:
    """Pearson's test; cells in which little is expected are taken together, in the order of the law."""
    n = sum(counts.values())
    if n * (1 - law[_best(law)]) < _LEAST_EXPECTED:
        raise ValueError("the law has too few likely outcomes for a test: choose other scores or draw more samples")
    cells, expected, observed = [], mpmath.mpf(0), 0
    for outcome in sorted(law, key=lambda one: n * law[one] < _SPARSE):
        expected, observed = expected + n * law[outcome], observed + counts.get(outcome, 0)
        if expected >= _SPARSE:
            cells.append((expected, observed))
            expected, observed = mpmath.mpf(0), 0
    if expected and cells:
        last = cells.pop()
        cells.append((expected + last[0], observed + last[1]))
    if len(cells) < 2:
        return 1.0
    statistic = mpmath.fsum((observed - expected) ** 2 / expected for expected, observed in cells)
    return float(mpmath.gammainc((len(cells) - 1) / mpmath.mpf(2), statistic / 2, regularized=True))


def _of_sparse_cells(counts: Mapping[Hashable, int], law: Law) -> float:
    """The odds, at most, that one of the cells in which little is expected deviates as the worst of them does."""
    n = sum(counts.values())
    sparse = [(counts.get(outcome, 0), float(p)) for outcome, p in law.items() if 0 < n * p < _SPARSE]
    worst = max(sparse, key=lambda one: _divergence(n, *one), default=None)
    return 1.0 if worst is None else min(1.0, 2 * len(sparse) * tail(n, *worst))


def _divergence(n: int, count: int, p: float) -> float:
    """The exponent of Chernoff's bound for a cell's count: the larger, the less likely are such counts."""
    if p == 0:
        return math.inf if count else 0.0
    own = count * math.log(count / (n * p)) if count else 0.0
    others = (n - count) * (math.log1p(-count / n) - math.log1p(-p)) if count < n else 0.0
    return own + others


def tail(n: int, count: int, p: float) -> float:
    """The probability that of n draws at least ``count`` fall in a cell, or at most where fewer are expected."""
    if p in (0, 1):
        return float(count == n * p)
    up = count >= n * p
    ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    term = math.exp(ways + count * math.log(p) + (n - count) * math.log1p(-p))
    total, here, odds = term, count, p / (1 - p)
    while term > total * 1e-17 and (here < n if up else here > 0):
        term *= (n - here) / (here + 1) * odds if up else here / (n - here + 1) / odds
        here += 1 if up else -1
        total += term
    return total


def _of_the_best_cell(counts: Mapping[Hashable, int], law: Law) -> float:
    """The odds of so large a deviation of the best cell's frequency."""
    n, best = sum(counts.values()), _best(law)
    if n * law[best] < _SPARSE:
        return min(1.0, 2 * tail(n, counts.get(best, 0), float(law[best])))
    found, expected = (mpmath.asin(mpmath.sqrt(p)) for p in (mpmath.mpf(counts.get(best, 0)) / n, law[best]))
    return float(mpmath.erfc(abs(found - expected) * mpmath.sqrt(2 * n)))


def _best(law: Law) -> Hashable:
    return max(law, key=lambda outcome: law[outcome])


def _quantile(odds: float) -> Any:
    """How many standard deviations :func:`p_value` lets pass, which halves the odds between its two tests."""
    return mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(odds) / 2)
