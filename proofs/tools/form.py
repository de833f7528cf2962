"""The checks that keep documents, code and the statements of other documents together.

A document is sound in form when every region that it pins is the code that runs, every tag that it cites
stands in that code, every tag of that code is cited, every statement on which it relies is what it was, and the log of
readings has a line for its pins. Whether the argument is right is for a reader. ``python -m proofs.tools.form``
lists what is wrong, and ``--pdf FOLDER`` builds documents.

- ``--difference NAME`` shows what changed since the pins of a document were made. ``--repin NAME CHECKED AGAINST``
  renews them: CHECKED quotes the hypothesis, the sentence or the tag (``[check-k]``) of the document that was checked
  again, and AGAINST a changed line of what is shown. It may be given for several documents, each with its quotes.
- ``--reworded NAME#LABEL`` says that a statement has other words and the same meaning; without a label, that this holds
  for every statement of the document.
- ``--renamed OLD NEW`` renews all pins that differ by the name of a parameter, keyword or attribute alone. Names of
  functions, classes, modules and variables belong to no pin.

Each says why the theorems still cover the code by ``--because WHY``, names the reader by ``--by WHO``, and writes to
``proofs/readings.jsonl``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from opendp_topk import proof
from opendp_topk.errors import ProofError
from opendp_topk.proof.latex import build_pdf, missing_tex_message
from opendp_topk.proof.library import find_relations
from opendp_topk.proof.machine import machine_checks
from opendp_topk.proof.readings import drifted_statements, last_review
from opendp_topk.proof.regions import region_tags
from proofs.tools.log import is_read
from proofs.tools.marks import misjudged, note_problems
from proofs.tools.renewal import difference, is_quoted, rename, renew, repin, reword

__all__ = ["build_pdf", "difference", "problems", "repin", "missing_tex_message"]

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
    if name in proof.note_names():
        return note_problems(name)
    pinned = proof.code_hashes(name)
    text = proof.document_text(name)
    found = [f"{name}.tex lacks {part}" for part in _PARTS if part not in text]
    if _TITLE.findall(text) != [name]:
        found.append(rf"{name}.tex must call itself \proofdocument{{{name}}} once")
    if _BANNED.search(text):
        found.append(f"{name}.tex says 'similarly': give the step instead")
    if not pinned:
        found.append(f"{name}.tex pins no region of code")
    found += _stale(name, pinned) + _tag_problems(name, pinned, text) + _relation_problems(name, text)
    reading = last_review(name)
    if reading is None or not is_read(name):
        found.append(
            f"{name}.tex has pins without a line in readings.jsonl: hold it against the change, and --repin it"
        )
    elif not is_quoted(name, reading.checked):
        found.append(f"{name}.tex no longer says what its last reading quotes: {reading.checked}")
    return found + _check_problems(name)


def _stale(name: str, pinned: Sequence[proof.CodeHash]) -> list[str]:
    found = []
    for pin in pinned:
        try:
            actual = pin.current_digest
        except ProofError as error:
            found.append(f"{name}.tex: {error}")
            continue
        if actual != pin.digest:
            found.append(
                f"{name}.tex proved region {pin.region} of {pin.source_file} at {pin.digest or 'no digest'}, but it or "
                f"what it reaches is now at {actual}: {_STALE}"
            )
    return found


def _tag_problems(name: str, pinned: Sequence[proof.CodeHash], text: str) -> list[str]:
    present: set[str] = set()
    for pin in pinned:
        try:
            present |= region_tags(proof.read_region(pin.region))
        except ProofError:
            return []
    cited = set(_CITED.findall(text))
    return [f"{name}.tex cites [{tag}], which no pinned region holds" for tag in sorted(cited - present)] + [
        f"{name}.tex never cites [{tag}] of the code that it pins" for tag in sorted(present - cited)
    ]


def _relation_problems(name: str, text: str) -> list[str]:
    found = []
    for target, label in find_relations(text):
        if proof.document_path(target) is None:
            found.append(f"{name}.tex relies on {target}.tex, which does not exist")
        elif label and rf"\label{{{label}}}" not in proof.document_text(target):
            found.append(f"{name}.tex relies on '{label}' of {target}.tex, which has no such label")
    return found + [
        f"{name}.tex relies on {one}, whose statement is not what it was: {_STALE}" for one in drifted_statements(name)
    ]


def _check_problems(name: str) -> list[str]:
    found = []
    for check in machine_checks(name):
        try:
            actual, uncompiled = check.current_digest, check.uncompiled_files
        except ProofError as error:
            found.append(str(error))
            continue
        if check.digest != actual:
            found.append(
                f"{name}.tex calls {check.label} checked by {check.theorem} at {check.digest or 'no digest'}, but one "
                f"of the two statements is now another ({actual}): hold them against each other, then --repin {name}"
            )
        if uncompiled:
            found.append(
                f"{name}.tex calls {check.label} checked by {check.theorem}, but {', '.join(uncompiled)} is not what "
                "was compiled: python -m tests.machine --record"
            )
        found += [f"{name}.tex {said}" for said in misjudged(check)]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """List what is wrong in the form of the documents; the exit code is 1 where something is."""
    parser = argparse.ArgumentParser(prog="python -m proofs.tools.form", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="documents below proofs/ without their ending; all, if none is named")
    parser.add_argument(
        "--repin",
        metavar=("NAME", "CHECKED", "AGAINST"),
        nargs=3,
        action="append",
        default=[],
        help="renew the pins of a document that was re-read, with a quote of it and one of the change",
    )
    parser.add_argument(
        "--reworded", metavar="NAME#LABEL", help="a statement that has other words and the same meaning"
    )
    parser.add_argument(
        "--renamed", metavar=("OLD", "NEW"), nargs=2, help="a parameter, keyword or attribute with another name"
    )
    parser.add_argument("--because", metavar="WHY", default="", help="why the theorems still cover it")
    parser.add_argument("--by", metavar="WHO", default="", help="who has read")
    parser.add_argument("--difference", metavar="NAME", help="show what a renewal of this document would accept")
    parser.add_argument("--pdf", metavar="FOLDER", help="build them into this folder")
    options = parser.parse_args(arguments)
    renews = bool(options.repin or options.reworded or options.renamed)
    for option, said in (("--by WHO", options.by), ("--because WHY", options.because)):
        if renews != bool(said.strip()):
            parser.error(f"--repin, --reworded and --renamed need {option}, and nothing else does")
    if options.difference:
        print(difference(options.difference))
    try:
        if options.reworded:
            print(reword(options.reworded, options.because, options.by))
        if options.renamed:
            old, new = options.renamed
            print(rename(old, new, options.because, options.by))
        if options.repin:
            print(renew(options.repin, options.because, options.by))
    except ProofError as error:
        parser.error(str(error))
    found = []
    asked = [name for name, _, _ in options.repin] or options.names or [*filter(None, [options.difference])]
    for name in asked or proof.document_names() + proof.note_names():
        found += problems(name)
        if options.pdf is not None:
            print(build_pdf(name, options.pdf))
    print("\n".join(found) or "nothing is wrong in the form of the documents")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
