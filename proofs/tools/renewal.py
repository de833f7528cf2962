"""Pins are renewed by a reader who quotes what was checked, and the difference that is accepted is shown.

The difference is taken against the commit that logged the reading whose pins the document has, on whichever side of a
merge; of pins of which the log has none, against the commit that last wrote them. In a copy without its history all
that is pinned is shown.
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
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from opendp_topk.errors import ProofError
from opendp_topk.proof import library
from opendp_topk.proof.closures import code_hashes, describe_origins, hashed_code_text, region_closure, short_sha256
from opendp_topk.proof.library import find_relations, statement_digest, statement_text, strip_comments
from opendp_topk.proof.machine import machine_checks
from opendp_topk.proof.machine import theorem_with_vocabulary as stated_by
from opendp_topk.proof.modules import Statement
from opendp_topk.proof.normal import without_docstrings
from opendp_topk.proof.readings import Migration, ReviewEntry, Rewording, review_log_path
from opendp_topk.proof.regions import read_region
from proofs.tools.log import append, begun, recorded, written

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
    """All for which pins and marks of a document stand: regions, what they reach, statements relied on or checked."""
    found: dict[str, str] = {}
    for pin in code_hashes(name):
        inside, beyond = region_closure(name, pin.region)
        names = [f"# {'/'.join(sorted(one.names))}: {line}" for one in inside for line in describe_origins(one)]
        found[pin.region] = "\n".join([read_region(pin.region).rstrip(), *names])
        for number, one in enumerate(beyond):
            known = f"{pin.region} reaches {'/'.join(sorted(one.names)) or '(statement)'}"
            found[known if known not in found else f"{known} ({number})"] = _readable(one)
    for target, label in find_relations(library.document_text(name)):
        stated = statement_text(library.document_text(target), label) if library.document_path(target) else ""
        found[f"relies on {library.relation_key((target, label))}"] = "\n".join(textwrap.wrap(stated, 110))
    for check in machine_checks(name):
        proved = textwrap.wrap(statement_text(library.document_text(name), check.label), 110)
        lines = [check.remark, *proved, stated_by(check.theorem)]
        found[f"calls {check.label} checked by {check.theorem}"] = "\n".join(lines)
    return found


def _whole(name: str) -> dict[str, str]:
    """The texts of which the digests are made: what differs in them alone is in which way names lead to code."""
    return {pin.region: hashed_code_text(name, pin.region) for pin in code_hashes(name)}


def _readable(one: Statement) -> str:
    """A statement without its docstring, with the origins of what it reads."""
    node = one.node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node = copy.copy(node)
        node.body = without_docstrings(node.body) or [ast.Pass()]
    return "\n".join([ast.unparse(ast.fix_missing_locations(node)), *(f"# {line}" for line in describe_origins(one))])


def _commit(name: str) -> str | None:
    """The commit in which the document was read as its pins have it, or None where there is none."""
    root = library.package_folder().parent
    if library.documents_folder() != root / "proofs" or not (root / ".git").exists():
        return None
    line = f"-S{begun(name, written(name))}"
    log, document = f"proofs/{review_log_path().name}", f"proofs/{name}.tex"
    # What a merge brings together was read on its sides, unless its own commit has logged it.
    searches = [line, "--", log], ["-m", line, "--", log], ["--no-merges", r"-G^\\pin\{", "--", document]
    commits = (_git(root, "log", "-1", "--format=%H", *search).decode().split() for search in searches)
    return next((found[0] for found in commits if found), None)


def _git(root: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""


def _at(commit: str, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """What was shown of a document at a commit, and its texts."""
    root = library.package_folder().parent
    with tempfile.TemporaryDirectory() as scratch:
        packed = _git(root, "archive", "--format=tar", commit, library.package_folder().name, "proofs")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(scratch, filter="data")
        with library.use_package_folder(Path(scratch) / library.package_folder().name):
            try:
                return shown(name), _whole(name)
            except ProofError:
                return {}, {}


MIGRATED = "nothing: the pins are older than this log"


def renew(readings: Sequence[tuple[str, str, str]], because: str, by: str) -> str:
    """Renew the pins of documents that ``by`` has re-read, and log it; the differences that this accepts.

    Each reading is the document, words or a ``[tag]`` of it that were checked again, and words of a changed line;
    ``because`` says why the theorems still cover the change. Nothing is written unless all quotes are found.

    Raises:
        ProofError: There is no such document, a region is missing, a quote is not found, ``because`` is less than three
            words, or ``by`` is empty.
    """
    differences = [_accepted(*reading) for reading in readings]
    if not by.strip() or not by.isprintable():
        raise ProofError("by must be the name of the person who read the proof")
    if len(because.split()) < 3:
        raise ProofError("because must say in three words or more why the theorems still cover the change")
    for name, _, _ in readings:
        differences.append(f"{repin(name)} pins of proofs/{name}.tex renewed: its argument must hold for what is shown")
    today = date.today().isoformat()
    append(
        ReviewEntry(name, written(name), today, by, _plain(one), _plain(other), _plain(because))
        for name, one, other in readings
    )
    return "\n".join(differences)


def rename(old: str, new: str, because: str, by: str) -> str:
    """Renew the pins that differ from what they were by one name alone, and log it; the documents whose pins these are.

    With the old name in the place of the new one every pin has the digest that it was read at. The old name may stand
    nowhere in what is pinned, or code that has both names would pass for code that has one.

    Raises:
        ProofError: A pin is stale for another reason, the old name is still there, no pin differs, or ``because`` or
            ``by`` is empty.
    """
    library.clear_cache()
    before = {name: written(name) for name in library.document_names()}
    changed = []
    for name in before:
        for pin in (one for one in code_hashes(name) if not one.is_current):
            text = hashed_code_text(name, pin.region)
            if repr(old) in text or short_sha256(text.replace(repr(new), repr(old))) != pin.digest:
                raise ProofError(f"proofs/{name}.tex: region {pin.region} differs by more than {old} that is {new} now")
            changed.append(name)
    if not changed:
        raise ProofError(f"no pin differs by {old} that is {new} now")
    return migrate(sorted(set(changed)), because, by)


def migrate(names: Sequence[str], because: str, by: str) -> str:
    """Write the present digests of documents whose pins stand for the code that they were read at, and log it once."""
    before = {name: written(name) for name in names}
    for name in names:
        repin(name)
    digests = {digest: written(name) for name, digest in before.items()}
    append([Migration(digests, date.today().isoformat(), by, _plain(because))])
    return "\n".join(f"pins of proofs/{name}.tex are written anew" for name in names)


def _accepted(name: str, checked: str, against: str) -> str:
    shown = difference(name)
    if not is_quoted(name, checked):
        raise ProofError(f"proofs/{name}.tex does not say {checked!r}: quote three words of it or more, or a [tag]")
    lines = [line for line in shown.splitlines() if line[:3] not in ("+++", "---")]
    changed = [_plain(" ".join(line[1:] for line in lines if line[:1] == sign)) for sign in "+-"]
    if len(_plain(against)) < 4 or not any(_plain(against) in one for one in changed):
        raise ProofError(f"no changed line of {name} says {against!r}: quote one that --difference {name} shows")
    return shown


def is_quoted(name: str, checked: str) -> bool:
    """Whether a document says these words, cites this ``[tag]``, or had its pins before quotes were asked for."""
    text = library.document_text(name)
    if checked.startswith("[") and checked.endswith("]"):
        return rf"\codetag{{{checked[1:-1]}}}" in text
    return checked == MIGRATED or (len(checked.split()) >= 3 and _plain(checked) in _plain(text))


def _plain(text: str) -> str:
    return " ".join(text.split())


def reword(key: str, because: str, by: str) -> str:
    """Log that a statement, or each of a document, has other words and the same meaning; old and new words.

    Raises:
        ProofError: There is no such statement, or nothing that relies on it was recorded with other words.
    """
    target, _, label = key.partition("#")
    strayed = {one: old for one, old in recorded(target).items() if not label or one == key}
    if not strayed:
        raise ProofError(f"no document relies on {key} in other words than it has: nothing is to be carried")
    lines: list[Rewording] = []
    shown: list[str] = []
    for one, olds in sorted(strayed.items()):
        label = one.partition("#")[2]
        new = statement_digest(library.document_text(target), label)
        lines += [Rewording(one, old, new, date.today().isoformat(), by, _plain(because)) for old in sorted(olds)]
        now = textwrap.wrap(statement_text(library.document_text(target), label), 110)
        for old in sorted(olds):
            then = textwrap.wrap(_stated_at(target, label, old), 110)
            shown += difflib.unified_diff(then, now, f"{one} (recorded)", f"{one} (now)", lineterm="")
    append(lines)
    library.clear_cache()
    return "\n".join(shown)


def _stated_at(target: str, label: str, digest: str) -> str:
    """The statement with this digest, from the history of the document; empty where that has none."""
    root = library.package_folder().parent
    for commit in _git(root, "log", "--format=%H", "--", f"proofs/{target}.tex").decode().split():
        text = strip_comments(_git(root, "show", f"{commit}:proofs/{target}.tex").decode())
        if statement_digest(text, label) == digest:
            return statement_text(text, label)
    return ""


def repin(name: str) -> int:
    """Write the present digests of code and statements into the pins of ``name``; the number of pins that changed.

    Only a reader who has held the proof against the changed code and statements may do this.

    Raises:
        ProofError: There is no such document, or a region that it pins is missing.
    """
    library.clear_cache()
    pinned, path = code_hashes(name), library.documents_folder() / f"{name}.tex"
    source, changed = path.read_text(encoding="utf-8"), 0
    for pin in pinned:
        new = replace(pin, digest=pin.current_digest)
        changed += new != pin
        source = source.replace(str(pin), str(new))
    for check in machine_checks(name):
        changed += not check.is_current
        source = source.replace(check.format_mark(check.digest), check.format_mark(check.current_digest))
    path.write_text(source, encoding="utf-8")
    changed += _repin_statements(name)
    library.clear_cache()
    return changed


def _repin_statements(name: str) -> int:
    then, now = library.recorded_reliances(name), library.current_reliances(name)
    file = library.reliance_record_path()
    all_of_them = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    existing = set(library.document_names())
    kept = {one: digests for one, digests in all_of_them.items() if one in existing and digests} | {name: now}
    file.write_text(
        json.dumps({one: kept[one] for one in sorted(kept) if kept[one]}, indent=1) + "\n", encoding="utf-8"
    )
    return sum(then.get(one) != now.get(one) for one in then.keys() | now.keys())
