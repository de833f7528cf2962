"""The registry of claims, and the sign-offs of those who read them."""

from datetime import date
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit import proofs, registry
from opendp_topk.apps.audit.registry import Signoff, append_signoff, read_signoffs
from opendp_topk.proof import claim_digest
from tests.concepts.copies import spoil
from tests.concepts.sentinels import raises_exactly

pytestmark = pytest.mark.untraced  # it derives all pins of copies of the package: tests of small ones are traced

ROOT = Path(__file__).resolve().parents[2]
NAME = "measurements/report_noisy_top_k"


def one(constructor: str, signoffs: Path | None = None) -> tk.audit.Claim:
    (found,) = [claim for claim in proofs(signoffs) if claim.constructor == constructor]
    return found


@pytest.mark.slow
def test_a_claim_names_its_proof_its_foundations_and_its_tests() -> None:
    claim = one("make_report_noisy_top_k")
    assert (claim.document, claim.status) == (NAME, "current")
    assert "measurements/selection#selection" in claim.relies_on
    assert "samplers/race" in claim.foundations
    assert "numerics/floatlog" in claim.foundations, "foundations of foundations count"
    assert "tests/measurements/test_report_noisy_top_k.py" in claim.tests
    assert claim.signoffs == claim.accepted_by == ()


def test_a_claim_whose_document_is_missing_names_its_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = {"repo": "tk.make_laplace", "a": "then_report_noisy_top_k(2)", "b": "make_report_noisy_top_k"}
    for name, text in files.items():
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / "test_it.py").write_text(text)
    monkeypatch.setattr(registry, "_TESTS", tmp_path / "tests")
    monkeypatch.setattr(registry, "_names_in_tests", registry._names_in_tests.__wrapped__)
    monkeypatch.setattr(registry, "document_of", lambda _: None)
    claim = registry._load_claim("make_report_noisy_top_k", [])
    assert (claim.document, claim.status) == (None, "missing")
    assert claim.tests == ("tests/a/test_it.py", "tests/b/test_it.py")


@pytest.mark.slow
def test_every_constructor_is_exercised_by_a_test() -> None:
    assert [claim.constructor for claim in proofs() if not claim.tests] == []


@pytest.mark.further
def test_the_graph_leads_from_statements_to_documents() -> None:
    found = {name: sorted(proof.current_reliances(name)) for name in proof.document_names()}
    assert sorted(found) == proof.document_names()
    assert {edge.split("#")[0] for edges in found.values() for edge in edges} <= set(found)
    assert "spaces/range_distance#conversion" in found["measurements/selection"]


@pytest.mark.further
def test_no_signoff_is_shipped() -> None:
    assert [path for path in ROOT.rglob("*signoff*.toml") if ".venv" not in path.parts] == []


@pytest.mark.slow
def test_a_signoff_holds_until_anything_below_it_changes(copy: Path, tmp_path: Path) -> None:
    file = tmp_path / "signoffs.toml"
    append_signoff(NAME, claim_digest(NAME), by="R. E. Viewer", file=file, on=date(2026, 1, 2))
    claim = one("make_report_noisy_top_k", file)
    assert claim.accepted_by == ("R. E. Viewer",)
    assert one("make_canonical_top_k", file).signoffs == ()
    tex = copy / "proofs" / "samplers" / "race.tex"
    spoil(tex, "$F$", "$G$")
    changed = one("make_report_noisy_top_k", file)
    assert changed.digest != claim.digest
    assert changed.accepted_by == ()
    assert [sign.by for sign in changed.signoffs] == ["R. E. Viewer"], "what was signed remains on record"


@pytest.mark.further
@pytest.mark.quick(file="sampling/samplers/race.py")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("sampling/samplers/race.py", "_DEEP = ", "_DEEP = 1 + "),
        ("sampling/samplers/entropy.py", "os.urandom(n + _SPARE)", "os.urandom(n + _SPARE)[::-1]"),
        ("spaces/measures.py", "else round_up(number)", "else float(number)"),
    ],
)
def test_a_signoff_covers_what_regions_reach(copy: Path, file: str, old: str, new: str) -> None:
    before = claim_digest(NAME)
    spoil(copy / "opendp_topk" / file, old, new)
    assert claim_digest(NAME) != before


@pytest.mark.slow
def test_comments_in_a_document_leave_a_signoff_valid(copy: Path) -> None:
    before = claim_digest(NAME)
    tex = copy / "proofs" / f"{NAME}.tex"
    spoil(tex, r"\end{document}", "% read with care\n\\end{document}")
    assert claim_digest(NAME) == before
    spoil(tex, r"\end{document}", "One word more.\n\\end{document}")
    assert claim_digest(NAME) != before


def test_signoffs_are_appended_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "signoffs.toml"
    signs = [append_signoff("a/b", "0" * 16, by=by, file=file, on=date(2026, 1, 2)) for by in ("Ada", ' "Bo" \\ Ç ')]
    assert signs[1].by == '"Bo" \\ Ç'
    assert read_signoffs(file) == signs
    assert signs[0] == Signoff("a/b", "0" * 16, "Ada", "2026-01-02")
    raises_exactly(tk.errors.ParameterError, lambda: append_signoff("a/b", "0" * 16, by="Ada", file=file), "already")
    append_signoff("a/b", "1" * 16, by="Ada", file=file)
    assert len(read_signoffs(file)) == 3


def test_what_is_no_signoff_and_no_file_of_them(tmp_path: Path) -> None:
    file = tmp_path / "signoffs.toml"
    for by in ("", "  ", "a\nb", None):
        raises_exactly(tk.errors.ParameterError, lambda by=by: append_signoff("a/b", "0", by=by, file=file))
    assert list(tmp_path.iterdir()) == []
    for text in ("[[signoff]]\nname = 'a'\n", "not toml", "[other]\n", "signoff = 3\n", "[[signoff]]\nname = 3\n"):
        file.write_text(text, encoding="utf-8")
        raises_exactly(tk.errors.TableError, lambda: read_signoffs(file))
        raises_exactly(tk.errors.TableError, lambda: proofs(file))
    raises_exactly(tk.errors.TableError, lambda: proofs(tmp_path / "none.toml"))
    nowhere = tmp_path / "no" / "file.toml"
    raises_exactly(tk.errors.TableError, lambda: append_signoff("a/b", "0", by="Ada", file=nowhere))
    raises_exactly(tk.errors.ProofError, lambda: claim_digest("core/nothing"))
