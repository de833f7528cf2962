r"""Statements of the documents that a proof assistant has checked, and whether both sides are unchanged.

``\checked{label}{File.theorem}{digest}{remark}`` in a document claims that the theorem of ``proofs/machine/File.v``
states what the theorem with this label does. The remark begins with ``same``, with ``part`` if it states only a part,
or with ``weaker``; it quotes the words of the theorem that are meant. The digest identifies both statements and the
vocabulary of the theorem in ``File.v``: everything in the file, and in those that it requires, except theorems, lemmas
and their proofs.

A theorem counts as checked if it was compiled: ``machine/compiled.json`` contains the digest of every source that the
proof assistant compiled and its checker accepted, and each marked theorem as the assistant prints it. A test compiles
the sources again and compares.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from . import library
from .library import CHECKED, read_text, statement_text

_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_REQUIRE = re.compile(r"From Machine Require Import ([^.]*)\.")
_SENTENCE = re.compile(r"\.(?=\s|\Z)")
_STATED = re.compile(r"(?:Theorem|Lemma) (\w+)\b")


@dataclass(frozen=True)
class MachineCheck:
    """A claim that a machine has checked a statement of a document; ``remark`` describes how much of it."""

    document: str
    label: str
    theorem: str
    digest: str
    remark: str

    @property
    def current_digest(self) -> str:
        """The digest of both statements as they are now."""
        text = library.document_text(self.document)
        _, label, below = text.partition(rf"\label{{{self.label}}}")
        if not label:
            raise ProofError(f"{self.document}.tex has no label {self.label}, which it calls checked by machine")
        if self.format_mark(self.digest) not in below.partition(r"\end{document}")[0]:
            raise ProofError(f"{self.document}.tex must mark {self.label} as checked below the theorem, above its end")
        parts = [statement_text(text, self.label), theorem_with_vocabulary(self.theorem)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def format_mark(self, digest: str) -> str:
        return rf"\checked{{{self.label}}}{{{self.theorem}}}{{{digest}}}{{{self.remark}}}"

    @property
    def is_current(self) -> bool:
        """True if both statements are unchanged since they were compared, and the machine's sources since compiled."""
        return self.digest == self.current_digest and not self.uncompiled_files

    @property
    def uncompiled_files(self) -> list[str]:
        """The files that the theorem depends on and that were changed since they were compiled."""
        then = load_compiled_record()["sources"]
        return [
            name for name in required_files(self.theorem.partition(".")[0]) if then.get(name) != source_digest(name)
        ]

    @property
    def status(self) -> str:
        """``current``, ``stale``, or ``missing`` if one of the statements is missing."""
        try:
            return "current" if self.is_current else "stale"
        except ProofError:
            return "missing"

    def __str__(self) -> str:
        return f"{self.label}: {self.theorem}" + (f" ({self.remark})" if self.remark else "")


def machine_checks(name: str) -> list[MachineCheck]:
    return [MachineCheck(name, *found) for found in CHECKED.findall(library.document_text(name))]


def machine_sources_folder() -> Path:
    return library.documents_folder() / "machine"


def load_compiled_record() -> dict[str, dict[str, str]]:
    """Return the record of the compilation: the digests of the ``sources``, and the ``types`` of marked theorems."""
    path = machine_sources_folder() / "compiled.json"
    return dict(json.loads(read_text(path))) if path.is_file() else {"sources": {}, "types": {}}


def source_digest(name: str) -> str:
    return hashlib.sha256(_read_machine_source(name).encode()).hexdigest()


def theorem_with_vocabulary(theorem: str) -> str:
    """Return the statement of ``File.theorem``, with the vocabulary of its file and of those that it requires."""
    name, _, wanted = theorem.partition(".")
    for sentence in _split_sentences(name):
        found = _STATED.match(sentence)
        if found and found[1] == wanted:
            return "\n".join([sentence, *(line for file in required_files(name) for line in file_vocabulary(file))])
    raise ProofError(f"proofs/machine/{name}.v states no {wanted}, which a document calls checked by machine")


def required_files(name: str) -> list[str]:
    """Return a file and all files that it requires, directly or through others, sorted."""
    found, waiting = {name}, [name]
    while waiting:
        below = {one for line in _REQUIRE.findall(_read_machine_source(waiting.pop())) for one in line.split()}
        waiting += sorted(below - found)
        found |= below
    return sorted(found)


def file_vocabulary(name: str) -> list[str]:
    """Return the definitions, hypotheses and notations of a file: all sentences but theorems, lemmas and proofs."""
    return [one for one in _split_sentences(name) if not _STATED.match(one)]


def _split_sentences(name: str) -> list[str]:
    """Return the sentences of a source, with single spaces, without those between ``Proof`` and ``Qed``."""
    found, inside = [], False
    for sentence in _SENTENCE.split(_COMMENT.sub("", _read_machine_source(name))):
        plain = " ".join(sentence.split())
        if plain == "Proof":
            inside = True
        elif plain == "Qed":
            inside = False
        elif plain and not inside:
            found.append(plain)
    return found


def _read_machine_source(name: str) -> str:
    path = machine_sources_folder() / f"{name}.v"
    if not path.is_file():
        raise ProofError(f"there is no proofs/machine/{name}.v, which a document calls checked by machine")
    return read_text(path)
