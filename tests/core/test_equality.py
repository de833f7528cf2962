"""Measurements compare by value: by the constructor and the arguments that made them, and by nothing else."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

from ..concepts.examples import COUNTS

PURE = tk.MaxDivergence()
ROWS = tk.FrameDomain("user", "item"), tk.UserDistance()


def top(k: int = 2, scale: float = 4.0, **options: Any) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(PURE, k=k, scale=scale, **options)


def counted(candidates: Any) -> tk.Transformation:
    return ROWS >> tk.then_count_by_item(candidates=candidates)


ALIKE: dict[str, Callable[[], Any]] = {
    "measurement": top,
    "named": lambda: top() >> tk.index_candidates(["ash", "birch"]),
    "transformation": lambda: counted(["ash", "birch"]),
    "chain": lambda: counted(["ash", "birch"]) >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0),
    "composition": lambda: tk.make_composition([top(), top(k=1)]),
    "odometer": lambda: COUNTS >> tk.then_fully_adaptive_composition(PURE),
    "conversion": lambda: tk.make_pureDP_to_zCDP(top()),
    "repetition": lambda: tk.make_repeat(top(), times=3),
    "padded": lambda: tk.make_padded(top(), seconds=0.5),
    "post-processing": lambda: top() >> sorted,
    "noise of an argument": lambda: COUNTS >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0, noise=tk.Laplace()),
}
OTHERS = [
    top(k=1),
    top(scale=5.0),
    top(release="set"),
    top() >> tk.index_candidates(["birch", "ash"]),
    counted(["birch", "ash"]),
    tk.make_composition([top(k=1), top()]),
    top() >> list,
    COUNTS >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0, noise=tk.Gumbel()),
    "a text",
]


@pytest.mark.parametrize("name", ALIKE)
def test_equal_arguments_make_equal_values(name: str) -> None:
    first, second = ALIKE[name](), ALIKE[name]()
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)
    assert copy.deepcopy(first) == first
    for other in OTHERS:
        assert first != other
        assert other != first


def test_a_pickle_is_equal_to_what_was_pickled() -> None:
    assert pickle.loads(pickle.dumps(top())) == top()


def test_defaults_lists_and_arrays_are_what_they_hold() -> None:
    assert top() == top(release="ranking", optimize="max")
    assert top(scale=4) == top()
    assert counted(["ash", "birch"]) == counted(("ash", "birch"))
    assert counted(np.array([1, 2])) == counted(np.array([1, 2])) != counted(np.array([2, 1]))


def test_what_no_constructor_made_is_equal_to_itself_alone() -> None:
    changed = dataclasses.replace(top(), interactive=False)
    assert changed == changed
    assert changed != top()
    assert top() != changed
    assert changed != dataclasses.replace(top(), interactive=False)
    assert len({changed, top(), top()}) == 2


def test_functions_of_a_caller_are_equal_to_themselves_alone() -> None:
    def user(privacy_map: Callable[[Any], Any]) -> tk.Measurement:
        return tk.make_user_measurement(*COUNTS, PURE, function=len, privacy_map=privacy_map)

    assert user(float) == user(float)
    assert user(lambda d_in: d_in) != user(lambda d_in: d_in)
