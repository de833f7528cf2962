"""Tests of samples against an exact law, with odds that are fixed for the whole suite, and what they can tell.

Pearson's statistic sees errors that are spread over many cells. An error of the best cell alone is seen soonest by
the deviation of that cell: of the arcsine of the root of its frequency, whose standard deviation is 1 / (2 sqrt(n))
whatever the cell's probability.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import mpmath

ODDS = 1e-10
"""False-alarm odds of one test: even with a thousand tests, those of the suite stay below 1e-6."""
LARGEST_ERROR = 0.05
"""What a test must detect that does not say otherwise: a relative error of its best cell."""
_LEAST_EXPECTED = 50
Law = Mapping[Hashable, Any]


def p_value(counts: Mapping[Hashable, int], law: Law) -> float:
    """The odds of a deviation at least as large as that of ``counts`` from ``law``, of all cells or of the best one.

    Outcomes that are expected fewer than 50 times are pooled, so that the limiting law is accurate far out.
    An outcome that the law excludes has p-value 0.
    """
    total = mpmath.fsum(law.values())
    assert abs(total - 1) < 1e-9, "the law must sum to 1"
    if set(counts) - {outcome for outcome, p in law.items() if p > 0}:
        return 0.0
    return min(1.0, 2 * min(_of_all_cells(counts, law), _of_the_best_cell(counts, law)))


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


def _of_all_cells(counts: Mapping[Hashable, int], law: Law) -> float:
    """Pearson's test."""
    n = sum(counts.values())
    cells, rest_expected, rest_observed = [], mpmath.mpf(0), 0
    for outcome, p in law.items():
        if n * p >= _LEAST_EXPECTED:
            cells.append((n * p, counts.get(outcome, 0)))
        else:
            rest_expected += n * p
            rest_observed += counts.get(outcome, 0)
    if rest_expected >= _LEAST_EXPECTED:
        cells.append((rest_expected, rest_observed))
    elif rest_expected > 0:
        expected, observed = cells.pop()
        cells.append((expected + rest_expected, observed + rest_observed))
    if len(cells) < 2:
        raise ValueError("the law has too few likely outcomes for a test: choose other scores or draw more samples")
    statistic = mpmath.fsum((observed - expected) ** 2 / expected for expected, observed in cells)
    return float(mpmath.gammainc((len(cells) - 1) / mpmath.mpf(2), statistic / 2, regularized=True))


def _of_the_best_cell(counts: Mapping[Hashable, int], law: Law) -> float:
    """The odds of so large a deviation of the best cell's frequency."""
    n, best = sum(counts.values()), _best(law)
    found, expected = (mpmath.asin(mpmath.sqrt(p)) for p in (mpmath.mpf(counts.get(best, 0)) / n, law[best]))
    return float(mpmath.erfc(abs(found - expected) * mpmath.sqrt(2 * n)))


def _best(law: Law) -> Hashable:
    return max(law, key=lambda outcome: law[outcome])


def _quantile(odds: float) -> Any:
    """How many standard deviations :func:`p_value` lets pass, which halves the odds between its two tests."""
    return mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(odds) / 2)
