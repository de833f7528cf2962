"""The vectorised logarithms enclose the true ones, and closely.

Tries proofs/numerics/floatexp.tex and proofs/numerics/pairs.tex.
"""

import math
import random
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest

from opendp_topk.numerics import floats
from opendp_topk.numerics.floats import exp, exp_mantissa_power, log_bounds, minus_log1m_bounds

DIGITS = 60


def _adversarial() -> list[float]:
    powers = [math.ldexp(1.0, e) for e in range(-1074, 1024, 7)]
    edges = [0.5 + cell / 8192 for cell in (*range(0, 4096, 97), 4095)]
    centres = [0.5 + (cell + 0.5) / 8192 for cell in range(0, 4096, 89)]
    near = [*powers, *edges, *centres, 1.0, 2.0, math.e, 1e308]
    around = [y for x in near for y in (math.nextafter(x, 0), x, math.nextafter(x, math.inf))]
    subnormal = [5e-324, 1e-323, 2.5e-320, 2.2250738585072009e-308]
    return [x for x in [*around, *subnormal, 1.7976931348623157e308] if 0 < x < math.inf]


def _random(seed: int, lowest: float, highest: float, n: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.uniform(1, 2) * 2.0 ** rng.uniform(lowest, highest) for _ in range(n)]


@pytest.mark.further
@pytest.mark.parametrize(
    "points",
    [_adversarial(), _random(1, -1074, 1022, 4000), _random(2, -1, 1, 4000), _random(3, -0.01, 0.01, 4000)],
    ids=["adversarial", "all magnitudes", "near one", "very near one"],
)
def test_log_bounds_enclose_the_logarithm_within_their_promise(points: list[float]) -> None:
    x = np.array(points)
    lower, upper = log_bounds(x, x)
    assert np.array_equal((lower, upper), log_bounds(x, x.copy())), "one array, or two that are equal"
    with mpmath.workdps(DIGITS):
        for point, below, above in zip(points, lower.tolist(), upper.tolist(), strict=True):
            true = mpmath.log(mpmath.mpf(point))
            promised = (abs(true) + 1) * mpmath.mpf(2) ** -49
            assert true - promised <= below <= true <= above <= true + promised


def test_log_bounds_take_each_end_from_its_own_argument() -> None:
    lower, upper = log_bounds(np.array([1.0, 2.0]), np.array([8.0, 2.0]))
    assert lower == pytest.approx([0, math.log(2)], abs=1e-14)
    assert upper == pytest.approx([math.log(8), math.log(2)], abs=1e-14)


def test_logarithms_of_centres_are_the_nearest_floats() -> None:
    with gmpy2.context(precision=300):
        nearest = [float(gmpy2.log(gmpy2.mpfr(n) / 2**14)) for n in range(8193, 2**14, 2)]
    assert floats._log_of_centres.__wrapped__().tolist() == nearest


def test_logarithms_of_zero_and_infinity() -> None:
    ends = np.array([0.0, math.inf])
    for bound in log_bounds(ends, ends):
        assert bound.tolist() == [-math.inf, math.inf]


@pytest.mark.further
def test_minus_log1m_bounds_are_relative_however_small_the_argument() -> None:
    rng = random.Random(4)
    points = [2.0**-6, 2.0**-7, 5e-324, 1e-323, 2.0**-1022, 2.0**-1060, 2.0**-53, 2.0**-30]
    points += [rng.uniform(0.5, 1) * 2.0 ** rng.uniform(-1070, -6) for _ in range(3000)]
    points += [rng.uniform(0, 2.0**-6) for _ in range(3000)]
    v = np.array([min(point, 2.0**-6) for point in points])
    lower, upper = minus_log1m_bounds(v, v)
    assert np.array_equal((lower, upper), minus_log1m_bounds(v, v.copy()))
    with mpmath.workdps(DIGITS):
        for point, below, above in zip(v.tolist(), lower.tolist(), upper.tolist(), strict=True):
            true = -mpmath.log1p(-mpmath.mpf(point))
            promised = true * mpmath.mpf(2) ** -47 + mpmath.mpf(2) ** -1070
            assert true - promised <= below <= true <= above <= true + promised


def test_minus_log1m_of_zero_is_zero_below() -> None:
    lower, upper = minus_log1m_bounds(np.zeros(1), np.zeros(1))
    assert lower[0] == 0
    assert 0 <= upper[0] < 1e-300


# The bound on exponentials, at ends, near multiples of ln 2 / 2 and at random.


def arguments(limit: float) -> np.ndarray:
    generator = np.random.default_rng(1)
    half = np.log(2) / 2 * np.arange(-40, 41)
    edges = np.concatenate([half, np.nextafter(half, 1e9), np.nextafter(half, -1e9)])
    small = [0.0, 1e-300, -1e-300, 5e-324, 2.0**-54, -(2.0**-54), limit, -limit]
    return np.concatenate([small, edges, generator.uniform(-limit, limit, 3000), generator.uniform(-1, 1, 3000)])


def test_the_relative_error_of_exp() -> None:
    y = arguments(700.0)
    with mpmath.workprec(120):
        errors = [
            abs(mpmath.mpf(a) / mpmath.exp(mpmath.mpf(b)) - 1) for a, b in zip(exp(y).tolist(), y.tolist(), strict=True)
        ]
    assert max(errors) <= 2.0**-50


@pytest.mark.further
def test_the_relative_error_of_parts() -> None:
    y = arguments(2.0**19)
    mantissas, powers = exp_mantissa_power(y)
    assert (mantissas > 0.5).all()
    assert (mantissas < 2).all()
    with mpmath.workprec(160):
        for m, n, b in zip(mantissas.tolist(), powers.tolist(), y.tolist(), strict=True):
            assert abs(mpmath.ldexp(mpmath.mpf(m), n) / mpmath.exp(mpmath.mpf(b)) - 1) <= 2.0**-50
    assert exp_mantissa_power(np.zeros(1)) == (np.ones(1), np.zeros(1))


# Sums and products of pairs are exact, and logarithms of pairs are as near as they promise.


def _numbers(seed: int, lowest: int, highest: int, n: int) -> np.ndarray:
    rng = random.Random(seed)
    return np.array([rng.choice((1, -1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(lowest, highest) for _ in range(n)])


def test_sums_and_products_leave_exactly_what_they_say() -> None:
    a, b = _numbers(1, -60, 60, 3000), _numbers(2, -60, 60, 3000)
    b[::3] = -a[::3] * (1 + 2.0**-50)
    for operate, result in ((lambda x, y: x + y, floats.two_sum(a, b)), (lambda x, y: x * y, floats.two_product(a, b))):
        for x, y, first, second in zip(a.tolist(), b.tolist(), *(part.tolist() for part in result), strict=True):
            exact = operate(Fraction(x), Fraction(y))
            assert first == float(exact)
            assert Fraction(first) + Fraction(second) == exact


def test_logarithms_do_not_depend_on_the_context_in_force() -> None:
    expected = floats._logs_of_inverses()
    with gmpy2.context(gmpy2.ieee(16)):
        made = floats._logs_of_inverses.__wrapped__()
    assert all((one == other).all() for one, other in zip(made, expected, strict=True))


def test_a_sum_that_overflows_leaves_no_number() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(floats.two_sum(np.array([1.7e308]), np.array([1.7e308]))[1]).all()


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(7), Fraction(10**40 + 1, 3), Fraction(1, 10**30)], ids=str)
def test_the_nearest_pair_leaves_a_hundred_digits(value: Fraction) -> None:
    first, second = (Fraction(float(part)) for part in floats.nearest_pair(value))
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
        for (high, low), s, t in zip(points, *(part.tolist() for part in floats.log((x[0], x[1]))), strict=True):
            error = abs(mpmath.mpf(s) + t - mpmath.log(mpmath.mpf(high) + low))
            assert error <= min(mpmath.mpf(2) ** -72, mpmath.mpf(s) ** 2 * 2.0**-46 + mpmath.mpf(2) ** -100)
            assert abs(t) <= 2.0**-24
