"""Proof documents: their files, their text, and the statements of other documents that each relies on."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ProofError
from .statements import Relation, relations, statement_digest, uncommented

_PACKAGE = Path(__file__).resolve().parents[1]


def package() -> Path:
    """Return the folder of the package whose code is proved."""
    return _PACKAGE


@contextmanager
def at(place: Path) -> Iterator[None]:
    """Use the package in another folder, and the documents beside it, within a ``with`` block."""
    global _PACKAGE
    here, _PACKAGE = _PACKAGE, place
    try:
        yield
    finally:
        _PACKAGE = here


def folder() -> Path:
    """Return the folder of the proof documents: inside an installed wheel, beside the package in a checkout."""
    return _folder(package())


@functools.cache
def _folder(package: Path) -> Path:
    installed = package / "proof" / "documents"
    return installed if installed.is_dir() else package.parent / "proofs"


def document(name: str) -> Path | None:
    """Return the LaTeX file of the proof or note ``name``, or None if it does not exist."""
    path = folder() / f"{name}.tex"
    return path if path.is_file() else None


def documents() -> list[str]:
    """Return the names of all proof documents, sorted: each is in the folder of what it proves."""
    root = folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/**/*.tex"))


def notes() -> list[str]:
    """Return the names of all notes, sorted: they are beside these folders, have no pins, and refer to documents."""
    return sorted(path.stem for path in folder().glob("*.tex"))


def source(name: str) -> str:
    """Return the text of the document ``name``.

    Raises:
        ProofError: If there is no such document.
    """
    path = document(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex; opendp-topk proofs lists those that exist")
    return _read(path)


@functools.cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def text(name: str) -> str:
    """Return the document ``name`` without its comments; errors are those of :func:`source`."""
    return _uncommented(source(name))


_uncommented = functools.cache(uncommented)
_relations = functools.cache(relations)
_statement_digest = functools.cache(statement_digest)


def relied_file() -> Path:
    """Return the file with the digests of the statements that each document relies on."""
    return folder() / "relied.json"


def relied_then(name: str) -> dict[str, str]:
    """Return the statements that ``name`` relied on when it was last read, each with its digest."""
    path = relied_file()
    return dict(_digests(path).get(name, {})) if path.is_file() else {}


@functools.cache
def _digests(path: Path) -> dict[str, dict[str, str]]:
    return dict(json.loads(_read(path)))


def relied_now(name: str) -> dict[str, str]:
    """Return the statements that ``name`` relies on, each with its present digest (empty if missing)."""
    return {key(relation): _standing(relation) for relation in _relations(text(name))}


def key(relation: Relation) -> str:
    """Return the key of a statement in the file: ``core/chaining`` or ``core/chaining#post-processing``."""
    return "#".join(part for part in relation if part)


def foundations(name: str) -> list[str]:
    """Return all documents that ``name`` relies on, directly or through others, sorted."""
    return _foundations(folder(), name)


@functools.cache
def _foundations(root: Path, name: str) -> list[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        below = _below(root, waiting.pop())
        waiting += sorted(below - found)
        found |= below
    return sorted(found - {name})


@functools.cache
def _below(root: Path, name: str) -> frozenset[str]:
    """Return the documents that one relies on directly."""
    return frozenset(target for target, _ in _relations(text(name))) if document(name) else frozenset()


def _standing(relation: Relation) -> str:
    target, label = relation
    return "" if document(target) is None else _statement_digest(text(target), label)


def forget_documents() -> None:
    """Clear the caches, so that every document is read again on the next call."""
    for remembered in (_folder, _read, _digests, _foundations, _below):
        remembered.cache_clear()
