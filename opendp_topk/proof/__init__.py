"""Proof documents: what they state, which code they pin, and whether both still are what was proved.

It may import errors.
"""

from .status import (
    UNPROVEN,
    Pin,
    Proof,
    digest,
    document,
    documents,
    first_line,
    folder,
    foundations,
    key,
    pins,
    region,
    relied_file,
    relied_now,
    relied_then,
    text,
)

__all__ = [
    "UNPROVEN",
    "Pin",
    "Proof",
    "digest",
    "document",
    "documents",
    "first_line",
    "folder",
    "foundations",
    "key",
    "pins",
    "region",
    "relied_file",
    "relied_now",
    "relied_then",
    "text",
]
