"""Counts by key: members, distances, and what steps of users move."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from opendp_topk.spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from opendp_topk.spaces.metrics import LInfDistance
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly

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
