"""Proof documents: their statements, their code hashes, and whether both are unchanged since the last review.

It may import errors and markup.
"""

from .closures import CodeHash, code_hashes, compute_code_hash, reached_titles
from .library import (
    clear_cache,
    current_reliances,
    document_foundations,
    document_names,
    document_path,
    document_text,
    documents_folder,
    note_names,
    recorded_reliances,
)
from .machine import machine_checks
from .readings import ReviewEntry, drifted_statements, last_review
from .regions import first_region_line, read_region
from .status import UNPROVEN, Proof, claim_digest, other_foundations, supporting_documents

__all__ = [
    "UNPROVEN",
    "CodeHash",
    "Proof",
    "ReviewEntry",
    "supporting_documents",
    "machine_checks",
    "claim_digest",
    "compute_code_hash",
    "document_path",
    "document_names",
    "first_region_line",
    "documents_folder",
    "clear_cache",
    "document_foundations",
    "last_review",
    "note_names",
    "other_foundations",
    "code_hashes",
    "reached_titles",
    "read_region",
    "current_reliances",
    "recorded_reliances",
    "drifted_statements",
    "document_text",
]
