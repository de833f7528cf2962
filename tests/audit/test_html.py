"""The report as pages: complete, honest, readable by all, without a network, in a real browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit import shipped
from opendp_topk.apps.audit.html import documents, report
from opendp_topk.apps.audit.html.findings import collect_findings
from opendp_topk.apps.audit.html.report import write_report
from opendp_topk.apps.audit.registry import append_signoff
from opendp_topk.core.measurement import Declared
from opendp_topk.proof import claim_digest, latex
from tests.concepts.copies import spoil
from tests.concepts.sentinels import raises_exactly
from tests.pages.tightness import all_examples

from ..docs.test_site import axe_script, visited
from .pages import Element, broken_links, read

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = "measurements/permute_and_flip"
SIGNER = "<b>R. E. Viewer</b> & 'Co'"
FEW = ("make_permute_and_flip", "make_laplace")
EXAMPLES = [one for one in all_examples() if one.constructor in FEW]
DAY = date(2026, 1, 2)


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """The verifier runs on two constructors, to be quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped, "shipped_examples", lambda: iter(EXAMPLES))
        yield


@pytest.fixture(scope="module")
def folder(few: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report")
    signoffs = made / "signoffs.toml"
    append_signoff(NAME, claim_digest(NAME), by=SIGNER, file=signoffs)
    append_signoff("measurements/laplace", "0" * 16, by="Ada", file=signoffs)
    write_report(made / "pages", signoffs=signoffs, budget=6, on=DAY)
    return made / "pages"


@pytest.fixture(scope="module")
def roots(folder: Path) -> dict[str, Element]:
    return {p.relative_to(folder).as_posix(): read(p.read_text(encoding="utf-8")) for p in folder.rglob("*.html")}


# What the pages hold.


def test_every_claim_and_every_document_has_a_page(roots: dict[str, Element]) -> None:
    claims = {name for name in tk.__all__ if name.startswith("make_")}
    wanted = {f"claims/{name}.html" for name in claims}
    wanted |= {f"documents/{name.replace('/', '-')}.html" for name in proof.document_names()}
    assert set(roots) == {"index.html"} | wanted
    listed = {one.text for one in roots["index.html"].all("th") if one.attributes.get("scope") == "row"}
    assert claims | set(proof.document_names()) <= listed


def test_a_page_has_the_claim_its_reliances_and_the_proof(roots: dict[str, Element]) -> None:
    claim = roots[f"claims/{FEW[0]}.html"]
    assert tk.make_permute_and_flip.__doc__.split("\n")[0] in claim.text
    links = {one.attributes["href"] for one in claim.all("a")}
    assert {f"../documents/{name.replace('/', '-')}.html" for name in proof.document_foundations(NAME)} <= links
    document = roots["documents/measurements-permute_and_flip.html"]
    assert proof.document_text(NAME).strip() in document.text
    names = {one.attributes["id"] for one in document if "id" in one.attributes}
    assert {"s-privacy"} < names
    assert [link for link in document.all("a") if link.attributes["href"].startswith("#tag-")]
    assert "../documents/measurements-report_noisy_top_k.html#s-tightness" in {
        one.attributes["href"] for one in document.all("a")
    }


def test_a_document_names_the_code_that_its_pins_hold_beyond_the_regions(roots: dict[str, Element]) -> None:
    shown = roots["documents/samplers-entropy.html"].text
    assert "sampling.samplers.entropy:Entropy" in shown
    assert "numerics.arithmetic:round_up" not in shown


def test_the_rows_are_those_of_the_verifier(roots: dict[str, Element]) -> None:
    rows = []
    for name in sorted({one.constructor for one in EXAMPLES}):
        (section,) = [
            one for one in roots[f"claims/{name}.html"].all("section") if one.attributes["id"] == "verification"
        ]
        rows += [[cell.text for cell in row.all("th", "td")] for row in section.all("tbody")[0].all("tr")]
    assert len(rows) == len(EXAMPLES)
    for cells, (example, found) in zip(rows, shipped.verify_all(6, EXAMPLES), strict=True):
        assert cells[0] == type(example.measurement.output_measure).__name__
        assert (float(cells[3]), float(cells[4])) == pytest.approx((found.claimed, found.loss), rel=1e-5)
        assert float(cells[5]) == pytest.approx(found.tightness, abs=1e-4)
        assert (cells[6], cells[8]) == (str(found.pairs), "holds")
        assert found.witness is not None
        assert "→" in cells[7]


def test_what_takes_no_scores_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = [one for one in all_examples() if not isinstance(one.measurement.input_domain, tk.VectorDomain)]
    assert {one.constructor for one in keyed} >= {"make_partition_selection"}
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter(keyed))
    found = collect_findings(2)
    assert len(found) == len(keyed)
    assert {one.verdict for one in found} <= {"holds", "no distribution"}


def test_signoffs_are_shown_and_texts_are_escaped(folder: Path, roots: dict[str, Element]) -> None:
    assert SIGNER in roots[f"claims/{FEW[0]}.html"].text
    assert SIGNER in roots["index.html"].text
    assert "outdated" in roots["claims/make_laplace.html"].text
    assert "nobody" in roots["index.html"].text
    for path in folder.rglob("*.html"):
        assert "<b>R. E." not in path.read_text(encoding="utf-8")


@pytest.mark.untraced  # what writes a report is traced already
@pytest.mark.slow
def test_the_report_depends_on_nothing_but_its_inputs(folder: Path, tmp_path: Path, few: None) -> None:
    write_report(tmp_path, signoffs=folder.parent / "signoffs.toml", budget=6, on=DAY)
    for path in sorted(folder.rglob("*.*")):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes(), path.name


# Readable offline and by all.


@pytest.mark.untraced  # what writes a report is traced already
@pytest.mark.slow
def test_links_lead_to_files_of_the_report(folder: Path, tmp_path: Path) -> None:
    assert broken_links(folder) == []
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "documents" / "core-chaining.html").unlink()
    assert len(broken_links(tmp_path / "copy")) > 10


def test_nothing_is_fetched(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        policies = [one.attributes["content"] for one in read(text).all("meta") if "http-equiv" in one.attributes]
        assert [policy.startswith("default-src 'none';") for policy in policies] == [True]
        assert not re.search(r"https?:|//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(|<link|<img|<iframe", text), path.name
        assert str(ROOT) not in text


# What is wrong is said.


def test_a_title_ends_with_its_own_bracket() -> None:
    assert documents._document_title("\\proofdocument{core}{The \\emph{race} of $k$}\nText {more}.") == "The race of k"


@pytest.mark.untraced  # what writes a report is traced already
@pytest.mark.slow
def test_stale_code_and_statements_are_named(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "collect_findings", lambda budget, progress: [])
    spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else d_in * 2")
    spoil(copy / "proofs/spaces/range_distance.tex", r"\begin{theorem}[Conversion]", r"\begin{theorem}[Converse]")
    spoil(copy / "opendp_topk/core/binary_search.py", "# proof-region: binary_search\n", "# region\n")
    material = write_report(copy / "report", budget=1, on=DAY)
    documents = material.documents
    (fault,) = documents["spaces/range_distance"].stale_parts
    assert "region range_distance of spaces/metrics.py was proved at" in fault
    assert "spaces/range_distance#conversion" in " ".join(documents["measurements/selection"].stale_parts)
    assert "region binary_search is missing" in documents["core/binary_search"].stale_parts
    assert documents[NAME].stale_parts == []
    assert documents[NAME].status == "stale"
    pages = {p.stem: read(p.read_text(encoding="utf-8")) for p in (copy / "report").rglob("*.html")}
    assert "spaces/range_distance: region range_distance" in pages["index"].text
    assert "measurements/selection: the statement spaces/range_distance#conversion" in pages[FEW[0]].text
    assert any(one.attributes.get("class") == "state stale" for one in pages[FEW[0]])
    assert broken_links(copy / "report") == []


def test_a_claim_that_nothing_tested_is_shown_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A release that never depends on its input, under a map that claims a loss."""
    space = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.LInfDistance(), tk.MaxDivergence()
    law = {"function": lambda scores: 0, "distribution": lambda scores: {0: Fraction(1)}}
    constant = tk.make_user_measurement(*space, **law, privacy_map=lambda d_in: 4.0 * d_in)
    flip = next(one for one in EXAMPLES if one.constructor == "make_permute_and_flip")
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter([replace(flip, measurement=constant)]))
    material = write_report(tmp_path / "report", budget=1, on=DAY)
    assert material.verified_text == "1 maps, of which 0 fail and 1 not tested"
    index = read((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    assert any(one.attributes.get("class") == "state not-tested" for one in index)
    assert not any(one.attributes.get("class") == "state holds" for one in index)
    assert material.verified_text in index.text


@pytest.mark.slow
def test_a_refuted_claim_is_shown_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true = EXAMPLES[0]
    false = replace(
        true, measurement=replace(true.measurement, privacy_map=lambda d_in: true.measurement.map(d_in) / 2)
    )
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter([true, false]))
    material = write_report(tmp_path, budget=4, on=DAY)
    assert [one.verdict for one in material.findings] == ["holds", "fails"]
    assert material.refuted == [material.findings[1]]
    index = read((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert material.verified_text in index.text
    assert sum(one.attributes.get("class") == "state fails" for one in index) == 1


@pytest.mark.slow
def test_a_release_without_a_law_is_shown_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare = [replace(one, measurement=replace(one.measurement, declared=Declared())) for one in EXAMPLES[-1:]]
    monkeypatch.setattr(shipped, "shipped_examples", lambda: iter(bare))
    (found,) = write_report(tmp_path, budget=4, on=DAY).findings
    assert found.verdict == "no distribution"
    assert found.verdict in (tmp_path / f"claims/{found.constructor}.html").read_text(encoding="utf-8")


# Where it is written.


@pytest.mark.slow
def test_a_folder_with_files_is_left_alone(few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "collect_findings", lambda budget, progress: [])
    (tmp_path / "mine.txt").write_text("mine")
    raises_exactly(tk.errors.ParameterError, lambda: write_report(tmp_path, budget=1), "not empty")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    write_report(tmp_path, budget=1, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "index.html").is_file()
    raises_exactly(tk.errors.ParameterError, lambda: write_report(tmp_path / "mine.txt", budget=1), "is a file")
    with pytest.raises(tk.errors.TableError, match="could not be written"):
        write_report(tmp_path / "mine.txt" / "below", budget=1)
    raises_exactly(tk.errors.ParameterError, lambda: write_report(tmp_path / "other", budget=0), "budget")


@pytest.mark.untraced  # what writes a report is traced already
@pytest.mark.slow
def test_pdfs_are_linked_and_failures_said(few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(name: str, folder: str) -> Path:
        if name == NAME:
            raise tk.errors.ProofError("it does not build")
        made = Path(folder) / f"{name.replace('/', '-')}.pdf"
        made.write_bytes(b"%PDF")
        return made

    monkeypatch.setattr(latex, "build_pdf", build)
    monkeypatch.setattr(latex, "missing_tex_message", lambda: "")
    monkeypatch.setattr(report, "collect_findings", lambda budget, progress: [])
    material = write_report(tmp_path / "with", pdf=True)
    assert material.unbuilt == {NAME: "it does not build"}
    assert len(list((tmp_path / "with" / "pdf").iterdir())) == len(proof.document_names()) - 1
    assert "it does not build" in (tmp_path / "with/documents/measurements-permute_and_flip.html").read_text("utf-8")
    assert "../pdf/core-chaining.pdf" in (tmp_path / "with/documents/core-chaining.html").read_text("utf-8")
    assert broken_links(tmp_path / "with") == []
    monkeypatch.setattr(latex, "missing_tex_message", lambda: "no TeX")
    assert write_report(tmp_path / "without", pdf=True).pdfs == {}


# In a browser.


@pytest.mark.browser
def test_no_page_scrolls_sideways_or_has_a_barrier(folder: Path, tmp_path: Path) -> None:
    pages = ("index.html", f"claims/{FEW[0]}.html", "documents/measurements-permute_and_flip.html")
    for number, page in enumerate(pages):  # without their policy, which allows no script, even that of the test
        text = re.sub("<meta http-equiv.*>", "", (folder / page).read_text(encoding="utf-8"))
        (tmp_path / f"{number}.html").write_text(text, encoding="utf-8")
    visits = [(f"{number}.html", width, "light") for number in range(len(pages)) for width in (390, 1280)]
    found = list(visited(tmp_path, tmp_path, visits, axe_script()))
    assert len(found) == len(visits)
    assert [
        (one["page"], one["over"], one["violations"]) for one in found if one["over"] > 0 or one["violations"]
    ] == []
