"""Releases say what they hold: their fields, their frames, and what a notebook shows."""

import datetime
import json
import math
import pickle
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.core.releases import class_of_type
from opendp_topk.errors import MissingExtraError, ParameterError, ParameterTypeError, SpaceError
from tests.concepts.combinations import COMBINATIONS
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, SENTINEL_TEXT, leaks
from tests.concepts.specimens import Specimen

from ..audit.pages import Element, read
from ..concepts.examples import COUNTS
from ..concepts.sentinels import raises_exactly

PURE = tk.MaxDivergence()
TREES = ["ash", "birch & co", "<cedar>"]
SCORES = [4, 9, 6]
COUNTED = COUNTS >> tk.then_select_then_count(PURE, k=2, scale=0)
LED = COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=2, scale=0)
CASES: list[tuple[Any, dict[str, list[Any]]]] = [
    (COUNTED(SCORES), {"index": [1, 2], "noisy_count": [9, 6]}),
    ((COUNTED >> tk.index_candidates(TREES))(SCORES), {"item": TREES[1:], "noisy_count": [9, 6]}),
    (LED(SCORES), {"rank": [1, 2], "index": [1, 2], "noisy_lead": [3.0, 2.0]}),
    ((LED >> tk.index_candidates(TREES))(SCORES), {"rank": [1, 2], "item": TREES[1:], "noisy_lead": [3.0, 2.0]}),
    (
        (COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=0) >> tk.index_candidates(TREES))(SCORES),
        {"item": TREES[1:]},
    ),
    (tk.Release(items=("ash", "birch"), stopped=True), {"rank": [1, 2], "item": ["ash", "birch"]}),
    (tk.Release(items=("ash", "birch"), counts=(7, 5)), {"item": ["ash", "birch"], "noisy_count": [7, 5]}),
]
VALUES = [COUNTED, (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=TREES)]


def cells(shown: str) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of a table in HTML."""
    rows = [[cell.text for cell in row.all("th", "td")] for row in read(shown).all("tr")]
    return rows[0], rows[1:]


@pytest.mark.parametrize(("release", "columns"), CASES, ids=["-".join(columns) for _, columns in CASES])
def test_frames_and_tables_hold_the_release_under_its_names(release: Any, columns: dict[str, list[Any]]) -> None:
    assert release.to_frame().to_dict(as_series=False) == columns
    head, rows = cells(release._repr_html_())
    assert head == [name.replace("_", " ") for name in columns]
    assert rows == [[str(value) for value in row] for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(("release", "columns"), CASES, ids=["-".join(columns) for _, columns in CASES])
def test_a_release_is_a_value_and_a_sequence_of_its_winners(release: tk.Release, columns: dict[str, list[Any]]) -> None:
    winners = columns["item"] if release.indices is None else columns["index"]
    assert list(release) == [release[0], release[1]] == np.asarray(release).tolist() == winners
    assert len(release) == 2
    assert np.asarray(release, dtype=object).dtype == object
    same = pickle.loads(pickle.dumps(release))
    assert same == release == replace(release)
    assert hash(same) == hash(release)
    assert {release: 1}[same] == 1
    assert release != replace(release, counts=(4, 5))
    assert release != (release.items, release.counts)
    fields = ", ".join(f"{name}={getattr(release, name)!r}" for name in release.to_dict())
    assert repr(release) == f"Release({fields})"


def test_indices_are_replaced_by_items_and_other_fields_stay() -> None:
    assert LED(SCORES).with_items(TREES[:2]) == tk.Release(items=TREES[:2], gaps=np.array([3.0, 2.0]))
    assert COUNTED(SCORES) != COUNTED(SCORES).with_items([1, 2])


def test_items_keep_the_order() -> None:
    named = CASES[4][0]
    assert named.items == ("birch & co", "<cedar>")
    assert "&lt;cedar&gt;" in named._repr_html_()
    assert "Released ranking, which stopped early" in CASES[5][0]._repr_html_()


def test_a_long_release_shows_its_beginning() -> None:
    shown = tk.Release(items=range(1000))._repr_html_()
    assert "the first 100 of 1000" in shown
    assert len(cells(shown)[1]) == 100


def test_counts_beyond_64_bits_come_into_a_frame() -> None:
    huge = tk.Release(indices=np.array([0]), counts=np.array([2**70], dtype=object))
    assert int(huge.to_frame()["noisy_count"][0]) == 2**70


def test_a_frame_without_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    raises_exactly(MissingExtraError, CASES[0][0].to_frame, 'pip install "opendp_topk[tables]"')


# What notebooks show of other values.


def facts(shown: str) -> dict[str, str]:
    """The names and values of a table of facts, under its title."""
    page: Element = read(shown)
    (title,) = page.all("caption")
    rows = {row.all("th")[0].text: row.all("td")[0].text for row in page.all("tr")}
    return {"": title.text, **rows}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_links_show_their_fields(value: Any) -> None:
    found = facts(value._repr_html_())
    assert found.pop("") == type(value).__name__
    assert found["proof"] == str(value.proof)
    assert found["input_domain"] == repr(value.input_domain)
    for name, shown in value.parameters.items():
        assert found[name] == str(shown)


def test_an_odometer_shows_its_fields() -> None:
    odometer = COUNTS >> tk.then_fully_adaptive_composition(PURE)
    assert facts(odometer._repr_html_())["mechanism"] == "fully_adaptive_composition"


def test_a_proof_shows_its_state_first() -> None:
    chain = VALUES[1] >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0)
    shown = chain.proof._repr_html_()
    assert facts(shown)[""] == "Proof: current"
    first, *rest = [row.text for row in read(shown).all("tr")]
    assert first == "currentproofs/core/chaining.tex"
    documents = "transformations/count_by_item", "measurements/report_noisy_top_k"
    assert rest == [f"currentproofs/{name}.tex" for name in documents]
    mine = tk.make_user_measurement(*COUNTS, PURE, function=len, privacy_map=float).proof
    assert facts(mine._repr_html_())[""] == "Proof: unproven"
    assumed = tk.audit.Proof("core/chaining", assumption="<the map> is right")
    assert "if &lt;the map&gt; is right" in assumed._repr_html_()


def test_a_curve_shows_pairs_that_hold() -> None:
    curve = (COUNTS >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=1, scale=2.0)).map(1)
    _, rows = cells(curve._repr_html_())
    assert [float(epsilon) for epsilon, _ in rows] == sorted(float(epsilon) for epsilon, _ in rows)
    for epsilon, delta in rows:
        assert float(delta) == curve.delta(float(epsilon))
    assert float(rows[0][1]) > 0


@pytest.mark.parametrize("wrong", [float("nan"), 7, "ash", object(), np.array(3)], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("field", ["items", "counts", "gaps"])
def test_fields_are_lists_or_arrays(field: str, wrong: Any) -> None:
    fields = {"items": ["ash"], field: wrong}
    raises_exactly(ParameterTypeError, lambda: tk.Release(**fields), f"{field} must be a list, a tuple")


def test_fields_are_as_many_as_the_winners() -> None:
    both = "items or indices must be given"
    raises_exactly(ParameterError, lambda: tk.Release(counts=[1]), both)
    raises_exactly(ParameterError, lambda: tk.Release(items=["ash"], indices=np.array([0])), both)
    raises_exactly(
        ParameterError, lambda: tk.Release(items=["ash"], counts=[1, 2]), "counts must have one entry per winner"
    )
    raises_exactly(ParameterTypeError, lambda: tk.Release(items=["ash"], stopped=1), "stopped must be True or False")  # type: ignore[arg-type]


# Releases and parameters of every constructor as JSON.


ALL: dict[str, Callable[[], list[Specimen]]] = {**MECHANISMS, **COMBINATIONS}


def written(value: Any) -> Any:
    """What comes back from JSON as the standard has it."""
    return json.loads(json.dumps(tk.json_values(value), allow_nan=False))


@pytest.mark.parametrize("name", ALL)
def test_releases_and_parameters_of_every_constructor(name: str) -> None:
    for specimen in ALL[name]():
        assert written(specimen.link.parameters).keys() == specimen.link.parameters.keys()
        if isinstance(specimen.released, tk.Measurement) and not specimen.released.interactive:
            written(specimen.released(specimen.pair[0]))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([1, 2]), [1, 2]),
        (np.float64(0.5), 0.5),
        (2**70, 2**70),
        (Fraction(1, 3), "1/3"),
        (Decimal("0.10"), "0.10"),
        (math.inf, "inf"),
        (np.array([math.nan, 1.0]), ["nan", 1.0]),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (tk.Release(items=["a"]), {"items": ["a"]}),
        (tk.Release(items=["a"], counts=np.array([3])), {"items": ["a"], "counts": [3]}),
        (tk.Release(items=("a", ("b", 1)), stopped=False), {"items": ["a", ["b", 1]], "stopped": False}),
        ({"a": tk.Release(indices=np.array([1]), gaps=np.array([math.inf]))}, {"a": {"indices": [1], "gaps": ["inf"]}}),
        ({1: "a", "1": "b"}, [[1, "a"], ["1", "b"]]),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    assert written(value) == expected


@pytest.mark.parametrize("long", [10**5000, Fraction(1, 10**5000)], ids=["integer", "fraction"])
def test_a_number_that_cannot_be_written_is_refused(long: Any) -> None:
    raises_exactly(ParameterError, lambda: tk.json_values([long]), "at most 14,000 bits")


def test_what_is_no_release_is_refused() -> None:
    raises_exactly(ParameterTypeError, lambda: tk.json_values([object()]), "objects of type object")


# What reprs and errors show of arguments: public scalars, and of all else the type.


SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)


def given_by_mistake() -> dict[str, Any]:
    """Data in the place of a parameter."""
    return {
        "a list": [SENTINEL_INT, SENTINEL_TEXT],
        "a long tuple": (SENTINEL_INT,) * 9,
        "rows": [(SENTINEL_INT, SENTINEL_TEXT)],
        "nested": ((SENTINEL_INT,),),
        "a row with a list": (SENTINEL_INT, [SENTINEL_TEXT]),
        "counts": {SENTINEL_TEXT: SENTINEL_INT},
        "a set": {SENTINEL_TEXT},
        "an array": np.array([SENTINEL_FLOAT]),
        "texts": np.array([SENTINEL_TEXT], dtype=object),
        "items": tk.Release(items=[SENTINEL_TEXT]),
    }


def frames() -> dict[str, Any]:
    columns = {"u": [SENTINEL_INT], "i": [SENTINEL_TEXT]}
    pl = pytest.importorskip("polars", reason="frames are among what is given")
    pd = pytest.importorskip("pandas", reason="frames are among what is given")
    whole = pl.DataFrame(columns)
    return {"polars": whole, "lazy": whole.lazy(), "series": whole["u"], "pandas": pd.DataFrame(columns)}


def test_a_partial_shows_no_data_of_its_arguments() -> None:
    for kind, data in (given_by_mistake() | frames()).items():
        partials = tk.then_report_noisy_top_k(PURE, k=1, scale=data), tk.then_report_noisy_top_k(data, k=1, scale=2.0)
        for partial in partials:
            assert not leaks(SpaceError(repr(partial))), kind
            for wrong in (lambda one=partial: one(SPACE), lambda one=partial: one >> 3, lambda one=partial: 3 >> one):
                with pytest.raises(SpaceError) as caught:
                    wrong()
                assert not leaks(caught.value), kind


def test_a_measurement_shows_no_data_of_its_parameters() -> None:
    for kind, data in frames().items():
        made = tk.Measurement(*SPACE, PURE, len, lambda d_in: d_in, parameters={"frame": data})
        assert not leaks(SpaceError(repr(made) + made._repr_html_())), kind
        assert f"<{type(data).__name__}>" in repr(made)


@pytest.mark.parametrize(
    ("partial", "shown"),
    [
        (tk.then_laplace(PURE, scale=6.0), "then_laplace(MaxDivergence(), scale=6.0)"),
        (tk.then_laplace(PURE, scale=Fraction(1, 3)), "then_laplace(MaxDivergence(), scale=Fraction(1, 3))"),
        (tk.then_report_noisy_top_k(PURE, k=3, scale=6.0, release="set"), "k=3, scale=6.0, release='set'"),
        (tk.then_sum_by_item(candidates=["a"], bounds=(0, 10)), "candidates=<list of 1>, bounds=(0, 10)"),
        (tk.then_count_by_item(candidates=range(9)), "candidates=<range of 9>"),
        (tk.then_laplace(PURE, scale=np.ones(3)), "scale=<ndarray of shape (3,)>"),
        (tk.then_laplace(PURE, scale=10**5000), "scale=<int>"),
    ],
)
def test_public_scalars_stay_readable(partial: Any, shown: str) -> None:
    assert shown in repr(partial)


def test_what_is_built_by_hand_is_checked() -> None:
    for build in (
        lambda: tk.Partial(1, (), {}),
        lambda: tk.Partial(tk.make_laplace, 2, {}),
        lambda: tk.Partial(tk.make_laplace, (), 3),
        lambda: tk.planning.Comparison(1, 2),
        lambda: tk.planning.Recommendation(1, 2, 3, 4, 5),
        lambda: tk.planning.Recommendation(None, "near", (), None, None),
    ):
        raises_exactly(ParameterTypeError, build, "must be")


@dataclass
class Alias:
    """A type that a ``type`` statement declares, on versions of Python without them."""

    __value__: Any


@pytest.mark.parametrize("kind", [list, list[int], Alias(list[int]), types.GenericAlias(Alias(list[int]), (int,))])  # type: ignore[arg-type]
def test_the_class_of_a_type_is_found_through_its_aliases(kind: Any) -> None:
    assert class_of_type(kind) is list


def test_the_class_of_an_array_is_known() -> None:
    assert class_of_type(NDArray[np.int64]) is np.ndarray
