"""Nested compositions and long chains: refused before Python cannot follow them."""

from __future__ import annotations

import functools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import opendp_topk as tk

SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
TOP = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)


def same(released: Any) -> Any:
    return released


def nested(one: tk.Measurement) -> tk.Measurement:
    return tk.make_composition([one])


def chained(one: tk.Measurement) -> tk.Measurement:
    return one >> same


def deep(step: Callable[[tk.Measurement], tk.Measurement], times: int) -> tk.Measurement:
    made = TOP
    for _ in range(times):
        made = step(made)
    return made


def of_users(frame: int, ask: Callable[[], Any]) -> Any:
    """``ask`` below so many calls, as in a service or a notebook."""
    return ask() if frame == 0 else of_users(frame - 1, ask)


@pytest.mark.parametrize("step", [nested, chained])
def test_as_deep_as_is_allowed_all_is_answered(step: Callable[[tk.Measurement], tk.Measurement]) -> None:
    made = deep(step, 63)
    uses: tuple[Callable[[], Any], ...] = (
        lambda: made.map(1),
        lambda: made.check(1, 2),
        lambda: made([3, 1]),
        lambda: hash(made),
        lambda: repr(made),
        lambda: pickle.loads(pickle.dumps(made)) == made,
        lambda: made.proof.status,
    )
    for use in uses:
        of_users(100, use)


@pytest.mark.parametrize("step", [nested, chained])
@pytest.mark.parametrize("times", [64, 200, 490])
def test_deeper_is_refused_when_it_is_built(step: Callable[[tk.Measurement], tk.Measurement], times: int) -> None:
    with pytest.raises(tk.CapacityError, match="nested 64 deep at most"):
        deep(step, times)


@pytest.mark.parametrize("function", [operator.itemgetter(0), functools.partial(same), functools.partial(int, base=10)])
def test_functions_that_pickle_themselves_are_pickled(function: Any) -> None:
    again = pickle.loads(pickle.dumps(TOP >> function))
    assert again.map(1) == TOP.map(1)


def test_a_partial_of_a_nameless_function_is_refused_and_says_why() -> None:
    for function in (lambda one: one, functools.partial(lambda one: one)):
        with pytest.raises(
            tk.ParameterTypeError, match=r"by cloudpickle too, holds functions by name only, and .*<lambda>"
        ):
            pickle.dumps(TOP >> function)
