"""JSON of a measurement names what this library builds, and nothing else."""

import dataclasses
import json
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.core.serialization import FORMAT

from ..concepts.examples import COUNTS
from ..concepts.sentinels import raises_exactly

PURE = tk.MaxDivergence()
ROWS = tk.FrameDomain("user", "shop"), tk.UserDistance()


def top(**options: Any) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(PURE, **({"k": 2, "scale": 4.0} | options))


def test_a_chain_keeps_exact_numbers_pairs_and_noises() -> None:
    chain = top(k=1, scale=Fraction(10, 3), noise=tk.noise.Laplace())
    named = chain >> tk.index_candidates([("east", 1), ("west", 2)])
    text = tk.to_json(named)
    again = tk.from_json(text)
    assert (again.exact_map(1), again.proof.name) == (Fraction(3, 10), "core/chaining")
    assert "Laplace" in text
    assert tk.to_json(again) == text
    assert again == named


def call(name: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    return {"call": [name, list(arguments), options]}


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (call("os.system", "true"), "name only"),
        (call("Measurement"), "name only"),
        (call("then_laplace", scale=1), "name only"),
        (call("binary_search_param"), "name only"),
        (call("make_repeat", 1), "missing a required argument"),
        (call("make_repeat", 1, times=2), "must be a measurement"),
        (call(["make_repeat"]), "in the format"),
        (call("CustomNoise"), "in the format"),
        (call("type", "str"), "in the format"),
        (call("Fraction", 1, 0), "in the format"),
        (call("Fraction", "1e400000000"), "in the format"),
        (call("make_user_measurement"), "name only"),
        (call("make_user_transformation"), "name only"),
        (call("Fraction", 1, 2), "in the format"),
        ({"eval": "1"}, "in the format"),
        (call(">>", "a", "b"), "in the format"),
        (call("eval", "1"), "name only"),
        ({"call": 7}, "in the format"),
    ],
)
def test_other_names_and_shapes_are_refused(built: Any, words: str) -> None:
    text = json.dumps({"format": FORMAT, "built": built})
    with pytest.raises(tk.errors.TopKError, match=words):
        tk.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x", "built": 1}', "[" * 10**5 + "]" * 10**5, None])
def test_other_texts_are_refused(text: Any) -> None:
    raises_exactly(tk.errors.ParameterError, lambda: tk.from_json(text), "in the format")


def mended() -> tk.Measurement:
    """A measurement whose map was replaced past the frozen class."""
    built = top()
    object.__setattr__(built, "privacy_map", lambda d_in: d_in)
    return built


def stated() -> tk.Measurement:
    """A measurement with the map of a caller, whose functions can all be written."""
    given = {"function": tk.index_candidates(["a"]), "privacy_map": tk.index_candidates([0, 1])}
    return tk.make_user_measurement(*COUNTS, PURE, **given)


@pytest.mark.parametrize(
    "built", [dataclasses.replace(top(), privacy_map=lambda d: d), tk.then_laplace(PURE, scale=1), mended(), stated()]
)
def test_what_no_constructor_made_is_not_written(built: Any) -> None:
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.to_json(built), "unchanged result of a constructor")


def test_numbers_that_no_text_may_have_are_refused() -> None:
    long = top() >> tk.index_candidates([10**5000, 2, 3])
    raises_exactly(tk.errors.ParameterError, lambda: tk.to_json(long), "at most 4300 digits")


def test_spaces_of_a_chain() -> None:
    count = ROWS >> tk.then_count_by_item(candidates=["baker", "smith"])
    assert count.input_space == ROWS
    assert count.output_space >> tk.then_permute_and_flip(PURE, scale=2.0) == tk.make_permute_and_flip(
        *count.output_space, PURE, scale=2.0
    )
    assert top().input_space == COUNTS
