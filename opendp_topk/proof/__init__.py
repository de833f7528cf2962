"""Proof documents: what they state, which code they pin, and whether both still are what was proved.

It may import errors and markup.
"""

from .carried import carriers, others
from .closures import Pin, digest, pins, reaches
from .library import (
    document,
    documents,
    folder,
    foundations,
    notes,
    relied_now,
    relied_then,
    text,
)
from .machine import checks
from .readings import Reading, last, strayed
from .regions import first_line, region
from .status import UNPROVEN, Proof, claim_digest, forget

__all__ = [
    "UNPROVEN",
    "Pin",
    "Proof",
    "Reading",
    "carriers",
    "checks",
    "claim_digest",
    "digest",
    "document",
    "documents",
    "first_line",
    "folder",
    "forget",
    "foundations",
    "last",
    "notes",
    "others",
    "pins",
    "reaches",
    "region",
    "relied_now",
    "relied_then",
    "strayed",
    "text",
]
