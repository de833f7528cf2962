"""The checks that keep documents, code and the statements of other documents together.

A document is sound in form when every region that it pins is the code that runs, every tag that it cites
stands in that code, every tag of that code is cited, and every statement on which it relies is what it was. Whether
the argument is right is for a reader. ``python -m opendp_topk.audit.documents`` lists what is wrong;
``NAME --repin`` renews the pins of a document, and ``--pdf FOLDER`` builds them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from .. import proof
from ..errors import ProofError
from .latex import build, tags, tex_is_missing
from .statements import relations

__all__ = ["build", "problems", "repin", "tex_is_missing"]

_STALE = "re-read the proof, then update the pin"
_PARTS = (r"\precondition", r"\pseudocode", r"\postcondition", r"\begin{proof}", r"\runtimeerrors")
_CITED = re.compile(r"\\codetag\{([^{}]*)\}")
_TITLE = re.compile(r"\\proofdocument\{([^{}]*)\}")
_BANNED = re.compile(r"\bsimilarly\b", re.IGNORECASE)


def problems(name: str) -> list[str]:
    """What is wrong in the form of the document ``name``, one sentence each; an empty list where nothing is.

    Raises:
        ProofError: There is no such document.
    """
    pinned = proof.pins(name)
    text = proof.text(name)
    found = [f"{name}.tex lacks {part}" for part in _PARTS if part not in text]
    if _TITLE.findall(text) != [name]:
        found.append(rf"{name}.tex must call itself \proofdocument{{{name}}} once")
    if _BANNED.search(text):
        found.append(f"{name}.tex says 'similarly': give the step instead")
    if not pinned:
        found.append(f"{name}.tex pins no region of code")
    return found + _stale(name, pinned) + _tag_problems(name, pinned, text) + _relation_problems(name, text)


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


def repin(name: str) -> int:
    """Write the present digests of code and statements into the pins of ``name``; the number of pins that changed.

    Only a reader who has held the proof against the changed code and statements may do this.

    Raises:
        ProofError: There is no such document, or a region that it pins is missing.
    """
    pinned, path = proof.pins(name), proof.folder() / f"{name}.tex"
    source, changed = path.read_text(encoding="utf-8"), 0
    for pin in pinned:
        old = rf"\pin{{{pin.source}}}{{{pin.region}}}{{{pin.digest}}}"
        new = rf"\pin{{{pin.source}}}{{{pin.region}}}{{{pin.actual}}}"
        changed += old != new
        source = source.replace(old, new)
    path.write_text(source, encoding="utf-8")
    return changed + _repin_statements(name)


def _repin_statements(name: str) -> int:
    then, now = proof.relied_then(name), proof.relied_now(name)
    file = proof.relied_file()
    all_of_them = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    existing = set(proof.documents())
    kept = {one: digests for one, digests in all_of_them.items() if one in existing and digests} | {name: now}
    file.write_text(
        json.dumps({one: kept[one] for one in sorted(kept) if kept[one]}, indent=1) + "\n", encoding="utf-8"
    )
    return sum(then.get(one) != now.get(one) for one in then.keys() | now.keys())


def main(arguments: Sequence[str] | None = None) -> int:
    """List what is wrong in the form of the documents; the exit code is 1 where something is."""
    parser = argparse.ArgumentParser(prog="python -m opendp_topk.audit.documents", description=main.__doc__)
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
