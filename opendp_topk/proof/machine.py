r"""Which statements of the documents a proof assistant has checked, and whether it still is those statements.

``\checked{label}{File.theorem}{digest}{remark}`` in a document says that the theorem of ``proofs/machine/File.v``
states what the theorem with this label does: the ``same``, a ``part`` of it, or something ``weaker``, with which word
the remark begins. The words of the theorem that are meant are quoted. The digest stands for both statements and for the
vocabulary of the machine's: all that is no proof in the file, and in those that it requires.

Checked is what was compiled: ``machine/compiled.json`` holds the digest of every source that the proof assistant
compiled and its checker accepted, and each marked theorem as it prints it. A test compiles them again and compares.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from . import library
from .statements import CHECKED, statement_text

_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_REQUIRE = re.compile(r"From Machine Require Import ([^.]*)\.")
_SENTENCE = re.compile(r"\.(?=\s|\Z)")
_STATED = re.compile(r"(?:Theorem|Lemma) (\w+)\b")


@dataclass(frozen=True)
class MachineCheck:
    """That a machine has checked one statement of a document; ``remark`` says how much of it, and in which sense."""

    document: str
    label: str
    theorem: str
    digest: str
    remark: str

    @property
    def current_digest(self) -> str:
        """The digest of both statements as they stand.

        Raises:
            ProofError: The document has no such label above the mark, or ends before it, or the sources have no such
                theorem.
        """
        text = library.document_text(self.document)
        _, label, below = text.partition(rf"\label{{{self.label}}}")
        if not label:
            raise ProofError(f"{self.document}.tex has no label {self.label}, which it calls checked by machine")
        if self.format_mark(self.digest) not in below.partition(r"\end{document}")[0]:
            raise ProofError(f"{self.document}.tex must mark {self.label} as checked below the theorem, above its end")
        parts = [statement_text(text, self.label), theorem_with_vocabulary(self.theorem)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def format_mark(self, digest: str) -> str:
        """What the document says, with this digest."""
        return rf"\checked{{{self.label}}}{{{self.theorem}}}{{{digest}}}{{{self.remark}}}"

    @property
    def is_current(self) -> bool:
        """Whether both statements are those that were held against each other, and the machine's was compiled."""
        return self.digest == self.current_digest and not self.uncompiled_files

    @property
    def uncompiled_files(self) -> list[str]:
        """The files behind the theorem that are not as they were compiled.

        Raises:
            ProofError: One of them is missing.
        """
        then = load_compiled_record()["sources"]
        return [
            name for name in required_files(self.theorem.partition(".")[0]) if then.get(name) != source_digest(name)
        ]

    @property
    def status(self) -> str:
        """``current``, ``stale``, or ``missing`` where one of the statements is."""
        try:
            return "current" if self.is_current else "stale"
        except ProofError:
            return "missing"

    def __str__(self) -> str:
        return f"{self.label}: {self.theorem}" + (f" ({self.remark})" if self.remark else "")


def machine_checks(name: str) -> list[MachineCheck]:
    """The statements of the document ``name`` that are marked as checked, in its order."""
    return [MachineCheck(name, *found) for found in CHECKED.findall(library.document_text(name))]


def machine_sources_folder() -> Path:
    """Return the folder of the sources for the proof assistant."""
    return library.documents_folder() / "machine"


def load_compiled_record() -> dict[str, dict[str, str]]:
    """What was compiled: of each of the ``sources`` the digest, and of the marked theorems the ``types``."""
    path = machine_sources_folder() / "compiled.json"
    return dict(json.loads(_read_text(path))) if path.is_file() else {"sources": {}, "types": {}}


def source_digest(name: str) -> str:
    """The SHA-256 of a whole source; errors are those of :func:`required_files`."""
    return hashlib.sha256(_read_machine_source(name).encode()).hexdigest()


def theorem_with_vocabulary(theorem: str) -> str:
    """What ``File.theorem`` states, with the vocabulary of its file and of those that it requires.

    Raises:
        ProofError: There is no such file or theorem.
    """
    name, _, wanted = theorem.partition(".")
    for sentence in _split_sentences(name):
        found = _STATED.match(sentence)
        if found and found[1] == wanted:
            return "\n".join([sentence, *(line for file in required_files(name) for line in file_vocabulary(file))])
    raise ProofError(f"proofs/machine/{name}.v states no {wanted}, which a document calls checked by machine")


def required_files(name: str) -> list[str]:
    """A file and all files that it requires, directly or through others, sorted."""
    found, waiting = {name}, [name]
    while waiting:
        below = {one for line in _REQUIRE.findall(_read_machine_source(waiting.pop())) for one in line.split()}
        waiting += sorted(below - found)
        found |= below
    return sorted(found)


def file_vocabulary(name: str) -> list[str]:
    """The definitions, hypotheses and notations of a file: all of it but theorems, lemmas and their proofs."""
    return [one for one in _split_sentences(name) if not _STATED.match(one)]


def _split_sentences(name: str) -> list[str]:
    """The sentences of a source, with single spaces, without what stands between ``Proof`` and ``Qed``."""
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
    return _read_text(path)


@functools.cache
def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def clear_source_cache() -> None:
    """Read every source anew when it is next asked for."""
    _read_text.cache_clear()
