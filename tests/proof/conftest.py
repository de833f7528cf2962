"""A checkout with one module and one document."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import library
from tests.pages.page import ROOT

CODE = """\
x = 1


# proof-region: sum
def add(a, b):
    return a + b  # [add]   \t


# end-proof-region: sum
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Path]:
    """Its module is ``inner/sums.py``, its document ``inner/sums``."""
    package = tmp_path / "opendp_topk"
    write(package / "inner" / "sums.py", CODE)
    tex = tmp_path / "proofs" / "inner" / "sums.tex"
    proof.clear_cache()
    with library.use_package_folder(package):
        write(tex, "Text.\n\\pin{sum}{}\n")
        digest = proof.compute_code_hash("inner/sums", "sum")
        write(tex, f"Text.\n\\pin{{sum}}{{{digest}}}\n")
        yield tmp_path
    proof.clear_cache()


def write(path: Path, text: str) -> None:
    """Write a file of the checkout, and let it be read anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    proof.clear_cache()


def marked(name: str, text: str) -> str:
    """A region."""
    return f"# proof-region: {name}\n{text}# end-proof-region: {name}\n"


def stale() -> set[str]:
    """The documents that are not current, without the room of the tests' own."""
    return {name.removeprefix("inner/") for name in proof.document_names() if proof.Proof(name).status != "current"}


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """The sources of the whole package and the proofs, in a place where they may be changed."""
    shutil.copytree(ROOT / "opendp_topk", tmp_path / "opendp_topk", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "proofs").symlink_to(ROOT / "proofs")
    proof.clear_cache()
    with library.use_package_folder(tmp_path / "opendp_topk"):
        yield tmp_path / "opendp_topk"
    proof.clear_cache()
