"""The form of a document whose code moved, or that was never pinned."""

from __future__ import annotations

from pathlib import Path

from opendp_topk import proof
from proofs.tools import form

from .conftest import CODE, write


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
