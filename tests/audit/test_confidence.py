"""Confidence bounds against their definition, computed by other means."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest

from opendp_topk.apps.audit.blackbox import clopper_pearson_lower, clopper_pearson_upper


def tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """P(X >= hits) for X ~ Binomial(trials, p), exactly."""
    return sum((comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1)), Fraction(0))


@pytest.mark.quick(alpha=0.05, trials=(1, 7))
@pytest.mark.parametrize("alpha", [0.4, 0.05, 1e-4, 1e-11])
@pytest.mark.parametrize("trials", [1, 7, 40])
def test_bounds_solve_the_tail_equation_from_the_safe_side(trials: int, alpha: float) -> None:
    for hits in range(trials + 1):
        low, high = (
            Fraction(clopper_pearson_lower(hits, trials, alpha)),
            Fraction(clopper_pearson_upper(hits, trials, alpha)),
        )
        assert 0 <= low <= Fraction(hits, trials) <= high <= 1
        if hits:
            assert tail(hits, trials, low) <= alpha
            assert tail(hits, trials, low * (1 + Fraction(1, 10**7))) > alpha * (1 - 1e-6)
        else:
            assert low == 0
        if hits < trials:
            assert 1 - tail(hits + 1, trials, high) <= alpha * (1 + 1e-9)
            assert tail(trials - hits, trials, 1 - high) <= alpha * (1 + 1e-9)


@pytest.mark.further
@pytest.mark.quick(alpha=0.005, hits=(123, 499_999))
@pytest.mark.parametrize(("hits", "trials"), [(1, 500_000), (123, 500_000), (250_000, 500_000), (499_999, 500_000)])
@pytest.mark.parametrize("alpha", [0.005, 1e-11])
def test_many_trials(hits: int, trials: int, alpha: float) -> None:
    low = clopper_pearson_lower(hits, trials, alpha)
    with mpmath.workdps(30):
        x = mpmath.mpf(low)
        term = mpmath.binomial(trials, hits) * x**hits * (1 - x) ** (trials - hits)
        p = term
        for j in range(hits, min(trials, hits + 20_000)):
            term *= x / (1 - x) * (trials - j) / (j + 1)
            p += term
    assert p <= alpha
    assert p > alpha * (1 - 1e-5)


@pytest.mark.further
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
def test_coverage_is_exact(p: Fraction) -> None:
    trials, alpha = 30, 0.1
    mass = [comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)]
    above = sum(m for j, m in enumerate(mass) if clopper_pearson_lower(j, trials, alpha) > p)
    below = sum(m for j, m in enumerate(mass) if clopper_pearson_upper(j, trials, alpha) < p)
    assert above <= alpha
    assert below <= alpha
    assert max(above, below) > 0
