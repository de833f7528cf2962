"""Pins are renewed one document at a time, and the difference that is accepted is shown.

The difference is taken against the commit that last wrote the pins of the document. Where there is none, as in a copy
without its history, all that is pinned is shown.
"""

from __future__ import annotations

import ast
import copy
import difflib
import io
import json
import subprocess
import tarfile
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

from ..errors import ProofError
from . import library
from .closures import closure, origins, pinned, pins
from .machine import checks
from .modules import Statement
from .normal import undocumented
from .regions import region
from .statements import relations, statement
from .status import forget

_NOTHING = "nothing that it pins or on which it relies has changed since its pins were committed"


def difference(name: str) -> str:
    """What a renewal of the pins of ``name`` would accept, as a unified difference.

    Raises:
        ProofError: There is no such document, or a region that it pins is missing.
    """
    now, whole, commit = shown(name), _whole(name), _commit(name)
    then, before = ({}, {}) if commit is None else _at(commit, name)
    lines: list[str] = [] if commit else [f"no commit holds proofs/{name}.tex: all that it pins is new"]
    lines += _differences(then, now) or _differences(before, whole)
    return "\n".join(lines) or _NOTHING


def _differences(then: dict[str, str], now: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for title in sorted(then.keys() | now.keys()):
        old, new = then.get(title, ""), now.get(title, "")
        names = f"{title} (pinned)", f"{title} (now)"
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return lines


def shown(name: str) -> dict[str, str]:
    """All for which the pins of a document stand, to be read: regions, what they reach, and statements relied on."""
    found: dict[str, str] = {}
    for pin in pins(name):
        inside, beyond = closure(name, pin.region)
        names = [f"# {'/'.join(sorted(one.names))}: {line}" for one in inside for line in origins(one)]
        found[pin.region] = "\n".join([region(pin.region).rstrip(), *names])
        for number, one in enumerate(beyond):
            known = f"{pin.region} reaches {'/'.join(sorted(one.names)) or '(statement)'}"
            found[known if known not in found else f"{known} ({number})"] = _readable(one)
    for target, label in relations(library.text(name)):
        stated = statement(library.text(target), label) if library.document(target) else ""
        found[f"relies on {library.key((target, label))}"] = "\n".join(textwrap.wrap(stated, 110))
    return found


def _whole(name: str) -> dict[str, str]:
    """The texts of which the digests are made: what differs in them alone is in which way names lead to code."""
    return {pin.region: pinned(name, pin.region) for pin in pins(name)}


def _readable(one: Statement) -> str:
    """A statement without its docstring, with the origins of what it reads."""
    node = one.node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node = copy.copy(node)
        node.body = undocumented(node.body) or [ast.Pass()]
    return "\n".join([ast.unparse(ast.fix_missing_locations(node)), *(f"# {line}" for line in origins(one))])


def _commit(name: str) -> str | None:
    """The newest commit that wrote a pin of the document, or None where there is none."""
    root = library.package().parent
    if library.folder() != root / "proofs" or not (root / ".git").exists():
        return None
    search = ["log", "-m", "-1", "--format=%H", r"-G^\\pin\{", "--", f"proofs/{name}.tex"]
    found = _git(root, *search).decode().split()  # a merge is named once for each parent from which it differs
    return found[0] if found else None


def _git(root: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""


def _at(commit: str, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """What was shown of a document at a commit, and its texts."""
    root = library.package().parent
    with tempfile.TemporaryDirectory() as scratch:
        packed = _git(root, "archive", "--format=tar", commit, library.package().name, "proofs")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(scratch, filter="data")
        with library.at(Path(scratch) / library.package().name):
            try:
                return shown(name), _whole(name)
            except ProofError:
                return {}, {}


def repin(name: str) -> int:
    """Write the present digests of code and statements into the pins of ``name``; the number of pins that changed.

    Only a reader who has held the proof against the changed code and statements may do this.

    Raises:
        ProofError: There is no such document, or a region that it pins is missing.
    """
    forget()
    pinned, path = pins(name), library.folder() / f"{name}.tex"
    source, changed = path.read_text(encoding="utf-8"), 0
    for pin in pinned:
        new = replace(pin, digest=pin.actual)
        changed += new != pin
        source = source.replace(str(pin), str(new))
    for check in checks(name):
        changed += not check.is_current
        source = source.replace(check.mark(check.digest), check.mark(check.actual))
    path.write_text(source, encoding="utf-8")
    changed += _repin_statements(name)
    forget()
    return changed


def _repin_statements(name: str) -> int:
    then, now = library.relied_then(name), library.relied_now(name)
    file = library.relied_file()
    all_of_them = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    existing = set(library.documents())
    kept = {one: digests for one, digests in all_of_them.items() if one in existing and digests} | {name: now}
    file.write_text(
        json.dumps({one: kept[one] for one in sorted(kept) if kept[one]}, indent=1) + "\n", encoding="utf-8"
    )
    return sum(then.get(one) != now.get(one) for one in then.keys() | now.keys())
