"""What is written to the log of readings, and whether a document was read as it stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict

from opendp_topk.errors import ProofError
from opendp_topk.proof import library
from opendp_topk.proof.closures import code_hashes
from opendp_topk.proof.library import find_relations
from opendp_topk.proof.machine import machine_checks
from opendp_topk.proof.readings import (
    Line,
    Migration,
    ReviewEntry,
    drifted_statements,
    read_review_log,
    review_log_path,
)


def append(lines: Iterable[Line]) -> None:
    """Add lines to the log.

    Raises:
        ProofError: A line lacks who, what was checked, or why.
    """
    written = []
    for line in lines:
        fields = asdict(line)
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        empty = [name for name, value in texts.items() if not value.strip() or not value.isprintable()]
        if empty:
            raise ProofError(f"a line of the log of readings needs {' and '.join(empty)}, in one line each")
        written.append(json.dumps(fields, ensure_ascii=False) + "\n")
    with review_log_path().open("a", encoding="utf-8") as stream:
        stream.write("".join(written))
    library.clear_cache()


def written(name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a document's pins, marks and recorded statements as they stand.

    They are what is written, whether it is current or not. Errors are those of :func:`code_hashes`.
    """
    said = [str(pin) for pin in code_hashes(name)] + [check.format_mark(check.digest) for check in machine_checks(name)]
    said += [f"{key} {digest}" for key, digest in sorted(library.recorded_reliances(name).items())]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def begun(name: str, digest: str) -> str:
    """With what a line of the log begins that tells of a reading of this document at these pins."""
    return json.dumps({"document": name, "digest": digest}, ensure_ascii=False).removesuffix("}")


def is_read(name: str) -> bool:
    """Whether the last reading of a document was of its pins as they are written, or as they were migrated from."""
    digest = ""
    for line in read_review_log():
        if isinstance(line, ReviewEntry) and line.document == name:
            digest = line.digest
        elif isinstance(line, Migration):
            digest = line.digests.get(digest, digest)
    return digest == written(name)


def recorded(target: str) -> dict[str, set[str]]:
    """The statements of a document on which others rely, each with the digests recorded that it has strayed from."""
    found: dict[str, set[str]] = {}
    for name in library.document_names():
        keys = {library.relation_key(one) for one in find_relations(library.document_text(name)) if one[0] == target}
        for key in keys.intersection(drifted_statements(name)):
            if key in library.recorded_reliances(name):
                found.setdefault(key, set()).add(library.recorded_reliances(name)[key])
    return found
