"""Every region of code that a proof pins is the code that the proof was written for."""

from __future__ import annotations

from opendp_topk import proof
from tests.mutation.oracles import expect


def check() -> None:
    """All pins of all documents are current."""
    for name in proof.documents():
        pins = proof.pins(name)
        expect(pins, f"{name} pins nothing")
        for pin in pins:
            expect(pin.is_current, f"{name}: region {pin.region} of {pin.source} has changed")
