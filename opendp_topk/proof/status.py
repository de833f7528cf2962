"""Proof documents, and whether they still speak of the code that runs.

A document under ``proofs/`` pins each region of source code that it proves by a hash, and ``proofs/relied.json``
pins each statement of another document on which it relies. Both are compared with what is installed, so a document
that lags behind the code, or behind a lemma, is reported as stale wherever it is read, and with it all that rest on it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from .statements import Relation, relations, statement_digest, uncommented

_PACKAGE = Path(__file__).resolve().parents[1]
_PIN = re.compile(r"^\\pin\{([^{}]+)\}\{([^{}]+)\}\{([0-9a-f]*)\}", re.MULTILINE)
_SEVERITY = ("current", "stale", "missing", "unproven")


@dataclass(frozen=True)
class Pin:
    """One region of source code, and the hash under which a document proved it."""

    source: str
    region: str
    digest: str

    @property
    def is_current(self) -> bool:
        """Whether the installed source still has the pinned hash."""
        return digest(self.source, self.region) == self.digest


@dataclass(frozen=True)
class Proof:
    """Where the claim of a transformation or measurement is proved.

    ``name`` is the document below ``proofs/`` without its ending, or None where the caller supplied the map
    and nothing is proved. The proof of a chain has the proofs of its links as ``parts``. Where the document proves
    the claim only under an ``assumption`` about something that the caller supplied, the claim counts as unproven.
    """

    name: str | None
    parts: tuple[Proof, ...] = ()
    assumption: str | None = None

    @property
    def path(self) -> Path | None:
        """The LaTeX document, in a checkout or in an installed wheel; None where there is none."""
        return None if self.name is None else document(self.name)

    @property
    def status(self) -> str:
        """``current``, ``stale``, ``missing`` or ``unproven``: the worst of this proof and its parts."""
        own = "unproven" if self.name is None or self.assumption else _status(self.name)
        return max([own, *(part.status for part in self.parts)], key=_SEVERITY.index)

    def __str__(self) -> str:
        if self.name is None:
            return "unproven: the caller supplied the map"
        if self.assumption:
            return f"unproven: {self.assumption}; else proofs/{self.name}.tex ({_status(self.name)})"
        if not self.parts:
            return f"proofs/{self.name}.tex ({self.status})"
        return "; ".join(str(part) for part in self.parts) + f"; chained by proofs/{self.name}.tex"


UNPROVEN = Proof(None)


def folder() -> Path:
    """The folder of the proof documents: inside an installed wheel, beside the package in a checkout."""
    installed = _PACKAGE / "proof" / "documents"
    return installed if installed.is_dir() else _PACKAGE.parent / "proofs"


def document(name: str) -> Path | None:
    """The LaTeX file of the proof ``name``, or None if it does not exist."""
    path = folder() / f"{name}.tex"
    return path if path.is_file() else None


def documents() -> list[str]:
    """The names of all proof documents, sorted."""
    root = folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.tex"))


def pins(name: str) -> list[Pin]:
    """The pins of the document ``name``.

    Raises:
        ProofError: There is no such document.
    """
    path = document(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex; opendp-topk proofs lists those that exist")
    return [Pin(*match) for match in _PIN.findall(path.read_text(encoding="utf-8"))]


def region(source: str, name: str) -> str:
    """The lines between ``# proof-region: name`` and ``# end-proof-region: name`` in a file of the package.

    Args:
        source: A path below the package, such as ``measurements/report_noisy_top_k.py``.
        name: The name of the region.

    Raises:
        ProofError: The file or the markers are missing.
    """
    return "\n".join(_marked(source, name)[1]).strip("\n") + "\n"


def first_line(source: str, name: str) -> int:
    """The number that the first line of a region has in its file; arguments and errors are those of :func:`region`."""
    marker, lines = _marked(source, name)
    return marker + 1 + next((at for at, line in enumerate(lines) if line), 0)


def _marked(source: str, name: str) -> tuple[int, list[str]]:
    """The number of the line with the first marker, and the lines between the two."""
    path = _PACKAGE / source
    if not path.is_file():
        raise ProofError(f"a proof pins the source file {source}, which does not exist")
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
    start, end = f"# proof-region: {name}", f"# end-proof-region: {name}"
    stripped = [line.strip() for line in lines]
    if stripped.count(start) != 1 or stripped.count(end) != 1:
        raise ProofError(f"{source} must hold the markers {start!r} and {end!r} exactly once each")
    return stripped.index(start) + 1, lines[stripped.index(start) + 1 : stripped.index(end)]


def digest(source: str, name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a region of code."""
    return hashlib.sha256(region(source, name).encode()).hexdigest()[:16]


def text(name: str) -> str:
    """The document ``name`` without its comments.

    Raises:
        ProofError: There is no such document.
    """
    path = document(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex; opendp-topk proofs lists those that exist")
    return uncommented(path.read_text(encoding="utf-8"))


def relied_file() -> Path:
    """The file that holds the digests of the statements on which each document relies."""
    return folder() / "relied.json"


def relied_then(name: str) -> dict[str, str]:
    """The statements on which ``name`` relied when it was last read, each with its digest."""
    path = relied_file()
    found = json.loads(path.read_text(encoding="utf-8")).get(name, {}) if path.is_file() else {}
    return dict(found)


def relied_now(name: str) -> dict[str, str]:
    """The statements on which ``name`` relies, each with its digest as it stands (none where it is missing)."""
    return {key(relation): _standing(relation) for relation in relations(text(name))}


def key(relation: Relation) -> str:
    """A statement as a key of the file: ``core/chaining`` or ``core/chaining#post-processing``."""
    return "#".join(part for part in relation if part)


def foundations(name: str) -> list[str]:
    """All documents on which ``name`` rests, directly or through others, sorted."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        below = {target for target, _ in relations(text(one))} if document(one := waiting.pop()) else set()
        waiting += sorted(below - found)
        found |= below
    return sorted(found - {name})


def _standing(relation: Relation) -> str:
    target, label = relation
    return "" if document(target) is None else statement_digest(text(target), label)


@functools.cache
def _status(name: str) -> str:
    """``missing``, ``current``, or ``stale``: also where anything is stale on which the document rests."""
    if document(name) is None:
        return "missing"
    return "current" if all(_own_is_current(one) for one in [name, *foundations(name)]) else "stale"


@functools.cache
def _own_is_current(name: str) -> bool:
    """Whether the code that the document pins, and the statements on which it relies, are what they were."""
    try:
        found = pins(name)
        return bool(found) and all(pin.is_current for pin in found) and relied_then(name) == relied_now(name)
    except ProofError:
        return False
