"""Where the proof documents lie, what they say, and on which statements of others each relies."""

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
    """The folder of the package whose code is proved."""
    return _PACKAGE


@contextmanager
def at(place: Path) -> Iterator[None]:
    """Speak of the package in another folder, and of the documents beside it, for a while."""
    global _PACKAGE
    here, _PACKAGE = _PACKAGE, place
    try:
        yield
    finally:
        _PACKAGE = here


def folder() -> Path:
    """The folder of the proof documents: inside an installed wheel, beside the package in a checkout."""
    return _folder(package())


@functools.cache
def _folder(package: Path) -> Path:
    installed = package / "proof" / "documents"
    return installed if installed.is_dir() else package.parent / "proofs"


def document(name: str) -> Path | None:
    """The LaTeX file of the proof or note ``name``, or None if it does not exist."""
    path = folder() / f"{name}.tex"
    return path if path.is_file() else None


def documents() -> list[str]:
    """The names of all proof documents, sorted: each lies in the folder of what it proves."""
    root = folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/**/*.tex"))


def notes() -> list[str]:
    """The names of all notes, sorted: they lie beside these folders, pin nothing, and lead to the documents."""
    return sorted(path.stem for path in folder().glob("*.tex"))


def source(name: str) -> str:
    """The document ``name`` as it is written.

    Raises:
        ProofError: There is no such document.
    """
    path = document(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex; opendp-topk proofs lists those that exist")
    return _read(path)


@functools.cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def text(name: str) -> str:
    """The document ``name`` without its comments; errors are those of :func:`source`."""
    return _uncommented(source(name))


_uncommented = functools.cache(uncommented)
_relations = functools.cache(relations)
_statement_digest = functools.cache(statement_digest)


def relied_file() -> Path:
    """The file that holds the digests of the statements on which each document relies."""
    return folder() / "relied.json"


def relied_then(name: str) -> dict[str, str]:
    """The statements on which ``name`` relied when it was last read, each with its digest."""
    path = relied_file()
    return dict(_digests(path).get(name, {})) if path.is_file() else {}


@functools.cache
def _digests(path: Path) -> dict[str, dict[str, str]]:
    return dict(json.loads(_read(path)))


def relied_now(name: str) -> dict[str, str]:
    """The statements on which ``name`` relies, each with its digest as it stands (none where it is missing)."""
    return {key(relation): _standing(relation) for relation in _relations(text(name))}


def key(relation: Relation) -> str:
    """A statement as a key of the file: ``core/chaining`` or ``core/chaining#post-processing``."""
    return "#".join(part for part in relation if part)


def foundations(name: str) -> list[str]:
    """All documents on which ``name`` rests, directly or through others, sorted."""
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
    """The documents on which one relies itself."""
    return frozenset(target for target, _ in _relations(text(name))) if document(name) else frozenset()


def _standing(relation: Relation) -> str:
    target, label = relation
    return "" if document(target) is None else _statement_digest(text(target), label)


def forget_documents() -> None:
    """Read every document anew when it is next asked for."""
    for remembered in (_folder, _read, _digests, _foundations, _below):
        remembered.cache_clear()
