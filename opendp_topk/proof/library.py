"""Proof documents: their files, their statements, and the statements of other documents that each relies on."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ..errors import ProofError

CHECKED = re.compile(r"\\checked\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_RELIES = re.compile(r"\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}")
_KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_ENVIRONMENT = re.compile(rf"\\begin\{{({_KINDS})\}}.*?\\end\{{\1\}}", re.DOTALL)
_PARTS = re.compile(r"\\(precondition|pseudocode|postcondition|proofs|runtimeerrors|references)\b")

Relation = tuple[str, str]


@functools.cache
def strip_comments(text: str) -> str:
    return "\n".join(_COMMENT.sub("", line) for line in text.splitlines())


@functools.cache
def find_relations(text: str) -> list[Relation]:
    """Return the documents on which ``text`` relies, each with the label of the theorem (empty: the whole document)."""
    return sorted({(target, label) for label, target in _RELIES.findall(text)})


def find_theorem(text: str, label: str) -> str:
    """Return the theorem with this label, with single spaces; the empty string if there is none."""
    found = (match[0] for match in _ENVIRONMENT.finditer(text) if rf"\label{{{label}}}" in match[0] and label)
    return " ".join(next(found, "").split())


def statement_text(text: str, label: str) -> str:
    """Return the document's hypotheses and the theorem with this label (empty: all that the document states).

    A label outside of theorems also means all that the document states. The mark that a machine has checked a theorem
    is not part of its statement.
    """
    text = CHECKED.sub("", text)
    parts = _split_sections(text)
    stated = find_theorem(text, label) or parts.get("postcondition", "")
    return " ".join((parts.get("precondition", "") + " " + stated).split())


@functools.cache
def statement_digest(text: str, label: str) -> str:
    return hashlib.sha256(statement_text(text, label).encode()).hexdigest()[:16]


def _split_sections(text: str) -> dict[str, str]:
    marks = list(_PARTS.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)}


P = ParamSpec("P")
T = TypeVar("T")
_PACKAGE = Path(__file__).resolve().parents[1]
_CACHES: list[Any] = []


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """Cache the results of a function, for each package folder, until :func:`clear_cache`."""
    cached = functools.cache(lambda package, *args: function(*args))  # type: ignore[call-arg]
    _CACHES.append(cached)
    return functools.wraps(function)(lambda *args: cached(_PACKAGE, *args))  # type: ignore[return-value]


def clear_cache() -> None:
    """Clear all caches, so that code and documents are read again; otherwise a process keeps each status."""
    for one in _CACHES:
        one.cache_clear()


def package_folder() -> Path:
    return _PACKAGE


@contextmanager
def use_package_folder(place: Path) -> Iterator[None]:
    """Use the package in another folder, and the documents beside it, within a ``with`` block."""
    global _PACKAGE
    here, _PACKAGE = _PACKAGE, place
    try:
        yield
    finally:
        _PACKAGE = here


@remembered
def documents_folder() -> Path:
    """Return the folder of the proof documents: inside an installed wheel, beside the package in a checkout."""
    installed = _PACKAGE / "proof" / "documents"
    return installed if installed.is_dir() else _PACKAGE.parent / "proofs"


def document_path(name: str) -> Path | None:
    """Return the LaTeX file of the proof or note ``name``, or None if it does not exist."""
    path = documents_folder() / f"{name}.tex"
    return path if path.is_file() else None


def document_names() -> list[str]:
    """Return the names of all proof documents, sorted: each is in the folder of what it proves."""
    root = documents_folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/**/*.tex"))


def note_names() -> list[str]:
    """Return the names of all notes, sorted; a note is beside these folders and has no code hashes of its own."""
    return sorted(path.stem for path in documents_folder().glob("*.tex"))


def document_source(name: str) -> str:
    path = document_path(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex; opendp-topk proofs lists all documents")
    return read_text(path)


@remembered
def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def document_text(name: str) -> str:
    """Return the document ``name`` without its comments."""
    return strip_comments(document_source(name))


def reliance_record_path() -> Path:
    """Return the file with the digests of the statements that each document relies on."""
    return documents_folder() / "relied.json"


def recorded_reliances(name: str) -> dict[str, str]:
    """Return the statements that ``name`` relied on when it was last read, each with its digest."""
    return dict(_load_reliance_record().get(name, {}))


@remembered
def _load_reliance_record() -> dict[str, dict[str, str]]:
    path = reliance_record_path()
    return dict(json.loads(read_text(path))) if path.is_file() else {}


def current_reliances(name: str) -> dict[str, str]:
    """Return the statements that ``name`` relies on, each with its present digest (empty if missing)."""
    return {relation_key(one): _current_statement_digest(one) for one in find_relations(document_text(name))}


def relation_key(relation: Relation) -> str:
    """Return the key of a statement in the file: ``core/chaining`` or ``core/chaining#post-processing``."""
    return "#".join(part for part in relation if part)


@remembered
def document_foundations(name: str) -> list[str]:
    """Return all documents that ``name`` relies on, directly or through others, sorted."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        below = _direct_foundations(waiting.pop())
        waiting += sorted(below - found)
        found |= below
    return sorted(found - {name})


@remembered
def _direct_foundations(name: str) -> frozenset[str]:
    text = document_text(name) if document_path(name) else ""
    return frozenset(target for target, _ in find_relations(text))


def _current_statement_digest(relation: Relation) -> str:
    target, label = relation
    return "" if document_path(target) is None else statement_digest(document_text(target), label)
