"""What was found of documents is kept for the sources and documents from which it was found, and for no others."""

import json
import os
import py_compile
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import findings, status

from .conftest import write

NAME = "inner/sums"


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.fixture
def kept(house: Path) -> Iterator[Path]:
    """The file beside the compiled modules of a package that has found its one document current."""
    (house / "opendp_topk/proof").mkdir()
    assert proof.Proof(NAME).status == "current"
    (file,) = (house / "opendp_topk/proof/__pycache__").iterdir()
    proof.clear_cache()
    return file


def underived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "hashed_code_texts", lambda name: pytest.fail(f"{name} was derived"))


def test_what_was_found_is_read(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = proof.claim_digest(NAME)
    proof.clear_cache()
    underived(monkeypatch)
    assert proof.Proof(NAME).status == "current"
    assert proof.claim_digest(NAME) == claim


@pytest.mark.parametrize(
    "change",
    [
        lambda house: write(house / "opendp_topk/inner/sums.py", "x = 1\n"),
        lambda house: write(house / "opendp_topk/inner/other.py", "__path__ = []\n"),
        lambda house: write(house / "proofs/inner/sums.tex", "\\pin{sum}{0123456789abcdef}\n"),
        lambda house: write(house / "proofs/relied.json", json.dumps({NAME: {"inner/none": "0123456789abcdef"}})),
        lambda house: (house / "opendp_topk/inner/sums.py").unlink(),
    ],
)
def test_of_other_files_it_says_nothing(kept: Path, house: Path, change: Callable[[Path], object]) -> None:
    change(house)
    proof.clear_cache()
    assert proof.Proof(NAME).status == "stale"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"STATE": 1}', '{"STATE": {"inner/sums": true}}', '{"STATE": [[]]}'])
def test_a_damaged_file_is_written_anew(kept: Path, text: str) -> None:
    kept.write_text(text.replace("STATE", findings.sources_digest()), encoding="utf-8")
    assert proof.Proof(NAME).status == "current"
    assert json.loads(kept.read_text(encoding="utf-8"))[findings.sources_digest()][NAME][0] is True


def test_states_before_are_kept_but_not_for_ever(kept: Path, house: Path) -> None:
    for number in range(20):
        write(house / "opendp_topk/inner/other.py", f"x = {number}\n")
        assert proof.Proof(NAME).status == "current"
    assert 1 < len(json.loads(kept.read_text(encoding="utf-8"))) < 20


def test_nothing_is_written_where_nothing_is_compiled(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (house / "opendp_topk/proof").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert proof.Proof(NAME).status == "current"
    assert not [*(house / "opendp_topk/proof").iterdir()]


def test_a_folder_that_cannot_be_written(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (house / "opendp_topk/proof").mkdir()
    monkeypatch.setattr(os, "replace", lambda *given, **options: (_ for _ in ()).throw(PermissionError))
    assert proof.Proof(NAME).status == "current"


def test_what_a_build_found_is_read(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings.write_findings_file(
        house / "proofs" / findings.BUILT, {findings.sources_digest(): status.derive_all_findings()}
    )
    proof.clear_cache()
    underived(monkeypatch)
    assert proof.Proof(NAME).status == "current"


def test_a_module_that_runs_unseen_leaves_no_document_current(kept: Path, house: Path) -> None:
    """Its compiled form says that it need not be compared with its source."""
    source = str(house / "opendp_topk/inner/sums.py")
    py_compile.compile(source, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert proof.Proof(NAME).status == "current"
    proof.clear_cache()
    py_compile.compile(source, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert proof.Proof(NAME).status == "stale"
