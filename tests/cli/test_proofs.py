"""``proofs``: every public constructor with its document and state, and the exit code that a program reads."""

from pathlib import Path
from unittest import mock

import pytest

import opendp_topk
from opendp_topk import proof
from opendp_topk.proof import library
from opendp_topk.proof.latex import missing_tex_message, parse_note_rows
from tests.concepts.readings import last_reading

from .conftest import Command

DOCUMENT = r"""\documentclass{article}
\proofdocument{core/chaining}{Chains}
\pin{range_distance}{%s}
\pin{nothing}{0123456789abcdef}
"""


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of documents that replaces the real one."""
    (tmp_path / "core").mkdir()
    monkeypatch.setattr(library, "documents_folder", lambda: tmp_path)
    proof.clear_cache()
    yield tmp_path
    proof.clear_cache()


@pytest.mark.slow
def test_the_list_holds_every_constructor_and_document(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    result = command("proofs")
    words = [line.split() for line in result.out.splitlines()]
    makers = [name for name in opendp_topk.__all__ if name.startswith("make_")]
    assert makers
    for maker in makers:
        (row,) = [row for row in words if row[:1] == [maker]]
        stated = getattr(getattr(opendp_topk, maker), "proof_name", None)
        expected = "unproven" if maker.startswith("make_user_") else proof.Proof(stated).status if stated else "missing"
        assert row[2] == expected
        assert row[1] == ("core/user" if expected == "unproven" else stated or "none")
    listed = {row[-2] for row in words if len(row) in (2, 3)}
    assert set(proof.document_names()) <= listed
    states = {row[-1] for row in words if row and row[-1] in ("stale", "missing")}
    assert result.code == (1 if states else 0)
    assert (result.err, result.out.splitlines()[0]) == ("", "Proof documents of the public constructors:")


@pytest.mark.further
@pytest.mark.quick(name="core/chaining")
@pytest.mark.parametrize("name", ["core/chaining", "proofs/core/chaining.tex", "core/chaining.tex"])
def test_one_document(command: Command, name: str) -> None:
    result = command("proofs", name)
    assert result.field("document") == str(proof.document_path("core/chaining"))
    assert result.field("status") == proof.Proof("core/chaining").status
    for pin in proof.code_hashes("core/chaining"):
        state = "current" if pin.is_current else "stale"
        assert f"{pin.digest} ({state}) region {pin.region} of {pin.source_file}" in result.field("pins")
    assert f"last reading {last_reading('core/chaining')}" in result.flat
    checks = " ".join(f"{one} ({one.status})" for one in proof.machine_checks("core/chaining"))
    assert (result.field("checked by machine"), checks > "") == (checks, True)
    assert result.code == (0 if result.field("status") == "current" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["note", "proofs/note.tex"])
def test_the_note_leads_to_documents_and_lines(command: Command, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = command("proofs", name)
    assert result.field("note") == str(proof.document_path("note"))
    for row in parse_note_rows("note"):
        first = row.code_location.partition(",")[0]
        assert f"{row.document}#{row.label} {proof.Proof(row.document).status} {first}" in result.flat
    assert result.code == 0


@pytest.mark.slow
def test_a_note_that_leads_to_stale_proofs_fails(command: Command, staged: Path) -> None:
    (staged / "core" / "chaining.tex").write_text(DOCUMENT % "0123456789abcdef")
    (staged / "note.tex").write_text(r"\coderow{one}{a claim}{core/chaining}{calls}{range_distance}{}")
    result = command("proofs", "note")
    said = "core/chaining#calls stale spaces/metrics.py:" in result.flat
    assert (result.code, said, result.err) == (1, True, "")
    assert "\n\nIt covers no code itself, and refers to these statements and lines:\n\nstatement " in result.out
    assert "Start with: opendp-topk proofs note" in command("proofs").flat


@pytest.mark.slow
def test_a_constructor_stands_for_its_document(command: Command) -> None:
    for name in ("make_user_measurement", "user_measurement"):
        result = command("proofs", name)
        assert result.field("constructor") == "make_user_measurement, make_user_transformation"
        assert result.field("document").endswith("core/user.tex")
        assert "required for its privacy" not in result.flat


@pytest.mark.slow
def test_a_constructor_tells_which_documents_carry_its_privacy(command: Command) -> None:
    name = "measurements/report_noisy_top_k"
    for asked in ("make_report_noisy_top_k", name):
        shown = command("proofs", asked).flat
        carriers, others = proof.supporting_documents(name), proof.other_foundations(name)
        needed = f"required for its privacy {len(carriers)} documents: {', '.join(carriers)}"
        assert f"{needed} required for other claims only" in shown
        assert f"required for other claims only {len(others)} documents: {', '.join(others)}" in shown


@pytest.mark.further
def test_a_stale_proof_is_shown_and_fails(command: Command, staged: Path) -> None:
    (staged / "core" / "chaining.tex").write_text(DOCUMENT % "0123456789abcdef")
    result = command("proofs", "core/chaining")
    assert (result.code, result.field("status")) == (1, "stale")
    assert "0123456789abcdef (stale) region range_distance of spaces/metrics.py" in result.field("pins")
    assert "0123456789abcdef (missing) region nothing" in result.field("pins")
    assert result.field("checked by machine") == "none of its statements"
    listed = command("proofs")
    assert listed.code == 1
    assert "core/chaining stale" in listed.flat
    assert "make_report_noisy_top_k measurements/report_noisy_top_k missing" in listed.flat


@pytest.mark.further
def test_a_current_proof_succeeds_and_a_missing_one_fails(command: Command, staged: Path) -> None:
    current = "\n".join(DOCUMENT.splitlines()[:3]) + "\n"
    (staged / "core" / "chaining.tex").write_text(current % "")
    digest = proof.compute_code_hash("core/chaining", "range_distance")
    (staged / "core" / "chaining.tex").write_text(current % digest)
    proof.clear_cache()
    result = command("proofs", "core/chaining")
    assert (result.code, result.field("status")) == (0, "current")
    command("proofs", "make_report_noisy_top_k").complains(1, "proofs/measurements/report_noisy_top_k.tex is missing")


@pytest.mark.slow
def test_bad_questions(command: Command) -> None:
    for name in ("nonsense", "../README", "make_nothing", ""):
        command("proofs", name).complains(2, "one of the constructors or documents that opendp-topk proofs lists")


@pytest.mark.slow
def test_without_tex_it_says_what_to_install(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = command("proofs", "core/chaining", "--pdf", "--out", tmp_path)
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "texlive-latex-extra" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.further
def test_a_pdf_is_built_here_or_in_the_folder_of_out(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    built = mock.Mock(return_value=Path("x.pdf"))
    monkeypatch.setattr("opendp_topk.apps.cli.proofs.build_pdf", built)
    for name in ("core/user", "note"):
        for out in ((), ("--out", "new")):
            assert command("proofs", name, "--pdf", *out).field("built") == "x.pdf"
            assert built.call_args == mock.call(name, Path("new" if out else "."))


@pytest.mark.tex
def test_a_pdf_is_built_where_it_was_asked_for(command: Command, tmp_path: Path) -> None:
    if missing_tex_message():
        pytest.skip(missing_tex_message())
    result = command("proofs", "core/chaining", "--pdf", "--out", tmp_path / "new")
    assert (tmp_path / "new" / "core-chaining.pdf").read_bytes().startswith(b"%PDF-")
    assert result.field("built") == str(tmp_path / "new" / "core-chaining.pdf")
    blocked = tmp_path / "file"
    blocked.touch()
    blocked_result = command("proofs", "core/chaining", "--pdf", "--out", blocked)
    assert blocked_result.code == 1
    assert blocked_result.err.count("\n") == 1
    assert "Traceback" not in blocked_result.err
