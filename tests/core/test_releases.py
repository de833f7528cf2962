"""Releases say what they hold: their fields, their frames, and what a notebook shows."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

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
    (
        (LED >> tk.index_candidates(TREES))(SCORES),
        {"rank": [1, 2], "item": TREES[1:], "noisy_lead": [3.0, 2.0]},
    ),
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
    assert [name.replace(" ", "_") for name in head] == list(columns)
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
    assert (
        repr(release)
        == "Release(" + ", ".join(f"{name}={getattr(release, name)!r}" for name in release.to_dict()) + ")"
    )


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
    raises_exactly(tk.errors.MissingExtraError, CASES[0][0].to_frame, 'pip install "opendp_topk[tables]"')


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
    assert rest == [
        "currentproofs/transformations/count_by_item.tex",
        "currentproofs/measurements/report_noisy_top_k.tex",
    ]
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
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.Release(**fields), f"{field} must be a list, a tuple")


def test_fields_are_as_many_as_the_winners() -> None:
    both = "items must be given where there are no indices"
    raises_exactly(tk.errors.ParameterError, lambda: tk.Release(counts=[1]), both)
    raises_exactly(tk.errors.ParameterError, lambda: tk.Release(items=["ash"], indices=np.array([0])), both)
    raises_exactly(tk.errors.ParameterError, lambda: tk.Release(items=["ash"], counts=[1, 2]), "counts must be as many")
    raises_exactly(
        tk.errors.ParameterTypeError, lambda: tk.Release(items=["ash"], stopped=1), "stopped must be True or False"
    )  # type: ignore[arg-type]
