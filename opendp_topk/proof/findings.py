"""Cache of findings about documents, keyed by the digest of all sources and documents they derive from.

Computing every code hash takes seconds, and the findings depend only on the text of the package and of the documents.
So they are stored: a wheel contains the findings of its build, and a process that derives more stores them beside the
compiled modules of this folder. If the digest differs, stored findings are ignored and everything is derived again.

Python runs compiled modules. It compares them with their sources, unless a module is flagged as unchecked. In that case
the sources are not evidence of the code that runs, and no document is current.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from . import library

BUILT = "findings.json"
_MOST_STATES = 8  # stored states of the sources: a few branches, or versions of a file that is being edited
_UNCHECKED = 1  # flags of a compiled module that is run without a check of its source (PEP 552)


class Finding(NamedTuple):
    """Result for a document: if its code hashes and reliances are unchanged, and the SHA-256 of all hashed code."""

    current: bool
    code: str


Found = dict[str, Finding]
"""Findings by the name of the document."""


@library.remembered
def sources_digest() -> str:
    """Return the SHA-256 of all sources of the package and all documents; empty if other code may run."""
    package, folder = library.package_folder(), library.documents_folder()
    total = hashlib.sha256()
    for root, endings in ((package, (".py",)), (folder, (".tex", ".json", ".jsonl"))):
        for path in sorted(_list_source_files(root, endings)):
            text = path.read_bytes()
            total.update(f"{path.relative_to(root).as_posix()} {len(text)}\n".encode() + text)
            if path.suffix == ".py" and _is_unchecked(path):
                return ""
    return total.hexdigest()


def _list_source_files(root: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the files below a folder with these endings, except documents inside an installed package."""
    found = []
    for place, folders, names in os.walk(root):
        folders[:] = [one for one in folders if one not in ("__pycache__", "documents")]
        found += [Path(place, one) for one in names if one.endswith(endings) and one != BUILT]
    return found


def _is_unchecked(source: Path) -> bool:
    with contextlib.suppress(OSError), open(cache_from_source(str(source)), "rb") as compiled:
        return compiled.read(8)[4:] == _UNCHECKED.to_bytes(4, "little")
    return False


def load_or_derive_findings(names: Iterable[str], derive: Callable[[str], Finding]) -> Found:
    """Return stored findings for these sources and documents, and derive missing ones."""
    known = _load_stored_findings()
    new = {one: derive(one) for one in names if one not in known}
    if new:
        known.update(new)
        _store_findings(new)
    return known


@library.remembered
def _load_stored_findings() -> Found:
    files, state = (library.documents_folder() / BUILT, _findings_cache_path()), sources_digest()
    return {name: found for file in files for name, found in _parse_findings_file(file).get(state, {}).items()}


def _store_findings(new: Found) -> None:
    """Store findings if Python writes compiled modules; otherwise they are derived again by each process."""
    if sys.dont_write_bytecode or not sources_digest():
        return
    path = _findings_cache_path()
    states = _parse_findings_file(path)
    states[sources_digest()] = states.pop(sources_digest(), {}) | new
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        write_findings_file(path, dict([*states.items()][-_MOST_STATES:]))


def write_findings_file(path: Path, states: dict[str, Found]) -> None:
    """Replace a file atomically, so that another process reads the old one or the new one."""
    from ..errors.files import write_atomically  # imported here: most processes find all findings stored

    write_atomically(path, json.dumps(states).encode(), replace=True)


def _findings_cache_path() -> Path:
    beside = Path(cache_from_source(str(library.package_folder() / "proof" / "findings.py")))
    return beside.with_suffix(".json")


def _parse_findings_file(path: Path) -> dict[str, Found]:
    """Return the findings in a file; empty if it is not a file of findings."""
    try:
        states = json.loads(path.read_text(encoding="utf-8"))
        return {one: {name: Finding(*found) for name, found in kept.items()} for one, kept in states.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
