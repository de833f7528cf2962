"""Metrics: which domains they fit, which distances they accept, and the range distance by brute force.

Tries proofs/spaces/keyed_counts.tex.
"""

import itertools
import math
from collections import OrderedDict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, ParameterError, ParameterTypeError, SpaceError
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, VectorDomain
from opendp_topk.spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from opendp_topk.spaces.metrics import L01InfDistance, L1Distance, L2Distance, LInfDistance, RangeDistance, UserDistance
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT

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
    assert metric.fits(FrameDomain("user", "item", group="group")) is isinstance(metric, UserDistance)
    metric.require(fitting)
    assert not metric.fits(other)
    assert not metric.fits(AtomDomain(int))
    raises_exactly(SpaceError, lambda: metric.require(other), repr(metric), repr(other))


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


# Counts by key: members, distances, and what steps of users move.


DOMAIN = KeyedCountsDomain()


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"": 5, "é": 2**63 - 1}, {-5: 1, 2**70: 3}, OrderedDict(a=2)])
def test_members(value: Any) -> None:
    found = DOMAIN.validate(value)
    assert type(found) is dict
    assert found == dict(value)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ([("a", 1)], DataTypeError, "mapping"),
        (None, DataTypeError, "mapping"),
        ({SENTINEL_TEXT: 1, 3: 1}, DataTypeError, "all strings or all"),
        ({True: 1}, DataTypeError, "all strings or all"),
        ({("a",): 1}, DataTypeError, "all strings or all"),
        ({1.5: 1}, DataTypeError, "all strings or all"),
        ({"a": 1.0}, DataTypeError, "Python integers"),
        ({"a": True}, DataTypeError, "Python integers"),
        ({"a": np.int64(SENTINEL_INT)}, DataTypeError, "Python integers"),
        ({"a": 0}, DataError, "between 1 and"),
        ({"a": 2, "b": -SENTINEL_INT}, DataError, "between 1 and"),
        ({"a": 2**63}, DataError, "between 1 and"),
    ],
)
def test_others_are_refused_without_a_word_of_them(value: Any, error: type[Exception], words: str) -> None:
    raises_exactly(error, lambda: DOMAIN.validate(value), words)


def test_the_metric_fits_counts_by_key_alone() -> None:
    assert KeyedCountDistance().fits(DOMAIN)
    assert not LInfDistance().fits(DOMAIN)
    for max_items, error in ((0, ParameterError), (1.5, ParameterTypeError)):
        raises_exactly(error, lambda value=max_items: KeyedCountDistance(value), "max_items")
    raises_exactly(ParameterTypeError, lambda: KeyedCountDistance(monotonic=1), "monotonic")  # type: ignore[arg-type]
    for distance in (0.5, -1, float("inf"), "1"):
        raises_exactly(ParameterError, lambda value=distance: KeyedCountDistance().distance(value, "d_in"), "d_in")


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize(("most", "each"), [(1, 1), (2, 1), (1, 2)])
def test_what_steps_move_is_attained_and_not_exceeded(most: int, each: int, monotonic: bool) -> None:
    metric = KeyedCountDistance(most, monotonic, each)
    steps = [step for step in itertools.product(range(each + 1), repeat=3) if 3 - step.count(0) <= most]
    for d in (0, 1, 2):
        splits = [(p, q) for p in range(d + 1) for q in range(d + 1) if not monotonic or p + q <= d]
        spread = changed = risen = 0
        for p, q in splits:
            for chosen in itertools.product(steps, repeat=p + q):
                moves = [sum(s[i] for s in chosen[:p]) - sum(s[i] for s in chosen[p:]) for i in range(3)]
                spread = max(spread, max(moves) - min(moves))
                risen = max(risen, *map(abs, moves))
                changed = max(changed, sum(m > 0 for m in moves), sum(m < 0 for m in moves))
        assert spread == metric.range_distance(d)
        assert risen == metric.rise(d)
        assert changed == metric.moved_one_way(d, 3)


def test_without_a_limit_of_items_all_may_move() -> None:
    assert KeyedCountDistance().moved_one_way(1, 7) == 7
    assert KeyedCountDistance().moved_one_way(0, 7) == 0
    assert KeyedCountDistance(3).moved_one_way(2, 7) == 6
    assert KeyedCountDistance(3).moved_one_way(3, 7) == 7


# Vectors of which few entries change: the distance and what it bounds, over all small vectors and steps of users.


Moves = tuple[int, ...]
BOX = list(itertools.product(range(-3, 4), repeat=3))
HALVES = [Fraction(step, 2) for step in range(9)]


def distance(moves: Moves, changes: int, monotonic: bool) -> int:
    """The distance of its definition, with no code of the library."""
    up, down = max(0, *moves), max(0, *(-move for move in moves))
    return max(up + down if monotonic else max(up, down), -(-sum(map(abs, moves)) // changes))


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("changes", [1, 2, 5])
def test_the_bounds_on_moves_are_met_and_never_exceeded(changes: int, monotonic: bool) -> None:
    metric = tk.L01InfDistance(changes=changes, monotonic=monotonic)
    for d_in in HALVES:
        near = [moves for moves in BOX if distance(moves, changes, monotonic) <= d_in]
        each, together = metric.moves(d_in)
        assert max(max(map(abs, moves)) for moves in near) == min(each, 3)
        assert max(sum(map(abs, moves)) for moves in near) == min(together, 3 * min(each, 3))
        assert max(max(moves) - min(moves) for moves in near) <= metric.range_distance(d_in)


def test_it_is_a_metric_with_whole_distances() -> None:
    small = list(itertools.product(range(-2, 3), repeat=2))
    for changes, monotonic in itertools.product((1, 2, 3), (True, False)):
        lengths = {moves: distance(moves, changes, monotonic) for moves in itertools.product(range(-4, 5), repeat=2)}
        for one, other in itertools.product(small, repeat=2):
            both = tuple(a + b for a, b in zip(one, other, strict=True))
            assert lengths[both] <= lengths[one] + lengths[other]


def test_users_of_few_items_are_as_near_as_they_are_many() -> None:
    """d users, each with any set of at most m of three items, come and go in all ways."""
    for most in (1, 2, 3):
        baskets = [b for b in itertools.product((0, 1), repeat=3) if sum(b) <= most]
        for come, go in ((1, 0), (0, 2), (1, 1), (2, 1)):
            for chosen in itertools.product(baskets, repeat=come + go):
                signs = [1] * come + [-1] * go
                moves = tuple(sum(s * b[i] for s, b in zip(signs, chosen, strict=True)) for i in range(3))
                assert distance(moves, most, True) <= come + go
                assert distance(moves, most, False) <= come + go
                assert distance(moves, 2 * most, False) <= max(come, go)


def test_it_is_for_integers_alone() -> None:
    metric = tk.L01InfDistance(changes=2)
    assert metric.fits(tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 9)), size=4))
    assert not metric.fits(tk.VectorDomain(tk.AtomDomain(float)))
    floats = tk.VectorDomain(tk.AtomDomain(float), size=2)
    raises_exactly(SpaceError, lambda: tk.make_laplace(floats, metric, tk.MaxDivergence(), scale=1), "does not measure")


def test_what_holds_for_the_largest_change_holds_here() -> None:
    """Selections cost what they cost under LInfDistance, counts of winners too."""
    domain = tk.VectorDomain(tk.AtomDomain(int), size=7)
    for monotonic in (True, False):
        few, all_of_them = tk.L01InfDistance(changes=2, monotonic=monotonic), tk.LInfDistance(monotonic=monotonic)
        for then in (
            tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=2),
            tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=2, scale=2),
            tk.then_above_threshold(tk.MaxDivergence(), threshold=4, scale=3, ask=(0, 1)),
        ):
            one, other = (domain, few) >> then, (domain, all_of_them) >> then
            assert [one.map(d) for d in HALVES] == [other.map(d) for d in HALVES]
            assert math.isfinite(one.map(4))
