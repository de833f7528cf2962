"""Every shipped mechanism under every measure passes the exact verifier."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.audit import shipped

EXAMPLES = list(shipped.examples())


@pytest.mark.parametrize("name", sorted(shipped.constructors()))
def test_no_shipped_map_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "examples", lambda: (e for e in EXAMPLES if e.constructor == name))
    found = shipped.verify_all(budget=8)
    assert found
    for example, report in found:
        assert report is not None, f"{name} declares no law: say in audit/shipped.py how to merge its outcomes"
        assert report.holds, (example, report)
        assert report.loss > 0


def test_every_constructor_measure_and_choice_occurs() -> None:
    made = {name for name in tk.__all__ if name.startswith("make_") and "_user_" not in name}
    measurements = {n for n in made if inspect.signature(getattr(tk, n)).return_annotation == "Measurement"}
    scored = {n for n in measurements if list(inspect.signature(getattr(tk, n)).parameters)[2:3] == ["output_measure"]}
    assert scored == {example.constructor for example in EXAMPLES}
    for measure in shipped.MEASURES:
        tried = {e.constructor for e in EXAMPLES if e.measurement.output_measure == measure}
        assert "make_report_noisy_top_k" in tried
    noises = {e.measurement.parameters["noise"] for e in EXAMPLES if e.constructor == "make_lipschitz_top_k"}
    assert noises == {"Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic"}
    for metric in (tk.LInfDistance(), tk.LInfDistance(monotonic=True)):
        assert metric in {e.measurement.input_metric for e in EXAMPLES}


def test_an_argument_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_strange(input_domain: Any, input_metric: Any, output_measure: Any, *, colour: str) -> Any: ...

    monkeypatch.setattr(shipped, "constructors", lambda: {"make_strange": make_strange})
    with pytest.raises(tk.ParameterError, match="colour has no default"):
        list(shipped.examples())


def test_a_release_without_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [e for e in EXAMPLES if e.constructor == "make_laplace"][:1]
    monkeypatch.setattr(shipped, "examples", lambda: [example])
    monkeypatch.setattr(shipped, "MERGED", {})
    assert shipped.verify_all() == [(example, None)]
