"""Proof documents: what they state, which code they pin, and whether both still are what was proved.

It may import errors and markup.
"""

from .carried import carriers, others
from .closures import Pin, all_pinned, answered, digest, pins, reaches
from .library import (
    document,
    documents,
    folder,
    foundations,
    key,
    notes,
    package,
    relied_file,
    relied_now,
    relied_then,
    text,
)
from .machine import Check, checks
from .readings import Reading, last, strayed
from .regions import first_line, region, source_of
from .status import UNPROVEN, Proof, claim_digest, forget

__all__ = [
    "UNPROVEN",
    "Check",
    "Pin",
    "Proof",
    "Reading",
    "all_pinned",
    "answered",
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
    "key",
    "last",
    "notes",
    "others",
    "package",
    "pins",
    "reaches",
    "region",
    "relied_file",
    "relied_now",
    "relied_then",
    "source_of",
    "strayed",
    "text",
]
