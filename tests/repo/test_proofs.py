"""Proofs and code keep together: every claim has a current proof, and the checks that say so can fail."""

import functools
import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit import proofs as registry
from opendp_topk.apps.audit.registry import Claim
from opendp_topk.proof import readings
from proofs.tools import form
from proofs.tools.log import is_read
from proofs.tools.renewal import MIGRATED
from tests.concepts.copies import spoil

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "opendp_topk"
DOCUMENTS = proof.document_names()
PINNED = {(pin.source_file, pin.region) for name in DOCUMENTS for pin in proof.code_hashes(name)}
MARKED = [
    (path.relative_to(PACKAGE).as_posix(), name)
    for path in sorted(PACKAGE.rglob("*.py"))
    for name in re.findall(r"^ *# proof-region: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
]
EXACT_CODE = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in ("samplers", "distributions")
    for path in (PACKAGE / folder).glob("*.py")
    if path.name != "__init__.py"
)
RULES = [
    ("core/transformation.py", "chaining"),
    ("spaces/metrics.py", "range_distance"),
    ("numerics/arithmetic.py", "rounding"),
    ("core/binary_search.py", "binary_search"),
]
CONSTRUCTORS = [name for name in tk.__all__ if name.startswith("make_")]
ROW = re.compile(
    r"^\| (?P<claim>[^|]+) \| \[(?P<name>[^]]+)\]\((?P<link>[^)]+)\) \| (?P<code>[^|]+) \| (?P<test>[^|]+) \|$"
)
ROWS = [found for line in (ROOT / "proofs/README.md").read_text("utf-8").splitlines() if (found := ROW.match(line))]


# Every claim has a proof.


@pytest.mark.further
def test_documents_are_sound_in_form() -> None:
    assert {name: found for name in DOCUMENTS if (found := form.problems(name))} == {}


def test_every_marked_region_is_pinned() -> None:
    assert set(MARKED) - set(PINNED) == set()
    assert set(RULES) - set(PINNED) == set()


def test_samplers_and_distributions_are_pinned() -> None:
    assert set(EXACT_CODE) - {source for source, _ in PINNED} == set()


@functools.cache
def claims() -> list[Claim]:
    """The registry, read once."""
    return registry()


@pytest.mark.further
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_public_constructor_is_proved(name: str) -> None:
    (row,) = [row for row in claims() if row.constructor == name]
    module = Path(inspect.getfile(inspect.unwrap(getattr(tk, name)))).relative_to(PACKAGE).as_posix()
    assert row.document is not None
    assert module in {pin.source_file for pin in proof.code_hashes(row.document)}
    if name.startswith("make_user_"):
        assert (row.document, row.status) == ("core/user", "unproven")
        assert "caller" in row.remark
    else:
        assert (row.status, row.remark) == ("current", "")


@pytest.mark.further
def test_the_registry_lists_every_constructor_once() -> None:
    assert [row.constructor for row in registry()] == sorted(CONSTRUCTORS)


@pytest.mark.further
def test_a_constructor_without_proof_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tk, "__all__", ["make_unfounded"])
    monkeypatch.setattr(tk, "make_unfounded", lambda: None, raising=False)
    (claim,) = registry()
    assert (claim.constructor, claim.document, claim.status) == ("make_unfounded", None, "missing")


# proofs/README.md maps claim -> proof -> code -> test.


def test_the_map_lists_every_document_once() -> None:
    assert sorted(row["name"] for row in ROWS) == DOCUMENTS
    assert all(row["link"] == f"{row['name']}.tex" for row in ROWS)


def test_the_map_names_files_that_exist() -> None:
    for row in ROWS:
        code, tests = (re.findall(r"`([^`]+)`", row[column]) for column in ("code", "test"))
        assert code, row["name"]
        assert tests, row["name"]
        assert [source for source in code if not (PACKAGE / source).is_file()] == []
        assert [test for test in tests if not (ROOT / "tests" / test).is_file()] == []
        assert {pin.source_file for pin in proof.code_hashes(row["name"])} <= set(code)


# The checks can fail.


@pytest.mark.further
def test_the_copy_is_sound(copy: Path) -> None:
    assert form.problems("spaces/range_distance") == []


@pytest.mark.further
def test_code_that_moved(copy: Path) -> None:
    spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else 1 * d_in")
    (problem,) = form.problems("spaces/range_distance")
    assert "re-read the proof, then update the pin" in problem
    assert "range_distance of spaces/metrics.py" in problem


@pytest.mark.further
def test_a_region_that_is_gone(copy: Path) -> None:
    spoil(copy / "opendp_topk/spaces/metrics.py", "# end-proof-region: range_distance", "")
    (problem,) = form.problems("spaces/range_distance")
    assert "exactly once" in problem


TEX = Path("proofs/spaces/range_distance.tex")


UNSOUND = (
    (r"\codetag{l-inf}", r"\codetag{l-two}", "cites [l-two], which no pinned region holds"),
    (r"\codetag{l-inf}", "", "never cites [l-inf]"),
    (r"\codetag{l-inf}", r"% \codetag{l-inf}", "never cites [l-inf]"),
    (r"\runtimeerrors", "", r"lacks \runtimeerrors"),
    (r"\precondition", "", r"lacks \precondition"),
    (r"\postcondition", "", r"lacks \postcondition"),
    (r"\begin{proof}", r"\begin{quote}", r"lacks \begin{proof}"),
    (r"\proofdocument{spaces/range_distance}", r"\proofdocument{spaces/other}", "must call itself"),
    (r"\end{document}", "Similarly for the rest.\n" r"\end{document}", "says 'similarly'"),
    (r"\end{document}", r"\relieson{core/nothing}\end{document}", "relies on core/nothing.tex, which does not exist"),
    (r"\end{document}", r"\relieson[no-label]{core/user}\end{document}", "relies on 'no-label' of core/user.tex"),
    (r"\pin{", r"\notapin{", "pins no region"),
)


@pytest.mark.slow
def test_documents_that_are_unsound(copy: Path) -> None:
    sound = (copy / TEX).read_text(encoding="utf-8")
    for old, new, message in UNSOUND:
        spoil(copy / TEX, old, new)
        assert any(message in problem for problem in form.problems("spaces/range_distance")), message
        (copy / TEX).write_text(sound, encoding="utf-8")


@pytest.mark.slow
def test_a_statement_that_changed(copy: Path) -> None:
    """A lemma that says something else makes stale what relies on it, and all that rests on that."""
    resting = ["measurements/selection", "measurements/report_noisy_top_k", "measurements/canonical_top_k"]
    before = {name: tk.audit.Proof(name).status for name in resting}
    assert set(before.values()) == {"current"}
    spoil(copy / TEX, r"\label{conversion}", r"\label{conversion} On Sundays,")
    assert form.problems("spaces/range_distance") == []
    (problem,) = form.problems("measurements/selection")
    assert "relies on spaces/range_distance#conversion, whose statement is not what it was" in problem
    assert [tk.audit.Proof(name).status for name in resting] == ["stale"] * 3
    quotes = ["at the distance that neighbours attain", "On Sundays,"]
    assert form.main(["--repin", "measurements/selection", *quotes, *WHY]) == 0
    assert form.problems("measurements/selection") == []


def test_no_document_rests_on_itself() -> None:
    pairs = [(name, one) for name in DOCUMENTS for one in proof.document_foundations(name)]
    assert [name for name, one in pairs if name in proof.document_foundations(one)] == []


def test_every_document_on_which_another_relies_is_recorded() -> None:
    recorded = json.loads((ROOT / "proofs" / "relied.json").read_text(encoding="utf-8"))
    assert {name for name in DOCUMENTS if proof.current_reliances(name)} == set(recorded)


WHY = ["--because", "a product of two numbers is the same in either order", "--by", "Ada"]
RENEWED = ["--repin", "spaces/range_distance", "[l-inf]", "else d_in * 2", *WHY]


@pytest.mark.further
def test_repin(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else d_in * 2")
    assert form.main(["spaces/range_distance"]) == 1
    assert "re-read the proof" in capsys.readouterr().out
    assert form.main(RENEWED) == 0
    assert " pins of proofs/spaces/range_distance.tex renewed" in capsys.readouterr().out
    assert form.problems("spaces/range_distance") == []
    assert form.repin("spaces/range_distance") == 0


# Every pin has a line of who read what.


def test_the_log_of_readings() -> None:
    """First what stood before quotes were asked for, then readings, whose quotes documents still have or had."""
    lines = [line for line in readings.read_review_log() if isinstance(line, readings.ReviewEntry)]
    migrated = [line.checked == MIGRATED for line in lines]
    assert migrated == sorted(migrated, reverse=True)
    assert sum(migrated) == len({line.document for line in lines if line.checked == MIGRATED})
    assert {line.by for line in lines if line.checked == MIGRATED} == {"migration"}
    unread = [name for name in DOCUMENTS if not is_read(name)]
    assert unread == []


@pytest.mark.further
@pytest.mark.quick(spoiled="pin")
@pytest.mark.parametrize("spoiled", ["pin", "relied"])
def test_a_digest_that_was_written_by_hand_is_noticed(copy: Path, spoiled: str) -> None:
    if spoiled == "pin":
        spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else d_in * 2")
        for old in [pin for pin in proof.code_hashes("spaces/range_distance") if not pin.is_current]:
            spoil(copy / TEX, old.digest, old.current_digest)
        name = "spaces/range_distance"
    else:
        spoil(copy / TEX, r"\label{conversion}", r"\label{conversion} On Sundays,")
        name = "measurements/selection"
        key = "spaces/range_distance#conversion"
        spoil(copy / "proofs/relied.json", proof.recorded_reliances(name)[key], proof.current_reliances(name)[key])
    assert proof.Proof(name).status == "current"
    (problem,) = form.problems(name)
    assert "without a line in readings.jsonl" in problem


UNQUOTED = [
    (["--repin"], "expected 3"),
    (RENEWED[:2], "expected 3"),
    (RENEWED[:4], "--by"),
    (RENEWED[:6], "--by"),
    ([*RENEWED[:7], " "], "--by"),
    ([*RENEWED[:4], *RENEWED[6:]], "--because"),
    ([*RENEWED[:5], "it holds", *RENEWED[6:]], "three words"),
    ([*RENEWED[:2], "[l-two]", *RENEWED[3:]], "does not say"),
    ([*RENEWED[:2], "a step which nobody took", *RENEWED[3:]], "does not say"),
    ([*RENEWED[:2], "the", *RENEWED[3:]], "three words"),
    ([*RENEWED[:3], "else d_in * 3", *RENEWED[4:]], "no changed line"),
    ([*RENEWED[:3], "2", *RENEWED[4:]], "no changed line"),
    ([*RENEWED, "--repin", "spaces/domains", "[not-empty]", "array.size == 9"], "no changed line of spaces/domains"),
    (["--reworded", "spaces/range_distance#conversion", "--by", "Ada"], "--because"),
    (["--reworded", "spaces/range_distance#conversion", "--by", "Ada", "--because", "a comma"], "no document relies"),
]


@pytest.mark.further
def test_a_renewal_without_its_quotes_is_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else d_in * 2")
    before = readings.review_log_path().read_text("utf-8")
    for arguments, reason in UNQUOTED:
        with pytest.raises(SystemExit):
            form.main(arguments)
        assert reason in " ".join(capsys.readouterr().err.split()), arguments
        assert form.problems("spaces/range_distance") != []
        assert readings.review_log_path().read_text("utf-8") == before


@pytest.mark.slow
def test_several_documents_in_one_command(copy: Path) -> None:
    spoil(copy / "opendp_topk/spaces/metrics.py", "else 2 * d_in", "else d_in * 2")
    spoil(copy / "opendp_topk/spaces/domains.py", "array.size == 0", "array.size <= 0")
    form.main([*RENEWED, "--repin", "spaces/domains", "[not-empty]", "array.size <= 0"])
    assert form.problems("spaces/domains") == form.problems("spaces/range_distance") == []
    line = proof.last_review("spaces/domains")
    assert (line.by, line.checked, line.against) == ("Ada", "[not-empty]", "array.size <= 0")


@pytest.mark.slow
def test_other_words_with_the_same_meaning_are_said_once(copy: Path) -> None:
    spoil(copy / TEX, r"\begin{theorem}[Conversion]", r"\begin{theorem}[Converting]")
    stale = {name for name in DOCUMENTS if proof.drifted_statements(name)}
    assert len(stale) > 1
    why = ["--because", "only the name of the theorem is another", "--by", "Ada"]
    assert form.main(["--reworded", "spaces/range_distance#conversion", *why, "spaces/range_distance"]) == 0
    assert {name for name in DOCUMENTS if proof.drifted_statements(name)} == set()
    assert form.problems("measurements/selection") == []
    spoil(copy / TEX, r"\begin{theorem}[Converting]", r"\begin{theorem}[Converting]\\On Sundays,")
    assert {name for name in DOCUMENTS if proof.drifted_statements(name)} == stale


@pytest.mark.parametrize("step", [form.problems, form.repin, proof.document_text, form.build_pdf])
def test_no_such_document(step: Callable[[str], object]) -> None:
    with pytest.raises(tk.errors.ProofError, match="core/nothing"):
        step("core/nothing")


# LaTeX builds every document.


def require_tex() -> None:
    """Skip where TeX is missing, or fail if OPENDP_TOPK_REQUIRE_TEX=1."""
    missing = form.missing_tex_message()
    if missing and os.environ.get("OPENDP_TOPK_REQUIRE_TEX") == "1":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@pytest.mark.tex
@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_builds(name: str, tmp_path: Path) -> None:
    require_tex()
    pdf = form.build_pdf(name, tmp_path / "new")
    assert pdf == tmp_path / "new" / f"{name.replace('/', '-')}.pdf"
    assert pdf.read_bytes().startswith(b"%PDF")


@pytest.mark.tex
def test_building_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_tex()
    assert form.main(["spaces/range_distance", "--pdf", str(tmp_path)]) == 0
    assert str(tmp_path / "spaces-range_distance.pdf") in capsys.readouterr().out


@pytest.mark.tex
@pytest.mark.parametrize(
    ("fault", "report"),
    [
        (r"\Cref{nowhere}", "nowhere"),
        (r"\cite{Nobody}", "Nobody"),
        (r"\codetag{no-such-tag}", "no-such-tag"),
        (r"\nosuchcommand", "Undefined control sequence"),
        (r"\label{twice}\label{twice}", "multiply"),
    ],
)
def test_faults_stop_the_build(copy: Path, fault: str, report: str) -> None:
    require_tex()
    spoil(copy / TEX, r"\end{document}", rf"{fault} \end{{document}}")
    with pytest.raises(tk.errors.ProofError, match=report):
        form.build_pdf("spaces/range_distance", copy)
    assert not (copy / "spaces-range_distance.pdf").exists()


@pytest.mark.tex
def test_any_code_can_be_listed(copy: Path) -> None:
    """Underscores, TeX's special characters, and letters in and beyond the table of preamble.sty."""
    require_tex()
    listed = r"δ_1 = '\\%$#&~^{}@*) 漢 ≤ é'  # [l-inf]" "\n        return d_in if"
    spoil(copy / "opendp_topk/spaces/metrics.py", "return d_in if", listed)
    assert form.build_pdf("spaces/range_distance", copy).is_file()


def test_without_tex(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tk.errors.MissingExtraError, match="texlive-latex-extra lmodern"):
        form.build_pdf("core/chaining", tmp_path)
    monkeypatch.delenv("OPENDP_TOPK_REQUIRE_TEX", raising=False)
    with pytest.raises(pytest.skip.Exception):
        require_tex()
    monkeypatch.setenv("OPENDP_TOPK_REQUIRE_TEX", "1")
    with pytest.raises(pytest.fail.Exception):
        require_tex()
