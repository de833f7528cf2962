"""The operations of interval arithmetic, against exact rationals and mpmath."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr, mpq

import opendp_topk as tk

PRECISIONS = (2, 24, 53, 64, 300)


def fraction(value: Any) -> Fraction:
    """Exactly: an mpfr is a dyadic rational."""
    exact = mpq(value)
    return Fraction(int(exact.numerator), int(exact.denominator))


def intervals(rng: random.Random) -> list[tuple[Any, Any]]:
    """Pairs of numbers with both signs, zero at an end or inside, and no width at all."""
    ends = [sorted(mpfr(rng.randrange(-(10**9), 10**9)) / 2 ** rng.randrange(60) for _ in "12") for _ in range(30)]
    return [*map(tuple, ends), (mpfr(-3), mpfr(0)), (mpfr(0), mpfr(5)), (mpfr(0), mpfr(0)), (mpfr(-7), mpfr(-7))]


@pytest.mark.further
@pytest.mark.quick(precision=(2, 53))
@pytest.mark.parametrize("precision", PRECISIONS)
def test_products_and_quotients_are_the_exact_ones_rounded_outward(precision: int) -> None:
    at, rng = tk.Intervals(precision), random.Random(precision)
    for x in intervals(rng):
        for y in intervals(rng):
            corners = [fraction(a) * fraction(b) for a in x for b in y]
            assert_rounded(at.multiply(x, y), corners, precision)
            assert_rounded(at.add(x, y), [fraction(a) + fraction(b) for a, b in zip(x, y, strict=True)], precision)
            if y[0] > 0:
                assert_rounded(at.divide(x, y), [fraction(a) / fraction(b) for a in x for b in y], precision)


def assert_rounded(found: tuple[Any, Any], corners: list[Fraction], precision: int) -> None:
    lower, upper = map(fraction, found)
    slack = Fraction(2) ** (1 - precision)
    assert lower <= min(corners) <= lower + slack * abs(min(corners))
    assert upper - slack * abs(max(corners)) <= max(corners) <= upper


@pytest.mark.parametrize("precision", PRECISIONS)
def test_exponentials_enclose_the_true_ones(precision: int) -> None:
    at, rng = tk.Intervals(precision), random.Random(precision)
    with mpmath.workprec(precision + 200):
        for x in intervals(rng):
            small = at.divide(x, at.rational(2**20))
            lower, upper = (mpmath.mpf(fraction(end).numerator) / fraction(end).denominator for end in at.exp(small))
            ends = [mpmath.exp(mpmath.mpf(fraction(end).numerator) / fraction(end).denominator) for end in small]
            assert ends[0] * (1 - mpmath.mpf(2) ** (1 - precision)) <= lower <= ends[0]
            assert ends[1] <= upper <= ends[1] * (1 + mpmath.mpf(2) ** (1 - precision))


def test_the_callers_context_does_not_matter() -> None:
    at, x, y = tk.Intervals(100), (mpfr(1), mpfr(2)), (mpfr(3), mpfr(7))
    expected = at.multiply(x, y), at.divide(x, y), at.exp(x)
    with gmpy2.context(precision=5, round=gmpy2.RoundAwayZero):
        assert (at.multiply(x, y), at.divide(x, y), at.exp(x)) == expected
