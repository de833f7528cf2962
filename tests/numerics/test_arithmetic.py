"""Directed rounding against exact rationals and 60-digit logarithms."""

import itertools
import math
import random
import struct
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

import opendp_topk as tk
from opendp_topk.numerics import floats as floatexp
from opendp_topk.numerics import floats as floatlog
from opendp_topk.numerics.arithmetic import (
    as_mpq,
    exp_up,
    log1p_down,
    one_minus_exp_down,
    one_minus_exp_up,
    printed_fraction,
    round_down,
    round_up,
    scaled_log_up,
    shortened_up,
    to_fraction,
)
from opendp_topk.sampling.distributions import canonical as subset_classes
from opendp_topk.sampling.samplers import joint

MAX = 1.7976931348623157e308
TINY = 5e-324


def above(value: float) -> float:
    """The next float64, by its bit pattern: no shared code with the module under test."""
    bits = struct.unpack("<q", struct.pack("<d", value))[0]
    if value == 0:
        return TINY
    return float(struct.unpack("<d", struct.pack("<q", bits + 1 if value > 0 else bits - 1))[0])


def random_rationals(seed: int, number: int) -> list[Fraction]:
    """Rationals of all sizes, many next to a float64 or to the middle of two."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        bits = draw.getrandbits(63) % 0x7FEF_FFFF_FFFF_FFFF
        value = Fraction(struct.unpack("<d", struct.pack("<q", bits))[0])
        gap = Fraction(above(float(value))) - value
        nudge = draw.choice([-1, 0, 1]) * Fraction(1, 2 ** draw.randrange(1, 1200)) * gap
        place = draw.choice([0, Fraction(1, 2), 1, Fraction(draw.getrandbits(30), 2**30)])
        found.append(draw.choice([-1, 1]) * (value + place * gap + nudge))
    return found + [Fraction(draw.randrange(-(10**9), 10**9), draw.randrange(1, 10**9)) for _ in range(number)]


ADVERSARIAL = [
    Fraction(0),
    Fraction(1, 10),
    Fraction(TINY),
    Fraction(TINY) / 2,
    Fraction(TINY) * 3 / 2,
    Fraction(1, 10**400),
    Fraction(2) ** -1022 - Fraction(2) ** -1076,
    Fraction(MAX),
    Fraction(MAX) + 1,
    Fraction(2) ** 1024 - Fraction(2) ** 970,
    Fraction(2) ** 1024,
    Fraction(10) ** 400,
    Fraction(2) ** 53 + 1,
    1 + Fraction(1, 2**53),
    1 + Fraction(1, 2**53) - Fraction(1, 2**200),
]


@pytest.mark.parametrize("value", [*ADVERSARIAL, *(-value for value in ADVERSARIAL)])
def test_round_up_is_the_smallest_float_not_below(value: Fraction) -> None:
    assert_rounded_up(value)


@pytest.mark.slow
def test_round_up_on_random_rationals() -> None:
    for value in random_rationals(1, 4000):
        assert_rounded_up(value)


def assert_rounded_up(value: Fraction) -> None:
    up = round_up(value)
    assert type(up) is float
    assert up >= value
    if up == math.inf:
        assert value > Fraction(MAX)
    else:
        below = -above(-up)
        assert below < value, "a smaller float64 would not be below the value either"
    down = round_down(value)
    assert down <= value
    assert down == -round_up(-value)
    assert (up == down) == (math.isfinite(up) and Fraction(up) == value)


def test_round_up_of_integers() -> None:
    assert round_up(2**53 + 1) == 2.0**53 + 2
    assert round_down(2**53 + 1) == 2.0**53
    assert round_up(10**400) == math.inf
    assert round_down(10**400) == MAX
    assert round_up(-(10**400)) == -MAX
    assert round_down(-(10**400)) == -math.inf


def test_exact_is_the_rational_that_a_float_is() -> None:
    assert to_fraction(0.1) == Fraction(3602879701896397, 2**55)
    assert to_fraction(Fraction(1, 3)) == Fraction(1, 3)
    assert to_fraction(2**70) == 2**70


def logarithm(value: Fraction) -> mpmath.mpf:
    """ln(value) to 60 digits, also near 1."""
    with mpmath.workdps(60 + 2 * 400):
        return mpmath.log(mpmath.mpf(value.numerator) / value.denominator)


def assert_just_above(bound: float, true: mpmath.mpf, ulps: int) -> None:
    assert bound >= true
    assert bound < math.inf or true > MAX
    step = max(math.ulp(bound), TINY)
    with mpmath.workdps(900):
        assert mpmath.mpf(bound) - true <= ulps * mpmath.mpf(step)


LOGS = [
    Fraction(2),
    Fraction(10) ** 400,
    1 + Fraction(1, 2**53),
    1 + Fraction(1, 2**60),
    Fraction(271828182845904523536028747135, 10**29),
    Fraction(2**53 + 1, 2**53),
]


@pytest.mark.parametrize("value", LOGS)
def test_logarithms_are_never_below_and_within_two_ulp(value: Fraction) -> None:
    assert_just_above(scaled_log_up(Fraction(1), value), logarithm(value), 2)


@pytest.mark.parametrize("exponent", [61, 100, 127, 128, 129, 200, 1074, 1100])
def test_logarithms_stay_above_when_the_argument_nearly_is_one(exponent: int) -> None:
    value = 1 + Fraction(1, 2**exponent)
    assert logarithm(value) <= scaled_log_up(Fraction(1), value) <= 2.0**-60


def test_the_logarithm_of_one_is_zero() -> None:
    assert scaled_log_up(Fraction(7), 1) == 0.0


def test_scaled_log_up_is_never_below_and_within_two_ulp() -> None:
    draw = random.Random(3)
    for _ in range(400):
        factor = Fraction(draw.randrange(0, 10**12), draw.randrange(1, 10**9)) * Fraction(10) ** draw.randrange(
            -300, 290
        )
        value = 1 + Fraction(draw.randrange(1, 10**30), draw.randrange(1, 10**15))
        with mpmath.workdps(860):
            true = logarithm(value) * factor.numerator / factor.denominator
        assert_just_above(scaled_log_up(factor, value), true, 2)


@pytest.mark.parametrize("number", [0.1, 1.0, 1.5, 3.0, 1e-7, 12345.0])
def test_scaled_log_up_is_above_a_float_that_it_exceeds_by_next_to_nothing(number: float) -> None:
    with mpmath.workprec(900):
        factor = Fraction(int(mpmath.ceil(mpmath.ldexp(mpmath.mpf(number) / mpmath.log(2), 800))), 2**800)
    assert scaled_log_up(factor, 2) == math.nextafter(number, math.inf)


def test_scaled_log_up_overflows_and_underflows_upward() -> None:
    assert scaled_log_up(Fraction(10) ** 400, 2) == math.inf
    assert scaled_log_up(Fraction(1, 10**400), 2) == TINY
    assert scaled_log_up(Fraction(0), 10**9) == 0.0
    with mpmath.workdps(400):
        assert_just_above(scaled_log_up(Fraction(2) ** 1023, 3), mpmath.log(3) * mpmath.mpf(2) ** 1023, 2)


EXPONENTS = [
    Fraction(0),
    Fraction(1, 10**400),
    Fraction(TINY),
    Fraction(1, 3),
    Fraction(1),
    Fraction(1001, 10),
    Fraction(799),
    Fraction(2000),
    Fraction(MAX),
]


@pytest.mark.parametrize("x", EXPONENTS)
def test_exponentials_are_on_their_side_and_close(x: Fraction) -> None:
    with mpmath.workdps(900):
        y = mpmath.mpf(x.numerator) / x.denominator
        small = mpmath.exp(-y) if y < 10**4 else mpmath.mpf(0)
        up = mpmath_of(exp_up(-x))
        assert small <= up <= max(small * (1 + mpmath.mpf(2) ** -110), mpmath.mpf(2) ** -1154)
        most = -mpmath.expm1(-y) if y < 10**4 else mpmath.mpf(1)
        above, below = mpmath_of(one_minus_exp_up(x)), mpmath_of(one_minus_exp_down(x))
        assert most * (1 - mpmath.mpf(2) ** -120) <= below <= most <= above <= most * (1 + mpmath.mpf(2) ** -120)
        assert (below > 0) == (x > 0)
        assert above <= 1
        log = mpmath.log1p(y)
        assert log * (1 - mpmath.mpf(2) ** -120) <= mpmath_of(log1p_down(x)) <= log


def test_exponentials_obey_no_context_of_the_caller() -> None:
    third = Fraction(1, 3)
    expected = [function(third) for function in (one_minus_exp_up, one_minus_exp_down, log1p_down)]
    with gmpy2.context(precision=5, round=gmpy2.RoundToNearest):
        assert [function(third) for function in (one_minus_exp_up, one_minus_exp_down, log1p_down)] == expected


def mpmath_of(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def test_a_float_is_the_decimal_that_it_prints_as() -> None:
    for text in ("0.1", "-0.3", "1e-300", "123456789.01", "5e-324", "1.7976931348623157e+308", "0.0"):
        assert printed_fraction(float(text)) == Fraction(text)
        assert printed_fraction(np.float64(text)) == Fraction(text)
        assert float(printed_fraction(float(text))) == float(text)
    assert printed_fraction(7) == 7
    assert printed_fraction(Fraction(1, 3)) == Fraction(1, 3)


# Long rationals are shortened upward, and no rounding shows it.


LONG = Fraction(3**200, 7**180)
DUST = Fraction(1, 3**700)


def least_float_above(value: Fraction) -> float:
    """By steps from the float of its quotient."""
    found = float(value) if value < 2**1024 else math.inf
    while found > 0 and Fraction(math.nextafter(found, 0)) >= value:
        found = math.nextafter(found, 0)
    while found < math.inf and Fraction(found) < value:
        found = math.nextafter(found, math.inf)
    return found


def values() -> list[Fraction]:
    near = [0.1, 1.0, 2.0**-1022, 5e-324, 3 * 5e-324, 2.0**60, 1.7976931348623157e308]
    beside = [Fraction(one) + sign * DUST * Fraction(one) for one in near for sign in (-1, 0, 1)]
    return [Fraction(0), Fraction(1, 10), Fraction(1, 3), LONG, 1 / LONG, LONG / 2**1060, 10**400 + LONG, *beside]


def test_a_shortened_number_is_above_by_less_than_shows() -> None:
    for value in values():
        kept = shortened_up(value)
        assert value <= kept <= value + value / 2**127
        assert kept == value or value.denominator.bit_length() > 256
        assert kept.numerator.bit_length() <= 140 or kept == value or kept > 2**128
        assert shortened_up(kept) == kept
        assert round_up(kept) == round_up(value) == least_float_above(value) if value < 2**1024 else True


def test_few_are_left_as_they_are() -> None:
    assert sum(shortened_up(value) != value for value in values()) > 10
    assert shortened_up(Fraction(1, 2**255 + 1)) == Fraction(1, 2**255 + 1)
    assert shortened_up(Fraction(1, 2**256 + 1)) > Fraction(1, 2**256 + 1)
    assert all(shortened_up(Fraction(n, 10**k)) == Fraction(n, 10**k) for n, k in itertools.product((1, 7), (1, 70)))


# The constants around ln 2, digit by digit: an error that no tolerance would notice is still an error.


def test_the_two_parts_of_ln_2() -> None:
    """The first has at most 32 digits, so that its products with small integers are exact; the second is the rest."""
    with mpmath.workprec(200):
        rest = mpmath.log(2) - mpmath.mpf(floatexp._LN2_HIGH)
        assert math.floor(mpmath.log(2) * 2**32) == floatexp._LN2_HIGH * 2.0**32
        assert float(rest) == floatexp._LN2_LOW


def test_ln_2_and_its_inverse_are_the_nearest_floats() -> None:
    with mpmath.workprec(200):
        assert float(mpmath.log(2)) == floatlog._LN2
        assert floatexp._PER_LN2 == subset_classes._PER_LN2 == float(1 / mpmath.log(2))


def test_the_levels_of_losses_are_the_least_floats_above_multiples_of_ln_2() -> None:
    with mpmath.workprec(200):
        unit = float(joint._LN2)
        assert mpmath.mpf(math.nextafter(unit, 0)) < mpmath.log(2) < mpmath.mpf(unit)
        for bits in (1, 2, 3, 100, 10**6):
            level = joint._loss_from_bits(bits)
            assert level == bits * joint._LN2
            assert mpmath.mpf(level.numerator) / level.denominator > bits * mpmath.log(2)


# The operations of interval arithmetic, against exact rationals and mpmath.


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
    at, rng = tk.noise.Intervals(precision), random.Random(precision)
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


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 3), Fraction(-22, 7), Fraction(2**60 + 1)])
def test_rationals_are_rounded_outward(value: Fraction) -> None:
    for precision in PRECISIONS:
        assert_rounded(tk.noise.Intervals(precision).rational(as_mpq(value)), [value], precision)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_exponentials_enclose_the_true_ones(precision: int) -> None:
    at, rng = tk.noise.Intervals(precision), random.Random(precision)
    with mpmath.workprec(precision + 200):
        for x in intervals(rng):
            small = at.divide(x, at.rational(2**20))
            lower, upper = (mpmath.mpf(fraction(end).numerator) / fraction(end).denominator for end in at.exp(small))
            ends = [mpmath.exp(mpmath.mpf(fraction(end).numerator) / fraction(end).denominator) for end in small]
            assert ends[0] * (1 - mpmath.mpf(2) ** (1 - precision)) <= lower <= ends[0]
            assert ends[1] <= upper <= ends[1] * (1 + mpmath.mpf(2) ** (1 - precision))


def test_the_callers_context_does_not_matter() -> None:
    at, x, y = tk.noise.Intervals(100), (mpfr(1), mpfr(2)), (mpfr(3), mpfr(7))
    expected = at.multiply(x, y), at.divide(x, y), at.exp(x)
    with gmpy2.context(precision=5, round=gmpy2.RoundAwayZero):
        assert (at.multiply(x, y), at.divide(x, y), at.exp(x)) == expected
