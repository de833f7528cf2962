"""Planned releases that are drawn without a name, by several processes, and by names that look alike.

Tries proofs/ledger/filters.tex.
"""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .workers import child, costing, ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_that_name_no_place_draw_each_once(path: Path) -> None:
    """Eight for a plan of four: four succeed, all of them at first."""
    number = new(path, 4).reserve_all([(costing(1.0), f"week {one}") for one in range(4)]).number

    def draws() -> None:
        try:
            tk.Ledger(path).planned(number).release(None, [1], costing(1.0))
        except tk.QueryError:
            os._exit(3)

    codes = sorted(ended(process) for process in [child(draws) for _ in range(8)])
    with tk.Ledger(path) as ledger:
        assert (codes, ledger.planned(number).left(), ledger.verify()) == ([0] * 4 + [3] * 4, (), [])
        assert sorted(one.label for one in ledger.history() if one.within) == [f"week {one}" for one in range(4)]


def test_another_process_that_draws_between_look_and_draw_takes_another_place(path: Path) -> None:
    ledger = new(path, 4)
    plan = ledger.reserve_all([(costing(1.0), "a"), (costing(0.5), "b"), (costing(1.0), "c")])
    mine, other = (tk.Ledger(path).planned(plan.number) for _ in range(2))
    assert mine.left() == ("a", "b", "c")
    other.release(None, [1], costing(1.0))
    mine.release(None, [1], costing(1.0))
    assert mine.left() == ("b",), "the place of a smaller loss does not fit"
    raises_exactly(tk.ParameterError, lambda: mine.reserve(None, costing(1.0)), "may lose more")
    mine.release(None, [1], costing(0.25))
    raises_exactly(tk.QueryError, lambda: plan.reserve(), "drawn already")


def test_where_it_was_planned_the_next_place_has_its_own_measurement(path: Path) -> None:
    drawn: list[str] = []
    listed = [(costing(0.5, function=lambda data, name=name: drawn.append(name)), name) for name in "abc"]
    plan = new(path, 4).reserve_all(listed)
    plan.release("b", [1])
    plan.release(None, [1])
    plan.release(None, [1])
    assert (drawn, plan.left()) == (["b", "a", "c"], ())


def test_a_name_in_another_form_is_the_same_name(path: Path) -> None:
    composed = unicodedata.normalize("NFC", "März")
    apart = unicodedata.normalize("NFD", composed)
    ledger = new(path, 4)
    for alike in (apart, composed.upper(), f"{composed} ", "Ｍärz"):
        pairs = [(costing(0.5), composed), (costing(0.5), alike)]
        raises_exactly(tk.ParameterError, lambda pairs=pairs: ledger.reserve_all(pairs), "labels of planned releases")
    plan = ledger.reserve_all([(costing(0.5), apart), (costing(0.5), "April")])
    assert plan.labels == (composed, "April")
    plan.release(apart, [1])
    raises_exactly(tk.QueryError, lambda: plan.reserve(composed), "drawn already")
    ledger.release(costing(0.5), [1], label=apart)
    assert ledger.history()[-1].label == composed


def test_what_is_no_label_is_told(path: Path) -> None:
    np = pytest.importorskip("numpy")
    ledger, wrong = new(path, 4), "label must be one line"
    strange: Any
    for strange in ([], np.array(["a", "b"]), 7, b"a", {}):
        raises_exactly(tk.ParameterError, lambda one=strange: ledger.reserve_all([(costing(0.5), one)]), wrong)
    plan = ledger.reserve_all([(costing(0.5), "a")])
    for strange in ([], np.array(["a"]), np.array(["a", "b"]), 7):
        raises_exactly(tk.ParameterError, lambda one=strange: plan.reserve(one), wrong)
    raises_exactly(tk.ParameterError, lambda: plan.reserve("b"), "that of a planned release")


@pytest.mark.parametrize("how", ["plan", "conversation"])
def test_what_is_old_is_read_before_others_have_to_wait(path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = new(path, 4)
    number = ledger.reserve_all([(costing(0.5), "a")]).number if how == "plan" else ledger.conversation([1]).number
    for _ in range(40):
        ledger.reserve(cost=0, label="x" * 900)
    with tk.Ledger(path) as other:
        late = other.planned(number) if how == "plan" else other.resume(number, [1])
        read: list[int] = []
        real, size = files._read_bytes, path.stat().st_size

        def watched(handle: int, start: int, length: int) -> bytes:
            found = real(handle, start, length)
            if files.BUSY:
                read.append(len(found))
            return found

        monkeypatch.setattr(files, "_read_bytes", watched)
        if how == "plan":
            late.release("a", [1], costing(0.5))  # type: ignore[union-attr]
        else:
            late(costing(0.5))  # type: ignore[operator]
    assert 0 < sum(read) < size / 5, json.dumps(read)
