"""All claims of the library, and their sign-offs."""

from __future__ import annotations

import ast
import functools
import json
import os
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ... import proof
from ...errors import ParameterError, ProofError, TableError, checks

# Sign-offs: the people who have read and accepted a proof, in a TOML file that the caller names.


@dataclass(frozen=True)
class Signoff:
    """One person's acceptance of one document at that time; ``digest`` is that of everything that was read."""

    name: str
    digest: str
    by: str
    date: str


_FIELDS = tuple(Signoff.__dataclass_fields__)


def read_signoffs(file: str | os.PathLike[str]) -> list[Signoff]:
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        rows = found.get("signoff", [])
        if set(found) <= {"signoff"} and isinstance(rows, list) and all(map(_is_signoff, rows)):
            return [Signoff(**row) for row in rows]
        reason = f"each [[signoff]] must contain exactly the texts {', '.join(_FIELDS)}"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        reason = "it is not valid TOML"
    raise TableError(f"the sign-offs {os.fspath(file)!r} could not be read: {reason}")


def append_signoff(name: str, digest: str, *, by: str, file: str | os.PathLike[str], on: date | None = None) -> Signoff:
    """Append a sign-off to ``file``, which is created if it does not exist."""
    if not isinstance(by, str) or not by.strip() or not by.isprintable():
        raise ParameterError("by must be the name of the person who read the proof")
    checks.require_instance("name", name, str, "the name of a proof document")
    path = Path(file)
    there = read_signoffs(path) if path.exists() else []
    signoff = Signoff(name, digest, by.strip(), (on or date.today()).isoformat())
    if any((one.name, one.digest, one.by) == (signoff.name, signoff.digest, signoff.by) for one in there):
        raise ParameterError(f"{signoff.by} has already signed the current state of {name}")
    lines = [f"{field} = {json.dumps(getattr(signoff, field), ensure_ascii=False)}" for field in _FIELDS]
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n".join(["[[signoff]]", *lines, "", ""]))
            stream.flush()
            os.fsync(stream.fileno())
        return signoff
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise TableError(f"the sign-off could not be written to {os.fspath(file)!r}: {reason}")


def _is_signoff(row: Any) -> bool:
    return isinstance(row, dict) and set(row) == set(_FIELDS) and all(isinstance(value, str) for value in row.values())


# The registry: each constructor with its proof, the foundations of the proof, its sign-offs, and its tests.

USER = "core/user"
_BY_CALLER = "make_user_"
_TESTS = Path(__file__).resolve().parents[3] / "tests"


@dataclass(frozen=True)
class Claim:
    """The claim of a public constructor, and what it depends on.

    ``document`` is None if there is none. ``status`` is ``current``, ``stale``, ``missing`` or ``unproven``; it is
    the worst of the document and of all ``foundations``. ``digest`` covers everything that a reader signs: the
    document, the code that it pins, the code that this reaches, and the same of its foundations. ``tests`` are the
    files that use the constructor (empty if the tests are not installed, see :func:`tests_are_here`). ``signoffs`` are
    those of the caller's file that are for this document.
    """

    constructor: str
    document: str | None
    status: str
    digest: str
    relies_on: tuple[str, ...] = ()
    foundations: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    signoffs: tuple[Signoff, ...] = ()
    remark: str = ""

    @property
    def accepted_by(self) -> tuple[str, ...]:
        """The people who have signed the claim in its current state."""
        return tuple(one.by for one in self.signoffs if one.digest == self.digest)

    @property
    def signers(self) -> str:
        """The same in words: the names, or whether there are only outdated sign-offs or none."""
        return ", ".join(self.accepted_by) or ("outdated" if self.signoffs else "nobody")


def proofs(signoffs: str | os.PathLike[str] | None = None) -> list[Claim]:
    """Return every public ``make_*`` constructor in alphabetical order, with its proof and the state of that proof.

    Args:
        signoffs: The file of sign-offs, as ``opendp-topk audit accept`` writes it. Default: None; no file is shipped.

    Raises:
        TableError: ``signoffs`` cannot be read.
    """
    signed = [] if signoffs is None else read_signoffs(signoffs)
    return [_load_claim(name, signed) for name in constructor_names()]


def constructor_names() -> list[str]:
    import opendp_topk

    return [name for name in sorted(opendp_topk.__all__) if name.startswith("make_")]


def document_of(constructor: str) -> str | None:
    """Return the name of the document that proves the claim of a public ``make_*``; None if there is none."""
    import opendp_topk

    own = getattr(getattr(opendp_topk, constructor), "proof_name", None)
    return USER if constructor.startswith(_BY_CALLER) else own


def status_of(constructor: str) -> str:
    """Return ``current``, ``stale``, ``missing`` or ``unproven``, without the rest of a claim, which takes seconds."""
    document = document_of(constructor)
    if document is None or proof.document_path(document) is None:
        return "missing"
    return "unproven" if constructor.startswith(_BY_CALLER) else proof.Proof(document).status


def _load_claim(name: str, signed: list[Signoff]) -> Claim:
    document, status = document_of(name), status_of(name)
    if document is None or status == "missing":
        return Claim(name, document, "missing", "", tests=tests_of(name))
    return Claim(
        constructor=name,
        document=document,
        status=status,
        digest=_digest_or_nothing(document),
        relies_on=tuple(sorted(proof.current_reliances(document))),
        foundations=tuple(proof.document_foundations(document)),
        tests=tests_of(name),
        signoffs=tuple(one for one in signed if one.name == document),
        remark="unproven: the caller supplies the map" if status == "unproven" else "",
    )


def _digest_or_nothing(document: str) -> str:
    try:
        return proof.claim_digest(document)
    except ProofError:
        return ""


def tests_are_here() -> bool:
    """Return whether the tests are beside the package, as in its repository; an installed package has none."""
    return (_TESTS / "repo").is_dir()


def tests_of(constructor: str) -> tuple[str, ...]:
    """Return the test files that name the constructor or its partial form."""
    wanted = {constructor, constructor.replace("make_", "then_", 1)}
    return tuple(path for path, names in _names_in_tests() if wanted & names)


@functools.cache
def _names_in_tests() -> list[tuple[str, frozenset[str]]]:
    found = []
    for path in sorted(_TESTS.rglob("test_*.py")) if tests_are_here() else []:
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in tree}
        found.append((path.relative_to(_TESTS.parent).as_posix(), frozenset(names)))
    return found
