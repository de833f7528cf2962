"""Sums and products of pairs are exact, and logarithms of pairs are as near as they promise."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest

from opendp_topk.numerics import pairs


def _numbers(seed: int, lowest: int, highest: int, n: int) -> np.ndarray:
    rng = random.Random(seed)
    return np.array([rng.choice((1, -1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(lowest, highest) for _ in range(n)])


def test_sums_and_products_leave_exactly_what_they_say() -> None:
    a, b = _numbers(1, -60, 60, 3000), _numbers(2, -60, 60, 3000)
    b[::3] = -a[::3] * (1 + 2.0**-50)
    for operate, result in (
        (lambda x, y: x + y, pairs.two_sum(a, b)),
        (lambda x, y: x * y, pairs.two_product(a, b)),
    ):
        for x, y, first, second in zip(a.tolist(), b.tolist(), *(part.tolist() for part in result), strict=True):
            exact = operate(Fraction(x), Fraction(y))
            assert first == float(exact)
            assert Fraction(first) + Fraction(second) == exact


def test_logarithms_do_not_depend_on_the_context_in_force() -> None:
    expected = pairs._logs_of_inverses()
    with gmpy2.context(gmpy2.ieee(16)):
        made = pairs._logs_of_inverses.__wrapped__()
    assert all((one == other).all() for one, other in zip(made, expected, strict=True))


def test_a_sum_that_overflows_leaves_no_number() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(pairs.two_sum(np.array([1.7e308]), np.array([1.7e308]))[1]).all()


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(7), Fraction(10**40 + 1, 3), Fraction(1, 10**30)], ids=str)
def test_the_nearest_pair_leaves_a_hundred_digits(value: Fraction) -> None:
    first, second = (Fraction(float(part)) for part in pairs.nearest_pair(value))
    assert first == Fraction(float(value))
    assert abs(first + second - value) <= value / 2**105


def _points(kind: str) -> list[tuple[float, float]]:
    """Pairs over all that is served, or around where logarithms are small, or where cells and scalings change."""
    rng = random.Random(kind)
    if kind == "all magnitudes":
        first = [rng.uniform(1, 2) * 2.0 ** rng.randint(-100, 99) for _ in range(4000)] + [2.0**-100, 2.0**100]
    elif kind == "near one":
        first = [1 + rng.uniform(-1, 1) * 2.0 ** -rng.randint(1, 54) for _ in range(4000)] + [1.0, math.nextafter(1, 0)]
    else:
        edges = [(cell + half) / 4096 for cell in range(3070, 6148) for half in (0, 0.5)]
        first = [math.nextafter(edge, to) * rng.choice((1, 2, 0.5)) for edge in edges for to in (0, edge, 9)]
    shares = (0, 1, -1, 2.0**-20, rng.uniform(-1, 1))
    return [(x, rng.choice(shares) * 2.0**-52 * x) for x in first]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["all magnitudes", "near one", "edges"])
def test_logarithms_are_as_near_as_they_promise(kind: str) -> None:
    points = _points(kind)
    x = np.array(points).T
    with mpmath.workprec(300):
        for (high, low), s, t in zip(points, *(part.tolist() for part in pairs.log((x[0], x[1]))), strict=True):
            error = abs(mpmath.mpf(s) + t - mpmath.log(mpmath.mpf(high) + low))
            assert error <= min(mpmath.mpf(2) ** -72, mpmath.mpf(s) ** 2 * 2.0**-46 + mpmath.mpf(2) ** -100)
            assert abs(t) <= 2.0**-24
