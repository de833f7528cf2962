"""Argument checks: each accepts its own values unchanged, and says what it requires of all others."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

import gmpy2
import numpy as np
import pytest

from opendp_topk.errors import ParameterError, ParameterTypeError, checks

from ..concepts.liars import BELOW, BEYOND, Float, Integer, Rational
from ..concepts.sentinels import raises_exactly

NOT_NUMBERS: tuple[Any, ...] = (True, np.True_, "3", None, 1j, [1], np.array([1.0, 2.0]), object())
LONG = (10**5000, -(10**5000), Fraction(1, 10**5000))
CHECKS: dict[str, Callable[[Any], Any]] = {
    "count": lambda value: checks.require_positive_int("k", value, at_most=3, limit="the size"),
    "scale": checks.require_scale,
    "distance": lambda value: checks.require_distance(value, "d_in"),
    "probability": lambda value: checks.require_probability(value, "alpha"),
    "share": lambda value: checks.require_unit_interval(value, "gamma"),
    "finite": lambda value: checks.require_finite(value, "threshold"),
    "choice": lambda value: checks.require_choice("optimize", value, ("max", "min")),
    "flag": lambda value: checks.require_boolean("monotonic", value),
    "instance": lambda value: checks.require_instance("x", value, int, "an int"),
    "function": lambda value: checks.require_callable("f", value),
}
WRONG, TYPE = ParameterError, ParameterTypeError
# By the check the values that it refuses, the class of the error, and some of its words.
REFUSED: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("count", (0, -1), WRONG, "k must be an integer >= 1"),
    ("count", (4,), WRONG, "at most the size (3)"),
    ("count", (1.0, 1.5), TYPE, "not float"),
    ("count", (np.float64(2),), TYPE, "not float64"),
    ("count", NOT_NUMBERS, TYPE, "k must be an integer >= 1"),
    ("scale", (-1, -5e-324, Fraction(-1, 3), math.nan), WRONG, "scale must be"),
    ("scale", (math.inf,), WRONG, "scale must be finite"),
    ("scale", (*NOT_NUMBERS, np.float32(1)), TYPE, "scale must be"),
    ("distance", (-1, -5e-324, Fraction(-1, 3), math.nan, -math.inf, *NOT_NUMBERS), WRONG, "d_in must be"),
    ("probability", (0, 1, 0.0, 1.0, -0.5, 2, math.nan, math.inf), WRONG, "alpha must"),
    ("probability", NOT_NUMBERS, TYPE, "alpha must"),
    ("share", (-5e-324, Fraction(4, 3), math.nan), WRONG, "gamma must"),
    ("share", (True, "1"), TYPE, "gamma must"),
    ("finite", (math.inf, -math.inf, math.nan, np.float64(-math.inf)), WRONG, "threshold must be finite"),
    ("finite", LONG, WRONG, "a number of at most"),
    ("finite", NOT_NUMBERS, TYPE, "threshold must be a number"),
    ("choice", ("best",), WRONG, "optimize must be one of 'max'"),
    ("choice", (1,), TYPE, "not int"),
    ("flag", (1,), TYPE, "monotonic must be True or False"),
    ("flag", (None,), TYPE, "not NoneType"),
    ("instance", (3.0,), TYPE, "x must be an int, not float"),
    ("instance", (int,), TYPE, "x must be an int, not the class int"),
    ("function", (3,), TYPE, "f must be callable, not int"),
]
NUMBERS = (0, 2**70, 5e-324, np.float64(0.5), np.int16(7), Fraction(1, 3), gmpy2.mpz(5))
ACCEPTED: dict[str, tuple[Any, ...]] = {
    "count": (3, np.int8(3), np.uint64(3), gmpy2.mpz(3)),
    "scale": NUMBERS,
    "distance": (*NUMBERS, math.inf),
    "probability": (0.5, Fraction(1, 10**400), 1 - 2.0**-53),
    "share": (0, 1, 0.25, Fraction(1, 3), np.float64(0.5), np.int64(1)),
    "finite": (-3, -5e-324, np.float64(-0.5), Fraction(-1, 3), gmpy2.mpz(-(2**70)), 0),
    "choice": ("max", "min"),
    "flag": (True, False),
    "instance": (3,),
    "function": (len,),
}


@pytest.mark.quick
@pytest.mark.parametrize(("check", "values", "error", "words"), REFUSED)
def test_a_check_says_what_it_requires(check: str, values: tuple[Any, ...], error: type[Exception], words: str) -> None:
    for value in values:
        raises_exactly(error, partial(CHECKS[check], value), words)


@pytest.mark.quick
@pytest.mark.parametrize("check", ACCEPTED)
def test_what_fits_is_returned_as_it_is_in_a_plain_type(check: str) -> None:
    for value in ACCEPTED[check]:
        found = CHECKS[check](value)
        assert found == value
        assert type(found) in (int, float, Fraction, str, bool, type(len))
        assert type(found) is type(value) or isinstance(value, np.generic | type(gmpy2.mpz()))
    assert type(CHECKS["count"](np.int8(3))) is type(checks.require_scale(np.int16(7))) is int
    assert type(checks.require_scale(np.float64(0.5))) is float


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
def test_a_number_that_defeats_comparisons_is_held_to_what_it_is(value: Any) -> None:
    for check in ("count", "scale", "probability", "share"):
        with pytest.raises(ParameterError):
            CHECKS[check](value)
    if float(value) != math.inf:
        raises_exactly(ParameterError, lambda: CHECKS["distance"](value), "d_in must be")


@pytest.mark.parametrize("value", [Float(0.5), Rational(1, 2), Integer(1)], ids=repr)
def test_what_passes_compares_as_numbers_do(value: Any) -> None:
    for check in ("scale", "distance", "share"):
        found = CHECKS[check](value)
        assert type(found) in (int, float, Fraction)
        assert not found > 1
        assert found < 2


def test_the_longest_numbers_have_14000_bits() -> None:
    """What has one more is refused, above and below the line of a fraction."""
    longest = 2**14_000 - 1
    for number in (longest, Fraction(longest, 7), Fraction(3, longest)):
        assert checks.require_scale(number) == checks.require_distance(number, "d_in") == number
    assert checks.require_positive_int("k", longest) == longest
    for number in (longest + 1, Fraction(longest + 1, 7), Fraction(3, longest + 2)):
        for check in ("scale", "distance"):
            raises_exactly(ParameterError, partial(CHECKS[check], number), "at most 14000 bits")


def test_parameters_are_a_dictionary_of_their_own() -> None:
    given = {"a": 1}
    found = checks.parameters_dictionary(MappingProxyType(given))
    given["b"] = 2
    assert (type(found), found) == (dict, {"a": 1})
    raises_exactly(ParameterTypeError, lambda: checks.parameters_dictionary([("a", 1)]), "parameters must be a mapping")


def test_a_function_without_a_name_is_found_in_a_mapping() -> None:
    checks.require_names({"law": [math.log, partial(math.log, 2)]})
    for nameless in (lambda: 0, partial(lambda base: base, 2), partial(math.log, base=lambda: 0)):
        raises_exactly(
            ParameterTypeError, lambda one=nameless: checks.require_names({"law": [one]}), "functions by name"
        )
