"""Argument checks: each accepts its own values unchanged, and says what it requires of all others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest

from opendp_topk.errors import ParameterError, ParameterTypeError, checks

from ..concepts.liars import BELOW, BEYOND, Float, Integer, Rational
from ..concepts.sentinels import raises_exactly

NOT_NUMBERS: tuple[Any, ...] = (True, np.True_, "3", None, 1j, [1], np.array([1.0, 2.0]), object())


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), gmpy2.mpz(3)])
def test_count_accepts_integers_of_all_kinds(value: Any) -> None:
    assert checks.require_positive_int("k", value, at_most=3) == 3
    assert type(checks.require_positive_int("k", value)) is int


@pytest.mark.parametrize(
    ("value", "error", "fragment"),
    [
        (0, ParameterError, "k must be an integer >= 1"),
        (-1, ParameterError, "k must be an integer >= 1"),
        (4, ParameterError, "at most the size (3)"),
        (1.0, ParameterTypeError, "not float"),
        (1.5, ParameterTypeError, "not float"),
        (np.float64(2), ParameterTypeError, "not float64"),
        *((value, ParameterTypeError, "k must be an integer >= 1") for value in NOT_NUMBERS),
    ],
)
def test_count_names_what_it_requires(value: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, lambda: checks.require_positive_int("k", value, at_most=3, limit="the size"), fragment)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (0, 0),
        (2**70, 2**70),
        (5e-324, 5e-324),
        (np.float64(0.5), 0.5),
        (np.int16(7), 7),
        (Fraction(1, 3), Fraction(1, 3)),
        (gmpy2.mpz(5), 5),
    ],
)
def test_scale_and_distance_return_plain_numbers_of_the_same_value(value: Any, plain: Any) -> None:
    for found in (checks.require_scale(value), checks.require_distance(value, "d_in")):
        assert found == plain
        assert type(found) is type(plain)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (-1, ParameterError),
        (-5e-324, ParameterError),
        (Fraction(-1, 3), ParameterError),
        (math.nan, ParameterError),
        (math.inf, ParameterError),
        *((value, ParameterTypeError) for value in (*NOT_NUMBERS, np.float32(1))),
    ],
)
def test_scale_names_what_it_requires(value: Any, error: type[Exception]) -> None:
    raises_exactly(error, lambda: checks.require_scale(value), "scale must be")


@pytest.mark.parametrize("value", [-1, -5e-324, Fraction(-1, 3), math.nan, -math.inf, *NOT_NUMBERS])
def test_distance_names_what_it_requires(value: Any) -> None:
    raises_exactly(ParameterError, lambda: checks.require_distance(value, "d_in"), "d_in must be")


def test_infinity_is_a_distance_but_no_scale() -> None:
    assert checks.require_distance(math.inf, "d_in") == math.inf
    raises_exactly(ParameterError, lambda: checks.require_scale(math.inf), "scale must be finite")


@pytest.mark.parametrize("value", [0.5, Fraction(1, 10**400), 1 - 2.0**-53])
def test_probability_accepts_the_open_interval(value: Any) -> None:
    assert checks.require_probability(value, "alpha") == value


@pytest.mark.parametrize(
    ("value", "error"),
    [
        *((value, ParameterError) for value in (0, 1, 0.0, 1.0, -0.5, 2, math.nan, math.inf)),
        *((value, ParameterTypeError) for value in NOT_NUMBERS),
    ],
)
def test_probability_names_what_it_requires(value: Any, error: type[Exception]) -> None:
    raises_exactly(error, lambda: checks.require_probability(value, "alpha"), "alpha must")


@pytest.mark.parametrize("value", [0, 1, 0.25, Fraction(1, 3), np.float64(0.5), np.int64(1)])
def test_share_accepts_the_closed_interval(value: Any) -> None:
    found = checks.require_unit_interval(value, "gamma")
    assert found == value
    assert type(found) in (int, float, Fraction)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (-5e-324, ParameterError),
        (Fraction(4, 3), ParameterError),
        (math.nan, ParameterError),
        (True, ParameterTypeError),
        ("1", ParameterTypeError),
    ],
)
def test_share_names_what_it_requires(value: Any, error: type[Exception]) -> None:
    raises_exactly(error, lambda: checks.require_unit_interval(value, "gamma"), "gamma must")


def test_choice_flag_instance_and_function() -> None:
    assert checks.require_choice("optimize", "min", ("max", "min")) == "min"
    assert checks.require_boolean("monotonic", True) is True
    assert checks.require_instance("x", 3, int, "an int") == 3
    assert checks.require_callable("f", len) is len


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (
            lambda: checks.require_choice("optimize", "best", ("max", "min")),
            ParameterError,
            "optimize must be one of 'max'",
        ),
        (lambda: checks.require_choice("optimize", 1, ("max", "min")), ParameterTypeError, "not int"),
        (lambda: checks.require_boolean("monotonic", 1), ParameterTypeError, "monotonic must be True or False"),
        (lambda: checks.require_boolean("monotonic", None), ParameterTypeError, "not NoneType"),
        (lambda: checks.require_instance("x", 3.0, int, "an int"), ParameterTypeError, "x must be an int, not float"),
        (
            lambda: checks.require_instance("x", int, int, "an int"),
            ParameterTypeError,
            "x must be an int, not the class int",
        ),
        (lambda: checks.require_callable("f", 3), ParameterTypeError, "f must be callable, not int"),
    ],
)
def test_the_other_checks_name_what_they_require(call: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, call, fragment)


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
def test_a_number_that_defeats_comparisons_is_held_to_what_it_is(value: Any) -> None:
    with pytest.raises(ParameterError):
        checks.require_scale(value)
    with pytest.raises(ParameterError):
        checks.require_probability(value, "beta")
    with pytest.raises(ParameterError):
        checks.require_unit_interval(value, "delta")
    with pytest.raises(ParameterError):
        checks.require_positive_int("k", value)
    if float(value) != math.inf:
        raises_exactly(ParameterError, lambda: checks.require_distance(value, "d_in"), "d_in must be")


@pytest.mark.parametrize("value", [Float(0.5), Rational(1, 2), Integer(1)], ids=repr)
def test_what_passes_compares_as_numbers_do(value: Any) -> None:
    for found in (
        checks.require_scale(value),
        checks.require_distance(value, "d_in"),
        checks.require_unit_interval(value, "delta"),
    ):
        assert type(found) in (int, float, Fraction)
        assert not found > 1
        assert found < 2


@pytest.mark.parametrize("value", [-3, -5e-324, np.float64(-0.5), Fraction(-1, 3), gmpy2.mpz(-(2**70)), 0])
def test_finite_numbers_of_both_signs_pass_as_they_are(value: Any) -> None:
    found = checks.require_finite(value, "threshold")
    assert found == value
    assert type(found) in (int, float, Fraction)


def test_finite_names_what_it_requires() -> None:
    for value in (math.inf, -math.inf, math.nan, np.float64(-math.inf)):
        raises_exactly(
            ParameterError, lambda v=value: checks.require_finite(v, "threshold"), "threshold must be finite"
        )
    for value in (10**5000, -(10**5000), Fraction(1, 10**5000)):
        raises_exactly(ParameterError, lambda v=value: checks.require_finite(v, "threshold"), "a number of at most")
    for value in NOT_NUMBERS:
        raises_exactly(
            ParameterTypeError, lambda v=value: checks.require_finite(v, "threshold"), "threshold must be a number"
        )


def test_the_longest_numbers_have_14000_bits() -> None:
    """What has one more is refused, above and below the line of a fraction."""
    longest = 2**14_000 - 1
    for number in (longest, Fraction(longest, 7), Fraction(3, longest)):
        assert checks.require_scale(number) == checks.require_distance(number, "d_in") == number
    assert checks.require_positive_int("k", longest) == longest
    for number in (longest + 1, Fraction(longest + 1, 7), Fraction(3, longest + 2)):
        raises_exactly(ParameterError, lambda number=number: checks.require_scale(number), "at most 14000 bits")
        raises_exactly(
            ParameterError, lambda number=number: checks.require_distance(number, "d_in"), "at most 14000 bits"
        )
