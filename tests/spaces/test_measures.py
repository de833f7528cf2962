"""Measures: their distances are rounded up to float64 and compared without rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import ParameterError, ParameterTypeError
from opendp_topk.spaces.measures import (
    Approximate,
    MaxDivergence,
    RangeDivergence,
    ZeroConcentratedDivergence,
    bounds_range,
)

from ..concepts.sentinels import raises_exactly
from ..concepts.values import check_plain_value, check_value

SCALAR = [MaxDivergence, RangeDivergence, ZeroConcentratedDivergence]
MAKERS = [*SCALAR, lambda: Approximate(MaxDivergence()), lambda: Approximate(ZeroConcentratedDivergence())]
KINDS = {kind.__name__: kind for kind in (*SCALAR, Approximate)}
THIRD = Fraction(1, 3)


@pytest.mark.parametrize("index", range(len(MAKERS)))
def test_measures_are_values(index: int) -> None:
    check_value(MAKERS[index], [make() for place, make in enumerate(MAKERS) if place != index])
    check_plain_value(MAKERS[index], KINDS)


@pytest.mark.parametrize("make", SCALAR)
def test_scalar_distances_are_rounded_up(make: Any) -> None:
    measure = make()
    for value in (0, 1, 0.1, THIRD, Fraction(1, 10**400), 2**53 + 1, 10**400, np.int8(3), math.inf):
        found, exact = measure.distance(value, "d_out"), measure.exact(value, "d_out")
        assert type(found) is float
        assert (type(exact), exact) == (float if value == math.inf else Fraction, value)
        assert found >= value
        assert found == value or Fraction(math.nextafter(found, 0)) < value
    assert measure.infinite == math.inf
    assert measure.symbol


@pytest.mark.parametrize("make", SCALAR)
def test_scalar_distances_are_compared_exactly(make: Any) -> None:
    measure = make()
    assert measure.at_most(THIRD, THIRD)
    assert measure.at_most(0.3, 0.3)
    assert not measure.at_most(0.1, Fraction(1, 10)), "the float 0.1 is above one tenth"
    assert measure.at_most(Fraction(1, 10), 0.1)
    assert not measure.at_most(2**53 + 1, float(2**53))
    assert measure.at_most(5.0, math.inf)
    assert not measure.at_most(math.inf, 1e308)


@pytest.mark.parametrize("bad", [-1, -5e-324, math.nan, "1", True, None, (1, 2), [1], 1j])
@pytest.mark.parametrize("make", SCALAR)
def test_bad_scalar_distances(make: Any, bad: Any) -> None:
    raises_exactly(ParameterError, lambda: make().distance(bad, "d_out"), "d_out must be")
    raises_exactly(ParameterError, lambda: make().at_most(0.5, bad), "d_out must be")


def test_approximate_distances_are_pairs() -> None:
    measure = Approximate(MaxDivergence())
    epsilon, delta = measure.distance((THIRD, THIRD), "d_out")
    assert measure.exact((THIRD, THIRD), "d_out") == (THIRD, THIRD)
    assert epsilon == delta == math.nextafter(1 / 3, 1) > THIRD
    assert (type(epsilon), type(delta)) == (float, float)
    assert measure.distance((1, 0), "d_out") == (1.0, 0.0)
    assert measure.infinite == (math.inf, 1.0)
    assert measure.symbol == "(epsilon, delta)"
    assert measure.at_most((1.0, 1e-6), (1, 1e-6))
    assert not measure.at_most((1.0, 1e-6), (1, 1e-7))
    assert not measure.at_most((1.0, 0.0), (0.5, 1.0))
    assert not measure.at_most((0.1, 0.0), (Fraction(1, 10), 0.0))


@pytest.mark.parametrize(
    ("bad", "fragment"),
    [
        (1.0, "a pair (epsilon, delta)"),
        ([1.0, 0.1], "a pair"),
        ((1.0,), "a pair"),
        ((1.0, 0.1, 0.1), "a pair"),
        ((-1.0, 0.1), "d_out must be >= 0"),
        ((1.0, -0.1), "delta of d_out"),
        ((1.0, 1.5), "delta of d_out must be at most 1"),
        ((1.0, math.nan), "delta of d_out"),
        ((math.nan, 0.1), "NaN"),
        ((1.0, "0.1"), "delta of d_out"),
        ((True, 0.1), "not bool"),
    ],
)
def test_bad_approximate_distances(bad: Any, fragment: str) -> None:
    measure = Approximate(MaxDivergence())
    raises_exactly(ParameterError, lambda: measure.distance(bad, "d_out"), fragment)
    raises_exactly(ParameterError, lambda: measure.at_most((0.0, 0.0), bad), fragment)


@pytest.mark.parametrize("bad", [MaxDivergence, "epsilon", None, 1.0])
def test_approximate_needs_a_measure(bad: Any) -> None:
    raises_exactly(ParameterTypeError, lambda: Approximate(bad), "measure must be a measure such as MaxDivergence()")


def test_measures_that_bound_a_range() -> None:
    ranges = [RangeDivergence(), Approximate(RangeDivergence()), Approximate(Approximate(RangeDivergence()))]
    assert all(map(bounds_range, ranges))
    others = [MaxDivergence(), ZeroConcentratedDivergence(), Approximate(MaxDivergence())]
    assert not any(map(bounds_range, others))
