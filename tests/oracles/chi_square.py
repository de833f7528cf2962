"""Pearson's test of samples against an exact law, with false-alarm odds that are fixed for the whole suite."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import mpmath

ODDS = 1e-10
"""False-alarm odds of one test: even with a thousand tests, those of the suite stay below 1e-6."""
_LEAST_EXPECTED = 50


def p_value(counts: Mapping[Hashable, int], law: Mapping[Hashable, Any]) -> float:
    """The odds of a deviation at least as large as that of ``counts`` from ``law``.

    Outcomes that are expected fewer than 50 times are pooled, so that the limiting law is accurate far out.
    An outcome that the law excludes has p-value 0.
    """
    n = sum(counts.values())
    total = mpmath.fsum(law.values())
    assert abs(total - 1) < 1e-9, "the law must sum to 1"
    if set(counts) - {outcome for outcome, p in law.items() if p > 0}:
        return 0.0
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


def assert_follows(counts: Mapping[Hashable, int], law: Mapping[Hashable, Any]) -> None:
    """Fail where ``counts`` deviate from ``law`` more than chance explains."""
    odds = p_value(counts, law)
    assert odds > ODDS, f"samples deviate from the exact law: p = {odds:.2g}"
