"""A proof belongs to the function and the map with which it was made, and records cannot be changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.core.measurement import Declared
from opendp_topk.core.parameters import Parameters

from ..concepts.examples import COUNTS

ROWS = tk.FrameDomain("user", "item"), tk.UserDistance()
TOP = COUNTS >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=4.0)
COUNT = ROWS >> tk.then_count_by_item(candidates=["ash", "birch"])
ODOMETER = COUNTS >> tk.then_fully_adaptive_composition(tk.MaxDivergence())
FIELDS: dict[str, Any] = {
    "input_domain": tk.VectorDomain(tk.AtomDomain(int), size=3),
    "input_metric": tk.RangeDistance(),
    "output_measure": tk.ZeroConcentratedDivergence(),
    "function": lambda scores: scores,
    "privacy_map": lambda d_in: 0.0,
    "parameters": {"mechanism": "another"},
    "declared": Declared(),
    "interactive": True,
}


def test_a_measurement_has_few_fields() -> None:
    assert [field.name for field in dataclasses.fields(tk.Measurement)] == list(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_replaced_field_leaves_no_proof(name: str) -> None:
    assert TOP.proof.status == "current"
    changed = dataclasses.replace(TOP, **{name: FIELDS[name]})
    assert changed.proof.status == "unproven"
    assert "unproven" in repr(changed)
    assert TOP.proof.status == "current"


@pytest.mark.parametrize("name", ["function", "privacy_map", "output_measure", "declared"])
def test_a_field_of_another_type_is_refused(name: str) -> None:
    with pytest.raises(tk.ParameterTypeError, match=name):
        dataclasses.replace(TOP, **{name: 0.5})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("function", lambda rows: [0, 0]),
        ("stability_map", lambda d_in: 0),
        ("input_metric", tk.UserDistance("replace")),
        ("output_metric", tk.RangeDistance()),
        ("input_domain", tk.FrameDomain("user", "other")),
        ("output_domain", tk.VectorDomain(tk.AtomDomain(int))),
    ],
)
def test_a_replaced_field_of_a_transformation_leaves_no_proof(name: str, value: Any) -> None:
    assert COUNT.proof.status == "current"
    assert dataclasses.replace(COUNT, **{name: value}).proof.status == "unproven"


@pytest.mark.parametrize(
    "build",
    [
        lambda false: false >> str,
        lambda false: false >> tk.index_candidates(["a", "b", "c"]),
        lambda false: tk.make_composition([TOP, false]),
        lambda false: tk.make_pureDP_to_zCDP(false),
        lambda false: COUNT >> dataclasses.replace(false, input_domain=COUNT.output_domain),
    ],
)
def test_what_holds_an_unproven_part_is_unproven(build: Callable[[Any], Any]) -> None:
    assert build(dataclasses.replace(TOP, privacy_map=lambda d_in: 0.0)).proof.status == "unproven"


def test_a_proof_cannot_be_handed_in() -> None:
    for call in (
        lambda: dataclasses.replace(TOP, proof=TOP.proof),
        lambda: tk.Measurement(*COUNTS, tk.MaxDivergence(), len, float, proof=TOP.proof),
        lambda: tk.Transformation(*COUNTS, *COUNTS, lambda x: x, float, proof=TOP.proof),
    ):
        with pytest.raises(TypeError, match="proof"):
            call()
    with pytest.raises(AttributeError):
        TOP.proof = tk.Proof("core/chaining")  # type: ignore[misc]


def test_a_function_that_asks_to_change_the_measurement_is_not_asked() -> None:
    class Sly:
        items = ("a",)

        def __call__(self, release: Any) -> Any:
            return release

        def before_release(self, measurement: Any) -> Any:
            return dataclasses.replace(measurement, privacy_map=lambda d_in: 0.0)

    chain = TOP >> Sly()
    assert chain.map(1) == TOP.map(1)
    assert chain.input_domain == TOP.input_domain


def test_an_odometer_is_proved_as_it_was_made() -> None:
    assert ODOMETER.proof.status == "current"
    other = dataclasses.replace(ODOMETER, output_measure=tk.ZeroConcentratedDivergence())
    assert other.proof.status == "unproven"


def test_a_copy_is_the_value_itself() -> None:
    for value in (TOP, COUNT, ODOMETER):
        assert copy.copy(value) is value
        assert copy.deepcopy([value])[0] is value


def test_parameters_are_read_only() -> None:
    given = {"mechanism": "mine", "k": 1}
    link = dataclasses.replace(TOP, parameters=given)
    given["k"] = 2
    assert link.parameters == {"mechanism": "mine", "k": 1}
    assert isinstance(link.parameters, Parameters)
    assert repr(link.parameters) == repr({"mechanism": "mine", "k": 1})
    assert pickle.loads(pickle.dumps(link.parameters)) == link.parameters
    with pytest.raises(TypeError):
        link.parameters["k"] = 3  # type: ignore[index]
    with pytest.raises(AttributeError):
        link.parameters._values = {}  # type: ignore[attr-defined]
    for name in ("pop", "update", "clear", "setdefault"):
        assert not hasattr(link.parameters, name)


def test_a_claim_belongs_to_one_value() -> None:
    assert TOP.proof.name is not None
    assert dataclasses.replace(TOP, interactive=True).proof.name is None


def test_a_chain_names_the_proofs_of_both_links() -> None:
    chain = COUNT >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=4.0)
    assert {part.name for part in chain.proof.parts} == {COUNT.proof.name, TOP.proof.name}
