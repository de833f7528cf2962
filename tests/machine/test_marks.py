"""A statement that is called checked goes stale with either of its two texts, and with the words that they use.

Tries proofs/proof.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.errors import ProofError
from opendp_topk.proof import library, machine
from proofs.tools import form
from proofs.tools.marks import misjudged
from tests.concepts.copies import spoil
from tests.pages.page import ROOT

DOCUMENT = "measurements/selection"
TEX = "proofs/measurements/selection.tex"
V = "proofs/machine/FlippingRange.v"


def mark() -> machine.MachineCheck:
    """The mark of the range of permute-and-flip, among those of its document."""
    (found,) = [check for check in proof.machine_checks(DOCUMENT) if check.theorem.endswith("flipping_range")]
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(ROOT / "proofs", tmp_path / "proofs")
    (tmp_path / "opendp_topk").symlink_to(ROOT / "opendp_topk")
    with library.use_package_folder(tmp_path / "opendp_topk"):
        proof.clear_cache()
        yield tmp_path
    proof.clear_cache()


@pytest.mark.further
def test_every_mark_holds() -> None:
    assert [
        str(check) for name in proof.document_names() for check in proof.machine_checks(name) if not check.is_current
    ] == []


@pytest.mark.further
@pytest.mark.quick(file="proofs/machine/Laws.v")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (TEX, r"For all $y,y'$, $L(y)-L(y')\le a(r)$", r"For all $y,y'$, $L(y)-L(y')\le r$"),
        (V, "range l (flipped s) (flipped s') (a_PF r)", "range l (flipped s) (flipped s') r"),
        (V, "r + 2 * ln (2 - exp (- (r / 2)))", "r + ln (2 - exp (- (r / 2)))"),
        ("proofs/machine/Laws.v", "loss P P' y - loss P P' z <= a", "loss P P' y - loss P P' z <= 2 * a"),
    ],
    ids=["document", "theorem", "definition", "definition of another file"],
)
def test_a_text_that_changed(copy: Path, file: str, old: str, new: str) -> None:
    check = mark()
    assert check.status == "current"
    spoil(copy / file, old, new)
    assert check.status == "stale"
    assert any("hold them against each other" in problem for problem in form.problems(DOCUMENT))


def test_proofs_and_comments_are_no_part_of_a_statement(copy: Path) -> None:
    check = mark()
    before = check.current_digest
    spoil(copy / V, "(* The range of permute-and-flip: the theorem. *)", "(* A theorem. *)")
    spoil(copy / V, "intros s s' r near y z here there.", "intros s s' r near y z here. intros there.")
    assert check.current_digest == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FlippingRange", "Laws"])
def test_a_source_that_was_not_compiled_as_it_is(copy: Path, name: str) -> None:
    """Whatever is changed in the file or in one that it requires: what the words say is for the machine to judge."""
    check = mark()
    assert check.uncompiled_files == []
    path = copy / f"proofs/machine/{name}.v"
    path.write_text("Unset Guard Checking.\n" + path.read_text("utf-8"), "utf-8")
    proof.clear_cache()
    assert check.status == "stale"
    assert any(f"but {name} is not what was compiled" in problem for problem in form.problems(DOCUMENT))


@pytest.mark.slow
def test_without_a_record_nothing_is_checked(copy: Path) -> None:
    (copy / "proofs/machine/compiled.json").unlink()
    proof.clear_cache()
    assert {check.status for name in proof.document_names() for check in proof.machine_checks(name)} == {"stale"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (TEX, r"\checked{flips}{", r"\checked{width}{", "has no label width"),
        (TEX, r"\checked{flips}{FlippingRange.", r"\checked{flips}{Flipping.", "there is no proofs/machine/Flipping.v"),
        (V, "Theorem flipping_range", "Theorem flip_range", "states no flipping_range"),
    ],
    ids=["label", "file", "theorem"],
)
def test_a_statement_that_is_missing(copy: Path, file: str, old: str, new: str, said: str) -> None:
    spoil(copy / file, old, new)
    check = mark()
    assert check.status == "missing"
    with pytest.raises(ProofError, match=said):
        _ = check.current_digest
    assert any(said in problem for problem in form.problems(DOCUMENT))


@pytest.mark.slow
@pytest.mark.parametrize("after", [r"\end{document}", r"\precondition"], ids=["below the end", "above the theorem"])
def test_a_mark_that_stands_elsewhere(copy: Path, after: str) -> None:
    text = (copy / TEX).read_text("utf-8")
    (line,) = re.findall(r"\\checked\{flips\}.*flipping_range.*\n", text)
    (copy / TEX).write_text(text.replace(line, "").replace(after, after + "\n" + line), "utf-8")
    proof.clear_cache()
    check = mark()
    assert check.status == "missing"
    assert any("below the theorem" in problem for problem in form.problems(DOCUMENT))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("remark", "said"),
    [
        ("", "whether it is same:, part: or weaker:"),
        ("some: ``$L(y)-L(y')\\le a(r)$''", "whether it is same:, part: or weaker:"),
        ("part: a half", "must quote the words of flips that FlippingRange.flipping_range is about"),
        ("part: ``$L(y)-L(y')\\le r$''", "which flips does not say"),
        ("same: ``$L(y)-L(y')\\le r$''", "which flips does not say"),
    ],
)
def test_words_that_a_mark_may_not_say(copy: Path, remark: str, said: str) -> None:
    """The first is what all marks once were; the last two quote a theorem that the document does not have."""
    assert misjudged(mark()) == []
    spoil(copy / TEX, mark().remark, remark)
    assert any(said in problem for problem in form.problems(DOCUMENT))


def test_a_mark_on_what_is_no_theorem(copy: Path) -> None:
    spoil(copy / TEX, r"\checked{flips}", r"\checked{loss}")
    assert any("is no theorem" in problem for problem in misjudged(mark()))


@pytest.mark.slow
def test_a_renewal_writes_what_is_now_stated(copy: Path) -> None:
    form.repin(DOCUMENT)  # writes what rewordings have carried so far
    spoil(copy / TEX, r"$L(y)-L(y')\le a(r)$", r"$L(y)-L(y') \le a(r) + 0$")
    assert form.repin(DOCUMENT) == 2  # marks on it
    check = mark()
    assert check.status == "current"


def test_a_mark_is_no_part_of_what_others_rely_on(copy: Path) -> None:
    before = proof.current_reliances("measurements/permute_and_flip")
    spoil(copy / TEX, r"\checked{flips}", r"\checked{flips-attained}")
    assert proof.current_reliances("measurements/permute_and_flip") == before


def test_what_a_theorem_states() -> None:
    lines = machine.theorem_with_vocabulary("Concentrated.range_to_zCDP").splitlines()
    assert lines[0] == ("Theorem range_to_zCDP : forall a, range outcomes P P' a -> zCDP outcomes P P' (a ^ 2 / 8)")
    stated = "Definition zCDP {A : Type} (outcomes : list A) (P P' : A -> R) (rho : R) : Prop"
    assert f"{stated} := renyi outcomes P P' rho" in " ".join(lines)
    assert machine.required_files("Concentrated") == ["Concentrated", "Laws", "Sums"]
    # which names one of these
    assert machine.required_files("Hyperbolic") == ["Concentrated", "Hyperbolic", "Laws", "Sums"]
    assert not [line for line in lines[1:] if line.startswith(("Theorem", "Lemma", "Proof"))]


def test_the_page_for_reviewers_speaks_of_every_constructor_once() -> None:
    page = (ROOT / "docs" / "machine_checked.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `make_")]
    assert sorted(re.findall(r"`(make_\w+)`", " ".join(rows))) == [n for n in tk.__all__ if n.startswith("make_")]
