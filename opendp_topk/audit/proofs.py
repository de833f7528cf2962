"""The registry of proofs, and the checks that keep documents and code together.

A document is sound in form when every region that it pins is the code that runs, every tag that it cites
stands in that code, and every tag of that code is cited. Whether the argument is right is for a reader.
``python -m opendp_topk.audit.proofs`` lists what is wrong; ``NAME --repin`` renews the pins of a document, and
``--pdf FOLDER`` builds them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .. import proof
from ..errors import ProofError
from .latex import build, tags, tex_is_missing

__all__ = ["Row", "build", "problems", "registry", "relations", "repin", "tex_is_missing"]

USER = "core/user"
_STALE = "re-read the proof, then update the pin"
_PARTS = (r"\precondition", r"\pseudocode", r"\postcondition", r"\begin{proof}", r"\runtimeerrors")
_CITED = re.compile(r"\\codetag\{([^{}]*)\}")
_RELIES = re.compile(r"\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}")
_TITLE = re.compile(r"\\proofdocument\{([^{}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_BANNED = re.compile(r"\bsimilarly\b", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A public constructor and its proof. ``document`` is None where there is none."""

    constructor: str
    document: str | None
    status: str
    remark: str = ""


def registry() -> list[Row]:
    """Every public ``make_*`` constructor in alphabetical order, with its proof and the state of that proof."""
    import opendp_topk

    return [_row(name) for name in sorted(opendp_topk.__all__) if name.startswith("make_")]


def _row(name: str) -> Row:
    import opendp_topk

    if name.startswith("make_user_"):
        return Row(name, USER, "unproven", "unproven: the caller supplies the map")
    stated = getattr(getattr(opendp_topk, name), "proof_name", None)
    return Row(name, stated, "missing" if stated is None else proof.Proof(stated).status)


def problems(name: str) -> list[str]:
    """What is wrong in the form of the document ``name``, one sentence each; an empty list where nothing is.

    Raises:
        ProofError: There is no such document.
    """
    pinned = proof.pins(name)
    text = _text(name)
    found = [f"{name}.tex lacks {part}" for part in _PARTS if part not in text]
    if _TITLE.findall(text) != [name]:
        found.append(rf"{name}.tex must call itself \proofdocument{{{name}}} once")
    if _BANNED.search(text):
        found.append(f"{name}.tex says 'similarly': give the step instead")
    if not pinned:
        found.append(f"{name}.tex pins no region of code")
    return found + _stale(name, pinned) + _tag_problems(name, pinned, text) + _relation_problems(name, text)


def _text(name: str) -> str:
    path = proof.document(name)
    if path is None:
        raise ProofError(f"there is no proof document {name}.tex")
    return "\n".join(_COMMENT.sub("", line) for line in path.read_text(encoding="utf-8").splitlines())


def _stale(name: str, pinned: Sequence[proof.Pin]) -> list[str]:
    found = []
    for pin in pinned:
        try:
            actual = proof.digest(pin.source, pin.region)
        except ProofError as error:
            found.append(f"{name}.tex: {error}")
            continue
        if actual != pin.digest:
            found.append(
                f"{name}.tex proved region {pin.region} of {pin.source} at {pin.digest or 'no digest'}, but the code "
                f"is now at {actual}: {_STALE}"
            )
    return found


def _tag_problems(name: str, pinned: Sequence[proof.Pin], text: str) -> list[str]:
    present: set[str] = set()
    for pin in pinned:
        try:
            present |= tags(proof.region(pin.source, pin.region))
        except ProofError:
            return []
    cited = set(_CITED.findall(text))
    return [f"{name}.tex cites [{tag}], which no pinned region holds" for tag in sorted(cited - present)] + [
        f"{name}.tex never cites [{tag}] of the code that it pins" for tag in sorted(present - cited)
    ]


def relations(name: str) -> list[tuple[str, str]]:
    r"""The documents on which ``name`` relies, each with the label of the theorem (empty: the whole document)."""
    return sorted({(target, label) for label, target in _RELIES.findall(_text(name))})


def _relation_problems(name: str, text: str) -> list[str]:
    found = []
    for target, label in relations(name):
        if proof.document(target) is None:
            found.append(f"{name}.tex relies on {target}.tex, which does not exist")
        elif label and rf"\label{{{label}}}" not in _text(target):
            found.append(f"{name}.tex relies on '{label}' of {target}.tex, which has no such label")
    return found


def repin(name: str) -> int:
    """Write the present digests into the pins of the document ``name``; the number of pins that changed.

    Only a reader who has held the proof against the changed code may do this.

    Raises:
        ProofError: There is no such document, or a region that it pins is missing.
    """
    path = proof.document(name)
    text = "" if path is None else path.read_text(encoding="utf-8")
    changed = 0
    for pin in proof.pins(name):
        old = rf"\pin{{{pin.source}}}{{{pin.region}}}{{{pin.digest}}}"
        new = rf"\pin{{{pin.source}}}{{{pin.region}}}{{{proof.digest(pin.source, pin.region)}}}"
        changed += old != new
        text = text.replace(old, new)
    if path is not None and changed:
        path.write_text(text, encoding="utf-8")
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """List what is wrong in the form of the documents; the exit code is 1 where something is."""
    parser = argparse.ArgumentParser(prog="python -m opendp_topk.audit.proofs", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="documents below proofs/ without their ending; all, if none is named")
    parser.add_argument("--repin", action="store_true", help="first renew their pins: only after re-reading the proofs")
    parser.add_argument("--pdf", metavar="FOLDER", help="build them into this folder")
    options = parser.parse_args(arguments)
    if options.repin and not options.names:
        parser.error("--repin needs the names of the documents that were re-read")
    found = []
    for name in options.names or proof.documents():
        if options.repin:
            print(f"{repin(name)} pins of proofs/{name}.tex renewed: its argument must hold for the code as it is now")
        found += problems(name)
        if options.pdf is not None:
            print(build(name, options.pdf))
    print("\n".join(found) or "nothing is wrong in the form of the documents")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
