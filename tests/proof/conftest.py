"""A checkout with one module and one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import library

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
