"""The checks that keep documents, code and the statements of other documents together.

A document is sound in form when every region that it pins is the code that runs, every tag that it cites
stands in that code, every tag of that code is cited, and every statement on which it relies is what it was. Whether
the argument is right is for a reader. ``python -m opendp_topk.proof.form`` lists what is wrong; ``--repin NAME`` shows
what changed since the pins of one document were made and renews them, and ``--pdf FOLDER`` builds documents.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from .. import proof
from ..errors import ProofError
from .latex import build, tex_is_missing
from .machine import checks
from .note_rows import note_problems
from .regions import tags
from .renewal import difference, repin
from .statements import relations

__all__ = ["build", "difference", "problems", "repin", "tex_is_missing"]

_STALE = "re-read the proof, then update the pin"
_PARTS = (r"\precondition", r"\pseudocode", r"\postcondition", r"\begin{proof}", r"\runtimeerrors")
_CITED = re.compile(r"\\codetag\{([^{}]*)\}")
_TITLE = re.compile(r"\\proofdocument\{([^{}]*)\}")
_BANNED = re.compile(r"\bsimilarly\b", re.IGNORECASE)


def problems(name: str) -> list[str]:
    """What is wrong in the form of the document or note ``name``, one sentence each; an empty list where nothing is.

    Raises:
        ProofError: There is no such document or note.
    """
    if name in proof.notes():
        return note_problems(name)
    pinned = proof.pins(name)
    text = proof.text(name)
    found = [f"{name}.tex lacks {part}" for part in _PARTS if part not in text]
    if _TITLE.findall(text) != [name]:
        found.append(rf"{name}.tex must call itself \proofdocument{{{name}}} once")
    if _BANNED.search(text):
        found.append(f"{name}.tex says 'similarly': give the step instead")
    if not pinned:
        found.append(f"{name}.tex pins no region of code")
    found += _stale(name, pinned) + _tag_problems(name, pinned, text) + _relation_problems(name, text)
    return found + _check_problems(name)


def _stale(name: str, pinned: Sequence[proof.Pin]) -> list[str]:
    found = []
    for pin in pinned:
        try:
            actual = pin.actual
        except ProofError as error:
            found.append(f"{name}.tex: {error}")
            continue
        if actual != pin.digest:
            found.append(
                f"{name}.tex proved region {pin.region} of {pin.source} at {pin.digest or 'no digest'}, but it or "
                f"what it reaches is now at {actual}: {_STALE}"
            )
    return found


def _tag_problems(name: str, pinned: Sequence[proof.Pin], text: str) -> list[str]:
    present: set[str] = set()
    for pin in pinned:
        try:
            present |= tags(proof.region(pin.region))
        except ProofError:
            return []
    cited = set(_CITED.findall(text))
    return [f"{name}.tex cites [{tag}], which no pinned region holds" for tag in sorted(cited - present)] + [
        f"{name}.tex never cites [{tag}] of the code that it pins" for tag in sorted(present - cited)
    ]


def _relation_problems(name: str, text: str) -> list[str]:
    found = []
    for target, label in relations(text):
        if proof.document(target) is None:
            found.append(f"{name}.tex relies on {target}.tex, which does not exist")
        elif label and rf"\label{{{label}}}" not in proof.text(target):
            found.append(f"{name}.tex relies on '{label}' of {target}.tex, which has no such label")
    then, now = proof.relied_then(name), proof.relied_now(name)
    changed = sorted(one for one in then.keys() | now.keys() if then.get(one) != now.get(one))
    return found + [f"{name}.tex relies on {one}, whose statement is not what it was: {_STALE}" for one in changed]


def _check_problems(name: str) -> list[str]:
    found = []
    for check in checks(name):
        try:
            actual, uncompiled = check.actual, check.uncompiled
        except ProofError as error:
            found.append(str(error))
            continue
        if check.digest != actual:
            found.append(
                f"{name}.tex calls {check.label} checked by {check.theorem} at {check.digest or 'no digest'}, but one "
                f"of the two statements is now another ({actual}): hold them against each other"
            )
        if uncompiled:
            found.append(
                f"{name}.tex calls {check.label} checked by {check.theorem}, but {', '.join(uncompiled)} is not what "
                "was compiled: python -m tests.machine --record"
            )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """List what is wrong in the form of the documents; the exit code is 1 where something is."""
    parser = argparse.ArgumentParser(prog="python -m opendp_topk.proof.form", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="documents below proofs/ without their ending; all, if none is named")
    parser.add_argument(
        "--repin", metavar="NAME", action="append", help="renew the pins of one document that was re-read"
    )
    parser.add_argument("--difference", metavar="NAME", help="show what a renewal of this document would accept")
    parser.add_argument("--pdf", metavar="FOLDER", help="build them into this folder")
    options = parser.parse_args(arguments)
    if options.repin and (len(options.repin) > 1 or options.names):
        parser.error("--repin takes exactly one document, which was re-read: renew the next one by a call of its own")
    if options.difference:
        print(difference(options.difference))
    if options.repin:
        _renew(*options.repin)
    found = []
    asked = options.repin or options.names or [*filter(None, [options.difference])]
    for name in asked or proof.documents() + proof.notes():
        found += problems(name)
        if options.pdf is not None:
            print(build(name, options.pdf))
    print("\n".join(found) or "nothing is wrong in the form of the documents")
    return 1 if found else 0


def _renew(name: str) -> None:
    print(difference(name))
    print(f"{repin(name)} pins of proofs/{name}.tex renewed: its argument must hold for what is shown above")


if __name__ == "__main__":
    raise SystemExit(main())
