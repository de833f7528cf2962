"""Batches draw as many releases as calls would, and what is released or raised becomes an outcome."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.blackbox import OutcomeSampler, RaisedOutcome
from opendp_topk.core.rendering import as_outcome
from opendp_topk.core.repeatable import RepeatableFunction
from opendp_topk.errors import CapacityError, DataTypeError, ParameterError, ParameterTypeError
from tests.concepts.examples import COUNTS
from tests.concepts.sentinels import raises_exactly


def draws(function: Any, *, batched: bool = False) -> OutcomeSampler:
    return OutcomeSampler(function, batched=batched)


def test_batches_are_asked_for_in_full() -> None:
    asked = []

    def function(x: int, n: int) -> Any:
        asked.append(n)
        return np.full((n, 2), x)

    assert draws(function, batched=True)(7, 25_000) == [(7, 7)] * 25_000
    assert sum(asked) == 25_000
    raises_exactly(ParameterError, lambda: draws(lambda x, n: [x], batched=True)(7, 3), "requested number of releases")


@pytest.mark.parametrize(
    "released",
    [1, 1.0, True, None, "a", np.int64(3), np.arange(3), np.eye(2), [1, [2.5, np.float64(1)]], ((1, 2), [3]), [], ()],
    ids=repr,
)
def test_an_outcome_is_the_key_of_an_exact_law(released: Any) -> None:
    """To the type of each number, for 1 and 1.0 are one key and two outcomes."""
    ((drawn,), expected) = draws(lambda x: released)(0, 1), as_outcome(released)
    assert repr(drawn) == repr(expected)
    assert type(drawn) is type(expected)


def test_a_release_that_is_no_key_is_refused() -> None:
    raises_exactly(CapacityError, lambda: draws(lambda x: [1, bytearray()])(0, 1), "requires hashable releases")


def test_sets_and_dictionaries_are_outcomes_and_so_is_their_order() -> None:
    ((counts, chosen),) = draws(lambda x: ({"b": np.array([1.5]), "a": 2}, {3, 1}))(0, 1)
    assert counts == (("a", 2), ("b", (1.5,)))
    assert chosen == (1, 3)
    options: dict[str, Any] = {"samples": 400}
    assert tk.audit.estimate(lambda x: {"a": 0, "b": x}, 0, 1, **options).lower > 1
    assert tk.audit.estimate(lambda x: {"a": 0} | ({"b": 0} if x else {}), 0, 1, **options).lower > 1
    in_order = tk.audit.estimate(lambda x: dict.fromkeys("ab"[:: 1 - 2 * x]), 0, 1, **options)
    assert in_order.lower > 1
    assert "one of the types ('dict', (" in in_order.seen[0].event
    assert tk.audit.estimate(lambda x: dict.fromkeys("ab"), 0, 1, **options).lower == 0


def test_a_measurement_that_can_is_asked_for_many_at_once() -> None:
    """It is given a member of its domain, in the form that its function expects, and asked once for all."""
    asked: list[Any] = []

    def once(value: Any) -> Any:
        raise AssertionError("the releases were to be drawn together")

    def many(value: Any, times: int) -> Any:
        asked.append((value.tolist(), times))
        return np.arange(2 * times).reshape(times, 2)

    made = COUNTS >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)
    function = RepeatableFunction(once, 0, many, list)
    assert draws(replace(made, function=function))([4, 5, 6], 3) == [(0, 1), (2, 3), (4, 5)]
    assert asked == [([4, 5, 6], 3)]
    raises_exactly(DataTypeError, lambda: draws(replace(made, function=function))([0.5, 1.0], 3))


def test_what_all_calls_raise_comes_through() -> None:
    drawn = draws(lambda x: 1 // x)
    drawn(0, 1000)
    raises_exactly(ZeroDivisionError, drawn.close)


def test_an_error_on_one_side_alone_is_an_outcome() -> None:
    drawn = draws(lambda x: 1 // x)
    assert drawn(0, 3) == [RaisedOutcome("ZeroDivisionError")] * 3
    assert drawn(1, 2) == [1, 1]
    drawn.close()
    assert tk.audit.estimate(lambda x: 1 // x * 0, 0, 2, samples=1000).lower > 4
    raises_exactly(ZeroDivisionError, lambda: draws(lambda x, n: 1 // x, batched=True)(0, 3))


def test_a_type_a_length_and_the_sign_of_a_zero_are_outcomes() -> None:
    """Equal as keys, and told apart by whoever prints them; the value itself is the same on both sides."""
    pairs: list[tuple[Any, Any]] = [(1, True), (0.0, -0.0), ((1, 2), (True, 2)), ("", ())]
    for one, other in pairs:
        assert tk.audit.estimate(lambda x: x, one, other, samples=1000).lower > 4
        assert tk.audit.estimate(lambda x: x, one, one, samples=1000).lower == 0


@pytest.mark.slow
def test_estimates_by_batches() -> None:
    generator = np.random.default_rng(4)
    law = {0: [0.5, 0.5], 1: [0.9, 0.1]}
    options: dict[str, Any] = {"samples": 20_000, "confidence": 1 - 1e-9}
    by_batch = tk.audit.estimate(lambda x, n: generator.choice(2, size=n, p=law[x]), 0, 1, batched=True, **options)
    assert 1.2 < by_batch.lower < 1.6094379124341003


def test_bad_arguments() -> None:
    raises_exactly(ParameterTypeError, lambda: tk.audit.estimate(len, "a", "b", batched=1), "batched")  # type: ignore[arg-type]
