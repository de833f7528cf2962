"""Every statement of a proof on which another document relies is what it was when that document was read."""

from __future__ import annotations

from opendp_topk import proof
from tests.mutation.oracles import expect


def check() -> None:
    """All relations between documents are current."""
    for name in proof.documents():
        expect(proof.relied_then(name) == proof.relied_now(name), f"{name} relies on a statement that has changed")
