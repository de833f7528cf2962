"""Status of proofs: whether the code that a document proves is the code that runs.

A document under ``proofs/`` contains a hash of the code that it proves, and ``proofs/relied.json`` contains a digest of
each statement of another document on which it relies; ``proofs/readings.jsonl`` lists the statements that were only
reworded. Hashes and digests are compared with the installed files. So a document that was proved for other code, or
with another lemma, is reported as stale, and so are all documents that rely on it. All documents rely on the one on
public names. Findings are stored (``findings.py``).
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from ..errors.extras import LOADING
from ..markup import elements
from . import findings, library
from .closures import code_hashes, hashed_code_texts
from .readings import drifted_statements

PRIVACY = "privacy"
"""Label of the statement of a measurement's privacy loss in its document."""
_COMBINING = ("combinators", "bridge")
"""Folders of documents about measurements only: if no statement has this label, all of them support it."""
_STATED = "theorem|lemma|corollary|proposition|remark|example"
_BLOCK = re.compile(rf"\\begin\{{({_STATED}|proof)\}}(?:\[((?:[^\[\]]|\[[^\[\]]*\])*)\])?(.*?)\\end\{{\1\}}", re.DOTALL)
_CITED = re.compile(r"\\(?:[cC]ref|eqref|ref)\{([^{}]*)\}")
_LABEL = re.compile(r"\\label\{([^{}]*)\}")


def supporting_documents(name: str) -> list[str]:
    """Return the documents that support the privacy proved in ``name``, including itself, sorted.

    Empty if no statement has the label for privacy, for example if the document is not about a measurement. In folders
    of documents about measurements only, all statements support privacy if none has the label.
    """
    if PRIVACY not in _split_statement_blocks(name)[0] and name.partition("/")[0] not in _COMBINING:
        return []
    return sorted({document for document, _ in supporting_statements(name, PRIVACY)})


def other_foundations(name: str) -> list[str]:
    """Return, sorted, the documents that ``name`` relies on only for other statements, such as accuracy.

    Empty if ``name`` has no supporting documents.
    """
    support = set(supporting_documents(name))
    return sorted({name, *library.document_foundations(name)} - support) if support else []


@library.remembered
def supporting_statements(name: str, label: str) -> list[library.Relation]:
    """Return a statement and all statements that it relies on, as pairs of a document and a label, sorted."""
    found: set[library.Relation] = set()
    waiting = [(name, label)]
    while waiting:
        one = waiting.pop()
        if one not in found and library.document_path(one[0]) is not None:
            found.add(one)
            waiting += _statement_citations(*one)
    return sorted(found)


@library.remembered
def _statement_citations(name: str, label: str) -> set[library.Relation]:
    """Return the citations of one statement and of the common text.

    If the label is unknown, return all citations in the document; if it is in the common text, only those of that text.
    """
    blocks, homes, common = _split_statement_blocks(name)
    cited = [blocks[home] for home in ([homes[label]] if label in homes else blocks) if home]
    own = {(name, home) for text in cited for one in _split_labels(_CITED, text) if (home := homes.get(one))}
    return own | {one for text in [common, *cited] for one in library.find_relations(text)}


@library.remembered
def _split_statement_blocks(name: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Return each statement's text with its proofs, the statement of each label, and the other text."""
    text = library.document_text(name)
    blocks: dict[str, list[str]] = defaultdict(list)
    homes: dict[str, str] = {}
    common, at, last = [], 0, ""
    for block in _BLOCK.finditer(text):
        kind, title, inner = block[1], block[2] or "", block[3]
        common.append(text[at : block.start()])
        at = block.end()
        if kind != "proof":
            last = next(iter(_split_labels(_LABEL, inner)), "")
        proved = _split_labels(_CITED, title) if kind == "proof" and _CITED.search(title) else [last]
        for home in proved:
            blocks[home].append(f"{title} {inner}")
        homes |= dict.fromkeys(_split_labels(_LABEL, inner), proved[0])
    common += [text[at:], *blocks.pop("", [])]
    between = "\n".join(common)
    return (
        {home: "\n".join(parts) for home, parts in blocks.items()},
        dict.fromkeys(_split_labels(_LABEL, between), "") | homes,
        between,
    )


def _split_labels(pattern: re.Pattern[str], text: str) -> list[str]:
    return [label.strip() for listed in pattern.findall(text) for label in listed.split(",")]


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
        return None if self.name is None else library.document_path(self.name)

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
        return elements.facts_table(f"Proof: {self.status}", ((one.status, one._link_description()) for one in links))

    def _link_description(self) -> str:
        """Return the document of this link, and the assumption under which it proves the claim."""
        document = "the caller supplied the map" if self.name is None else f"proofs/{self.name}.tex"
        return f"{document}, if {self.assumption}" if self.assumption else document


UNPROVEN = Proof(None)


def _document_status(name: str) -> str:
    """Return ``missing``, ``current`` or ``stale``; a document is also stale if one that it relies on is."""
    with LOADING:  # one thread derives it, and the others wait
        return _derive_status(name)


@library.remembered
def _derive_status(name: str) -> str:
    if library.document_path(name) is None:
        return "missing"
    if not findings.sources_digest():
        return "stale"
    needed = _required_documents(name)
    found = findings.load_or_derive_findings(needed, _derive_finding)
    return "current" if all(found[one].current is True for one in needed) else "stale"


def _required_documents(name: str) -> list[str]:
    through = [_THROUGH] if library.document_path(_THROUGH) else []
    return list(dict.fromkeys([name, *library.document_foundations(name), *through]))


def _derive_finding(name: str) -> findings.Finding:
    """Derive if a document's code hashes are current and the statements on which it relies kept their meaning."""
    try:
        pins = code_hashes(name)
        current = bool(pins) and all(pin.is_current for pin in pins) and not drifted_statements(name)
        texts = hashed_code_texts(name)
    except ProofError:
        return findings.Finding(False, "")
    return findings.Finding(current, hashlib.sha256("\n".join(texts).encode()).hexdigest())


def derive_all_findings() -> findings.Found:
    """Return the findings of all documents, without stored ones."""
    return {name: _derive_finding(name) for name in library.document_names()}


def claim_digest(name: str) -> str:
    """Return the digest that a sign-off of ``name`` is for: of the text and code of it and its foundations."""
    whole, needed = hashlib.sha256(), _required_documents(name)
    texts = {one: library.document_text(one) for one in needed}
    with LOADING:
        found = findings.load_or_derive_findings(needed, _derive_finding)
    for one in needed:
        if not found[one].code:
            hashed_code_texts(one)  # raises the reason why there is none
        whole.update(f"{one}\n{' '.join(texts[one].split())}\n{found[one].code}\n".encode())
    return whole.hexdigest()[:16]
