"""Proof documents and pins as values: digests, regions, statuses."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import modules
from proofs.tools import form
from tests.concepts.sentinels import raises_exactly
from tests.proof.conftest import CODE

from .conftest import write

# The region as a reader sees it: without the markers, blank edges and trailing blanks.
REGION = "def add(a, b):\n    return a + b  # [add]\n"


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    write(path, after)


def test_region(house: Path) -> None:
    assert proof.read_region("sum") == REGION
    assert proof.first_region_line("sum") == 5
    write(house / "opendp_topk/empty.py", "# proof-region: none\n\n# end-proof-region: none\n")
    assert proof.first_region_line("none") == 2


def test_a_region_has_one_place_in_the_package(house: Path) -> None:
    write(house / "opendp_topk/other.py", "# proof-region: sum\n# end-proof-region: sum\n")
    with pytest.raises(tk.errors.ProofError, match=r"exactly once.*it stands in inner/sums.py, other.py"):
        proof.read_region("sum")
    assert proof.Proof("inner/sums").status == "stale"
    raises_exactly(tk.errors.ProofError, lambda: proof.read_region("nothing"), "does not stand there")


def test_documents_and_pins(house: Path) -> None:
    assert proof.document_names() == ["inner/sums"]
    (pin,) = proof.code_hashes("inner/sums")
    assert (pin.source_file, pin.region, pin.is_current) == ("inner/sums.py", "sum", True)
    assert proof.Proof("inner/sums").path == house / "proofs" / "inner" / "sums.tex"


@pytest.mark.parametrize("change", [("a + b", "a - b"), ("[add]", "[sum]"), ("a + b", "b + a"), ("a, b", "b, a")])
def test_any_change_of_the_code_is_stale(house: Path, change: tuple[str, str]) -> None:
    assert proof.Proof("inner/sums").status == "current"
    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text.replace(*change, 1))
    assert proof.Proof("inner/sums").status == "stale"


def test_code_around_the_region_may_change(house: Path) -> None:
    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text.replace("x = 1", "x = 2") + "\ny = 3\n")
    assert proof.Proof("inner/sums").status == "current"


@pytest.mark.parametrize(
    "change",
    [
        ("# proof-region: sum", "# proof-region: other"),
        ("# end-proof-region: sum", ""),
        ("x = 1", "# proof-region: sum"),
    ],
)
def test_markers_must_stand_once_each(house: Path, change: tuple[str, str]) -> None:
    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text.replace(*change, 1))
    raises_exactly(tk.errors.ProofError, lambda: proof.read_region("sum"), "exactly once")
    assert proof.Proof("inner/sums").status == "stale"


def test_a_source_that_is_gone(house: Path) -> None:
    (house / "opendp_topk/inner/sums.py").unlink()
    proof.clear_cache()
    raises_exactly(tk.errors.ProofError, lambda: proof.read_region("sum"), "does not stand there")
    assert proof.Proof("inner/sums").status == "stale"


def test_a_document_without_pins_is_not_current(house: Path) -> None:
    tex = house / "proofs/inner/sums.tex"
    for text in ("Trust me.\n", tex.read_text("utf-8") + "\\pin{sum}{0}\n"):  # or with one of two that is not
        write(tex, text)
        assert proof.Proof("inner/sums").status == "stale"


def test_missing_document(house: Path) -> None:
    assert proof.Proof("inner/none").status == "missing"
    assert proof.Proof("inner/none").path is None
    raises_exactly(tk.errors.ProofError, lambda: proof.code_hashes("inner/none"), "inner/none")


def test_a_chain_is_as_good_as_its_worst_link(house: Path) -> None:
    good, none, caller = proof.Proof("inner/sums"), proof.Proof("inner/none"), proof.UNPROVEN
    assert proof.Proof("inner/sums", (good, good)).status == "current"
    assert proof.Proof("inner/sums", (good, none)).status == "missing"
    assert proof.Proof("inner/sums", (good, proof.Proof("inner/sums", (caller,)), none)).status == "unproven"


def test_text(house: Path) -> None:
    good = proof.Proof("inner/sums")
    assert str(good) == "proofs/inner/sums.tex (current)"
    assert str(proof.UNPROVEN) == "unproven: the caller supplied the map"
    chained = str(proof.Proof("inner/sums", (good, proof.UNPROVEN)))
    assert str(good) in chained
    assert "unproven" in chained


def test_an_installed_wheel_holds_its_own_proofs(house: Path) -> None:
    assert proof.documents_folder() == house / "proofs"
    (house / "opendp_topk" / "proof").mkdir()
    (house / "proofs").rename(house / "opendp_topk" / "proof" / "documents")
    proof.clear_cache()
    assert proof.documents_folder() == house / "opendp_topk" / "proof" / "documents"
    assert proof.Proof("inner/sums").status == "current"


def test_a_source_that_is_no_python(house: Path) -> None:
    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text + "def\n")
    assert proof.Proof("inner/sums").status == "stale"


@pytest.mark.further
def test_the_first_question_from_many_threads_has_one_answer(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = modules._parse_module.__wrapped__

    def parsed_slowly(*given: str) -> modules.Module:
        time.sleep(0.0002)
        return parsed(*given)

    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text.replace("a + b", "a + b if other else 0"))
    rewrite(house / "opendp_topk/inner/sums.py", lambda text: text + "\n\ndef other():\n    return add\n")
    write(house / "proofs/inner/sums.tex", f"Text.\n\\pin{{sum}}{{{proof.compute_code_hash('inner/sums', 'sum')}}}\n")
    monkeypatch.setattr(modules, "_parse_module", parsed_slowly)
    assert [Counter(asked_by(16, lambda: proof.Proof("inner/sums").status)) for _ in range(50)] == [
        {"current": 16}
    ] * 50
    assert {len(set(map(id, asked_by(16, lambda: modules.find_module("inner.sums"))))) for _ in range(50)} == {1}


def asked_by(threads: int, question: Callable[[], object]) -> list[object]:
    """What each of so many threads is told that ask at once, of a state that nobody has asked for before."""
    proof.clear_cache()
    gate, told = threading.Barrier(threads), []

    def ask() -> None:
        gate.wait()
        try:
            told.append(question())
        except Exception as error:
            told.append(type(error).__name__)

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    return told


# The form of a document whose code moved, or that was never pinned.


def stale() -> list[str]:
    return [one for one in form.problems("inner/sums") if "re-read the proof" in one]


def test_a_stale_pin_is_told_with_both_digests(house: Path) -> None:
    assert stale() == []
    (pin,) = proof.code_hashes("inner/sums")
    write(house / "opendp_topk" / "inner" / "sums.py", CODE.replace("a + b", "a - b"))
    now, began = proof.compute_code_hash("inner/sums", "sum"), "sums.tex proved region sum of inner/sums.py at"
    (said,) = stale()
    assert f"{began} {pin.digest}, but it or what it reaches is now at {now}" in said
    write(house / "proofs" / "inner" / "sums.tex", "Text.\n\\pin{sum}{}\n")
    (said,) = stale()
    assert f"{began} no digest, but it or what it reaches is now at {now}" in said
