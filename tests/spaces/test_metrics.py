"""Metrics: which domains they fit, which distances they accept, and the range distance by brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import ParameterError, ParameterTypeError, SpaceError
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, GroupedFrameDomain, VectorDomain
from opendp_topk.spaces.metrics import (
    L01InfDistance,
    L1Distance,
    L2Distance,
    LInfDistance,
    RangeDistance,
    UserDistance,
)

from ..concepts.sentinels import raises_exactly
from ..concepts.values import check_plain_value, check_value

KINDS = {
    kind.__name__: kind for kind in (L01InfDistance, L1Distance, L2Distance, LInfDistance, RangeDistance, UserDistance)
}
VECTOR, FRAME = VectorDomain(AtomDomain(int)), FrameDomain("user", "item")
MAKERS = [
    LInfDistance,
    lambda: LInfDistance(monotonic=True),
    RangeDistance,
    L1Distance,
    L2Distance,
    lambda: L01InfDistance(changes=2),
    lambda: L01InfDistance(changes=2, monotonic=True),
    lambda: L01InfDistance(changes=3),
    UserDistance,
    lambda: UserDistance("replace"),
]


@pytest.mark.parametrize("index", range(len(MAKERS)))
def test_metrics_are_values(index: int) -> None:
    others = [make() for place, make in enumerate(MAKERS) if place != index]
    check_value(MAKERS[index], others)
    check_plain_value(MAKERS[index], KINDS)


@pytest.mark.parametrize("make", MAKERS)
def test_each_metric_fits_its_own_domains(make: Any) -> None:
    metric = make()
    fitting, other = (FRAME, VECTOR) if isinstance(metric, UserDistance) else (VECTOR, FRAME)
    assert metric.fits(fitting)
    assert metric.fits(GroupedFrameDomain("user", "item", "group")) is isinstance(metric, UserDistance)
    metric.require(fitting)
    assert not metric.fits(other)
    assert not metric.fits(AtomDomain(int))
    raises_exactly(SpaceError, lambda: metric.require(other), repr(metric), repr(other))


@pytest.mark.parametrize(
    ("make", "error", "fragment"),
    [
        (lambda: LInfDistance(monotonic=1), ParameterTypeError, "monotonic must be True or False"),
        (lambda: LInfDistance(monotonic="yes"), ParameterTypeError, "monotonic must be True or False"),
        (lambda: L01InfDistance(changes=0), ParameterError, "changes must be an integer >= 1"),
        (lambda: L01InfDistance(changes=1.5), ParameterTypeError, "changes must be an integer >= 1"),
        (lambda: L01InfDistance(changes=1, monotonic=2), ParameterTypeError, "monotonic must be True or False"),
        (lambda: UserDistance("bounded"), ParameterError, "'add_remove', 'replace'"),
        (lambda: UserDistance(True), ParameterTypeError, "neighbors must be one of"),
    ],
)
def test_bad_metrics(make: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, make, fragment)


@pytest.mark.parametrize("bad", [-1, -0.5, math.nan, "1", True, None, 1j, [1]])
@pytest.mark.parametrize("make", MAKERS)
def test_bad_distances(make: Any, bad: Any) -> None:
    raises_exactly(ParameterError, lambda: make().distance(bad, "d_in"), "d_in")
    if hasattr(make(), "range_distance"):
        raises_exactly(ParameterError, lambda: make().range_distance(bad), "d_in")


def test_users_are_counted_in_integers() -> None:
    assert UserDistance().distance(np.int64(3), "d_in") == 3
    assert type(UserDistance().distance(np.int64(3), "d_in")) is int
    for bad in (1.0, 0.5, Fraction(2), math.inf):
        raises_exactly(ParameterError, lambda bad=bad: UserDistance().distance(bad, "d_in"), "counts users")


@pytest.mark.parametrize("d_in", [0, 1, 0.1, 2**53 + 1, Fraction(1, 3), math.inf])
def test_range_distance_is_exact(d_in: Any) -> None:
    assert LInfDistance(monotonic=True).range_distance(d_in) == d_in
    assert RangeDistance().range_distance(d_in) == d_in
    doubled = LInfDistance().range_distance(d_in)
    assert doubled == (Fraction(d_in) * 2 if d_in != math.inf else math.inf)


def brute_force_range(change: tuple[int, ...]) -> int:
    return max(abs(a - b) for a, b in itertools.product(change, repeat=2))


def test_range_distance_bounds_every_small_change_and_is_attained() -> None:
    reached = {True: 0, False: 0}
    for change in itertools.product(range(-2, 3), repeat=3):
        plain = max(map(abs, change))
        path = max(0, *change) + max(0, *(-step for step in change))
        for metric, d_in in ((LInfDistance(), plain), (LInfDistance(monotonic=True), path)):
            assert brute_force_range(change) <= metric.range_distance(d_in)
            reached[metric.monotonic] += brute_force_range(change) == metric.range_distance(d_in) > 0
    assert all(reached.values())


def test_adding_one_user_and_removing_another_is_at_distance_two() -> None:
    assert brute_force_range((1, 0, -1)) == 2
    assert LInfDistance(monotonic=True).range_distance(2) == 2


def test_a_range_distance_that_no_float_holds_is_not_rounded_down() -> None:
    huge = 1.5e308
    assert LInfDistance().range_distance(huge) >= Fraction(huge) * 2
