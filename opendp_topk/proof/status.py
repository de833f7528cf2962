"""Status of proofs: whether the code that a document proves is the code that runs.

A document under ``proofs/`` contains a hash of the code that it proves, and ``proofs/relied.json`` contains a digest of
each statement of another document on which it relies; ``proofs/readings.jsonl`` lists the statements that were only
reworded. Hashes and digests are compared with the installed files. So a document that was proved for other code, or
with another lemma, is reported as stale, and so are all documents that rely on it. All documents rely on the one on
public names. Findings are stored (``findings.py``).
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from ..errors.extras import LOADING
from ..markup import notebook
from . import findings
from .carried import clear_support_cache
from .closures import all_hashed_texts, clear_code_hash_cache, code_hashes
from .library import document_foundations, document_names, document_path, document_text
from .machine import clear_source_cache
from .readings import clear_review_log_cache, drifted_statements

_THROUGH = "core/public_names"
"""Document that every claim relies on: public names lead to the constructors that the other documents are about."""
_SEVERITY = ("current", "stale", "missing", "unproven")


@dataclass(frozen=True)
class Proof:
    """The proof of the claim of a transformation or measurement.

    ``name`` is the document below ``proofs/`` without its ending, or None if the caller supplied the map and nothing is
    proved. The proof of a chain has the proofs of its links as ``parts``. If the document proves the claim only under
    an ``assumption`` about something that the caller supplied, the claim counts as unproven.
    """

    name: str | None
    parts: tuple[Proof, ...] = ()
    assumption: str | None = None

    @property
    def path(self) -> Path | None:
        """The LaTeX document, in a checkout or in an installed wheel; None if there is none."""
        return None if self.name is None else document_path(self.name)

    @property
    def status(self) -> str:
        """``current``, ``stale``, ``missing`` or ``unproven``: the worst of this proof and its parts."""
        own = "unproven" if self.name is None or self.assumption else _document_status(self.name)
        return max([own, *(part.status for part in self.parts)], key=_SEVERITY.index)

    def __str__(self) -> str:
        if self.name is None:
            return "unproven: the caller supplied the map"
        if self.assumption:
            return f"unproven: {self.assumption}; else proofs/{self.name}.tex ({_document_status(self.name)})"
        if not self.parts:
            return f"proofs/{self.name}.tex ({self.status})"
        return "; ".join(str(part) for part in self.parts) + f"; chained by proofs/{self.name}.tex"

    def _repr_html_(self) -> str:
        links = [Proof(self.name, assumption=self.assumption), *self.parts]
        return notebook.facts_table(f"Proof: {self.status}", ((one.status, one._link_description()) for one in links))

    def _link_description(self) -> str:
        """Return the document of this link, and the assumption under which it proves the claim."""
        document = "the caller supplied the map" if self.name is None else f"proofs/{self.name}.tex"
        return f"{document}, if {self.assumption}" if self.assumption else document


UNPROVEN = Proof(None)


def _document_status(name: str) -> str:
    """Return ``missing``, ``current`` or ``stale``; a document is also stale if one that it relies on is."""
    with LOADING:  # one thread derives it, and the others wait
        return _derive_status(name)


@functools.cache
def _derive_status(name: str) -> str:
    if document_path(name) is None:
        return "missing"
    if not findings.sources_digest():
        return "stale"
    needed = _required_documents(name)
    found = findings.load_or_derive_findings(needed, _derive_finding)
    return "current" if all(found[one].current is True for one in needed) else "stale"


def _required_documents(name: str) -> list[str]:
    """Return a document and all documents that it relies on."""
    return list(dict.fromkeys([name, *document_foundations(name), *([_THROUGH] if document_path(_THROUGH) else [])]))


def _derive_finding(name: str) -> findings.Finding:
    """Derive if a document's code hashes are current and the statements on which it relies kept their meaning."""
    try:
        current = (
            bool(code_hashes(name))
            and all(pin.is_current for pin in code_hashes(name))
            and not drifted_statements(name)
        )
        (texts,) = all_hashed_texts([name])
    except ProofError:
        return findings.Finding(False, "")
    return findings.Finding(current, hashlib.sha256("\n".join(texts).encode()).hexdigest())


def derive_all_findings() -> findings.Found:
    """Return the findings of all documents, without stored ones."""
    return {name: _derive_finding(name) for name in document_names()}


def claim_digest(name: str) -> str:
    """Return the digest that a sign-off of ``name`` is for: of the text and the hashed code of it and its foundations.

    Raises:
        ProofError: One of the documents does not exist, or a region that it proves is missing.
    """
    whole, needed = hashlib.sha256(), _required_documents(name)
    texts = {one: document_text(one) for one in needed}
    with LOADING:
        found = findings.load_or_derive_findings(needed, _derive_finding)
    for one in needed:
        if not found[one].code:
            all_hashed_texts([one])  # raises the reason why there is none
        whole.update(f"{one}\n{' '.join(texts[one].split())}\n{found[one].code}\n".encode())
    return whole.hexdigest()[:16]


def clear_cache() -> None:
    """Clear all caches, so that code and documents are read again; otherwise a process keeps each status."""
    clear_code_hash_cache()
    clear_support_cache()
    findings.clear_findings_cache()
    clear_source_cache()
    clear_review_log_cache()
    _derive_status.cache_clear()
