"""One of several events, a share of delta, and the tail of discrete Laplace noise, against 400 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from opendp_topk.measurements._any_of import any_event_probability, laplace_tail_bound, per_event_probability
from opendp_topk.numerics.arithmetic import round_up


def number(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("n", [0, 1, 2, 7, 10**9])
@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(1, 10**12), Fraction(1, 2**900)])
def test_any_of_is_the_exact_number_rounded_up(chance: Fraction, n: int) -> None:
    with mpmath.workdps(700):
        exact, found = 1 - (1 - number(chance)) ** n, number(any_event_probability(chance, n))
        assert exact * (1 - mpmath.mpf(10) ** -300) <= found <= exact * (1 + mpmath.mpf(2) ** -100)


@pytest.mark.parametrize("n", [1, 2, 5, 1000])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-200])
def test_the_share_is_the_largest(delta: float, n: int) -> None:
    share = per_event_probability(Fraction(delta), n)
    assert round_up(any_event_probability(share, n)) <= delta
    assert round_up(any_event_probability(share * (1 + Fraction(1, 2**40)), n)) > delta


@pytest.mark.parametrize("least", [1, 2, 50, 3000])
@pytest.mark.parametrize("scale", [Fraction(1, 7), Fraction(3), Fraction(1000)])
def test_the_tail_is_the_exact_sum_rounded_up(scale: Fraction, least: int) -> None:
    with mpmath.workdps(60):
        x = mpmath.exp(-1 / number(scale))
        exact, found = x**least / (1 + x), number(laplace_tail_bound(scale, least))
        assert exact <= found
        assert found <= exact * (1 + mpmath.mpf(2) ** -100) or found < mpmath.mpf(2) ** -1150
