"""A proof belongs to the function and the map with which it was made, and records cannot be changed."""

import copy
import dataclasses
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.charges import _measurement_fields
from opendp_topk.apps.planning.release_record import proof_summary
from opendp_topk.core import claims
from opendp_topk.core.claims import Parameters, claim_contents
from opendp_topk.core.measurement import Declared
from opendp_topk.core.queryable import rescale_measurement

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
    with pytest.raises(tk.errors.ParameterTypeError, match=name):
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
        TOP.proof = tk.audit.Proof("core/chaining")  # type: ignore[misc]


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


# A frozen class can be passed by. What is claimed is claimed of the objects that were there.


def space(metric: tk.Metric | None = None) -> tuple[tk.VectorDomain, tk.Metric]:
    """Scores of which no other link has the objects."""
    return tk.VectorDomain(tk.AtomDomain(int)), metric or tk.LInfDistance(monotonic=True)


def choice(**options: Any) -> Any:
    return space() >> tk.then_report_noisy_top_k(tk.MaxDivergence(), **{"k": 2, "scale": 4.0} | options)


def counting() -> Any:
    return (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_count_by_item(candidates=["ash", "birch"])


BUILDERS: dict[str, Callable[[], Any]] = {
    "selection": choice,
    "noise": lambda: space(tk.L1Distance()) >> tk.then_laplace(tk.MaxDivergence(), scale=4.0),
    "interactive": lambda: space() >> tk.then_above_threshold(tk.MaxDivergence(), threshold=1, scale=4.0),
    "conversion": lambda: tk.make_pureDP_to_zCDP(choice()),
    "composition": lambda: tk.make_composition([choice(), choice()]),
    "chain": lambda: counting() >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0),
    "post-processed": lambda: choice() >> tk.index_candidates(["a", "b", "c"]),
    "filter": lambda: tk.make_privacy_filter(BUILDERS["odometer"](), d_in=1, d_out=1.0),
    "user": lambda: tk.make_user_measurement(*space(), tk.MaxDivergence(), function=len, privacy_map=float),
    "odometer": lambda: space() >> tk.then_fully_adaptive_composition(tk.MaxDivergence()),
    "transformation": counting,
}


def held(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all attributes of a link, and of records in it."""
    found = []
    for name, one in vars(value).items():
        if name != "_claim":
            found.append((*path, name))
            is_record = dataclasses.is_dataclass(one) and not isinstance(one, tk.Measurement | type)
            found += held(one, (*path, name)) if is_record else []
    return found


def put(value: Any, path: tuple[str, ...], new: Any, stored: bool) -> None:
    for name in path[:-1]:
        value = getattr(value, name)
    if stored:
        vars(value)[path[-1]] = new
    else:
        object.__setattr__(value, path[-1], new)


@pytest.mark.quick(kind="transformation")
@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("stored", [False, True], ids=["set", "stored"])
def test_a_claim_is_about_what_was_there(kind: str, stored: bool) -> None:
    for path in held(BUILDERS[kind]()):
        link, same = BUILDERS[kind](), BUILDERS[kind]()
        known, old = link.proof, functools.reduce(getattr, path, link)
        put(link, path, lambda *_: 0.0, stored)
        assert link.proof == tk.audit.Proof(None), path
        assert link != same
        with pytest.raises(tk.errors.ParameterTypeError):
            pickle.dumps(link)
        put(link, path, old, stored)
        assert link.proof == known, "the same object is there again"


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_claim_is_about_what_hides_a_method_too(kind: str) -> None:
    for name in ("map", "exact_map", "invoke", "anything", "_maps"):
        link = BUILDERS[kind]()
        vars(link)[name] = lambda *_: 0.0
        assert link.proof == tk.audit.Proof(None), name
    link = BUILDERS[kind]()
    vars(link.input_metric)["distance"] = lambda *_: 0.0
    assert link.proof == tk.audit.Proof(None)
    link = BUILDERS[kind]()
    object.__setattr__(link, "__class__", type("Mine", (type(link),), {}))
    assert link.proof == tk.audit.Proof(None)


@pytest.mark.parametrize("name", ["privacy_map", "_maps", "function", "_claim", "map"])
@pytest.mark.parametrize("stored", [False, True], ids=["set", "stored"])
def test_a_claim_is_about_its_parts(name: str, stored: bool) -> None:
    """In a chain, a conversion, compositions, and at any depth."""
    count = counting()
    wholes: list[Callable[[Any], Any]] = [
        lambda part: part >> str,
        lambda part: count >> part,
        lambda part: tk.make_pureDP_to_zCDP(part),
        lambda part: tk.make_composition([part, part >> str]),
        lambda part: tk.make_composition(measurements=(part, part)),
        lambda part: tk.make_composition({part: 1}.keys()),
        lambda part: tk.make_composition([tk.make_composition([part])]) >> str,
        lambda part: tk.make_pureDP_to_zCDP(tk.make_composition([part, part])),
        lambda part: tk.make_repeat(part, times=2),
    ]
    for build in wholes:
        part = (count.output_domain, count.output_metric) >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0)
        whole = build(part)
        assert whole.proof.name is not None
        put(part, (name,), None, stored)
        assert whole.proof == tk.audit.Proof(None)


def test_use_changes_no_claim() -> None:
    for kind, build in BUILDERS.items():
        link = build()
        known = link.proof
        if not isinstance(link, tk.Odometer):
            link.map(1)
        if isinstance(link, tk.Measurement):
            link.exact_map(1)
        if isinstance(link.input_domain, tk.VectorDomain) and kind != "filter":
            link([3, 1, 2])
        assert hash(link)
        assert repr(link)
        assert pickle.loads(pickle.dumps(link)) == link
        assert link.proof == known


def test_what_shows_a_claim_shows_that_there_is_none() -> None:
    """The repr, an entry of a ledger, and a record."""
    link = BUILDERS["selection"]()
    before = _measurement_fields(link)
    object.__setattr__(link, "privacy_map", lambda d_in: 0.0)
    after = _measurement_fields(link)
    assert after["proof"].startswith("unproven")
    assert after["claim"] != before["claim"]
    assert "unproven" in repr(link)
    assert proof_summary(link)["status"] == "unproven"
    assert rescale_measurement(link, 8.0) is None


def test_a_partial_and_a_queryable_claim_nothing_themselves() -> None:
    """What a partial builds has the claim that its constructor makes; a queryable has none."""
    partial = tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0)
    assert not hasattr(partial, "proof")
    object.__setattr__(partial, "constructor", tk.make_exponential_mechanism)
    assert (space() >> partial).proof.name == "measurements/exponential_mechanism"
    object.__setattr__(partial, "constructor", inspect.unwrap(tk.make_permute_and_flip))
    assert (space() >> partial).proof == tk.audit.Proof(None)
    assert not hasattr(ODOMETER([1, 2, 3]), "proof")


def test_shared_parts_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    link = choice()
    for _ in range(8):
        link = tk.make_composition([link, link >> str])
    looked: list[int] = []
    monkeypatch.setattr(claims, "claim_contents", lambda *given: looked.append(id(given[0])) or claim_contents(*given))
    assert link._own_claim() is link._claim
    assert len(looked) == len(set(looked)) == 17
