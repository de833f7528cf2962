"""Every shipped mechanism under every measure passes the exact verifier."""

from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import shipped
from opendp_topk.core.public_names import PUBLIC
from tests.pages.tightness import HEADER, all_examples, claim_columns, tightness_table

ROOT = Path(tk.__file__).parent
EXAMPLES = all_examples()
# These state no law, or one of tables, and their own files in tests/measurements attack their maps.
LAWLESS = {"make_above_threshold", "make_top_k_coverage", "make_weighted_partition_selection"}
LAWFUL = sorted(set(shipped.find_constructors()) - LAWLESS)


@pytest.mark.further
@pytest.mark.quick(name=("make_exponential_mechanism", "make_laplace", "make_permute_and_flip"))
@pytest.mark.parametrize("name", LAWFUL)
def test_no_shipped_map_is_refuted_and_the_page_has_what_is_found(name: str) -> None:
    own = [e for e in EXAMPLES if e.constructor == name]
    found = shipped.verify_all(among=[e for e in own if claim_columns(e) is not None])
    assert found
    others = shipped.verify_all(budget=6, among=[e for e in own if claim_columns(e) is None])
    for example, report in found + others:
        assert report.holds, (example, report)
        assert report.loss > 0
    page = (ROOT.parent / "docs" / "tightness.md").read_text(encoding="utf-8").partition("\n## ")[0]
    own = {line for line in page.splitlines() if f"`{name}`" in line}
    assert {line for line in tightness_table(found).splitlines() if f"`{name}`" in line} == own


@pytest.mark.further
@pytest.mark.quick(name=("make_joint_top_k", "make_laplace", "make_permute_and_flip"))
@pytest.mark.parametrize("name", LAWFUL)
def test_a_budget_of_one_pair_tests_every_claim_all_the_same(name: str) -> None:
    """The two likeliest pairs are tried whatever the budget, and meet a loss."""
    found = shipped.verify_all(budget=1, among=[e for e in EXAMPLES if e.constructor == name])
    assert found
    for example, report in found:
        assert report.pairs + report.skipped >= 2
        assert (report.verdict, report.holds) == ("holds", True), (example, report)
        assert report.loss > 0


@pytest.mark.slow
def test_no_pair_refutes_a_curve() -> None:
    found = shipped.verify_all(budget=3, among=shipped.shipped_examples((tk.PrivacyProfile(),)))
    assert {example.constructor for example, _ in found} >= {"make_report_noisy_top_k", "make_select_then_count"}
    for example, report in found:
        assert (report is None) == (example.constructor in LAWLESS)
        if report is not None:
            assert report.holds, (example, report)
            assert report.loss > 0.01


def test_every_constructor_measure_and_choice_occurs() -> None:
    public = [n for module, names in PUBLIC.items() if module.startswith("measurements.") for n in names.split()]
    made = {n for n in public if n.startswith("make_") and "_user_" not in n}
    assert made == {example.constructor for example in EXAMPLES}
    for measure in shipped.MEASURES:
        tried = {e.constructor for e in EXAMPLES if e.measurement.output_measure == measure}
        assert "make_report_noisy_top_k" in tried
    noises = {e.measurement.parameters["noise"] for e in EXAMPLES if e.constructor == "make_report_noisy_top_k"}
    assert noises == {"Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic"}
    for metric in (tk.LInfDistance(), tk.LInfDistance(monotonic=True)):
        assert metric in {e.measurement.input_metric for e in EXAMPLES}


def test_an_argument_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_strange(input_domain: Any, input_metric: Any, output_measure: Any, *, colour: str) -> Any: ...

    monkeypatch.setattr(shipped, "find_constructors", lambda: {"make_strange": make_strange})
    with pytest.raises(tk.errors.ParameterError, match="colour has no default"):
        list(shipped.shipped_examples())


def test_a_module_says_what_to_try_for_an_argument_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_striped(input_domain: Any, input_metric: Any, output_measure: Any, *, scale: float, stripes: int) -> Any:
        return tk.make_permute_and_flip(input_domain, input_metric, output_measure, scale=scale * stripes)

    monkeypatch.setattr(shipped, "find_constructors", lambda: {"make_striped": make_striped})
    monkeypatch.setitem(globals(), "TRIED", {"stripes": (2, 3)})
    found = list(shipped.shipped_examples())
    assert {example.arguments["stripes"] for example in found} == {2, 3}
    assert {example.measurement.parameters["scale"] for example in found} == {2.0, 3.0}


def test_a_release_without_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [e for e in EXAMPLES if e.constructor == "make_laplace"][:1]
    monkeypatch.setattr(shipped, "shipped_examples", lambda _: [example])
    monkeypatch.setattr(shipped, "MERGED", {})
    assert shipped.verify_all() == [(example, None)]


def test_the_table_in_the_docs_is_current_in_shape() -> None:
    """Rows and claims are those of today's package; the losses, which a search found, are only bounded."""
    page = (ROOT.parent / "docs" / "tightness.md").read_text(encoding="utf-8")
    assert page.startswith(HEADER)
    lines = [line for line in page.splitlines() if "`make_" in line]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    assert sorted(cells[:4] for cells in rows) == sorted(
        found for e in EXAMPLES if (found := claim_columns(e)) is not None
    )
    assert [cells[5] for cells in rows] == sorted(cells[5] for cells in rows)
    for cells in rows:
        assert 0 < float(cells[4]) <= float(cells[3]) * (1 + 1e-5)
        assert float(cells[5]) == pytest.approx(float(cells[4]) / float(cells[3]), abs=1e-4)
