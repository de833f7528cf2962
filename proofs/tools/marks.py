"""What is wrong in the tables of notes, and in what documents say that a proof assistant has checked."""

from __future__ import annotations

import re

from opendp_topk.errors import ProofError
from opendp_topk.proof import library
from opendp_topk.proof.latex import SEE, NoteRow, parse_note_rows
from opendp_topk.proof.library import find_theorem
from opendp_topk.proof.machine import MachineCheck
from opendp_topk.proof.regions import read_region, region_tags

KINDS = ("same", "part", "weaker")
_QUOTED = re.compile(r"``(.*?)''")


def kind(check: MachineCheck) -> str:
    """What the two statements are to each other: the word with which the remark begins, one of ``KINDS``."""
    return check.remark.partition(":")[0]


def misjudged(check: MachineCheck) -> list[str]:
    """What is wrong with the remark of a mark, one sentence each, from its first word to its quotes of the theorem."""
    said, quotes = find_theorem(library.document_text(check.document), check.label), _QUOTED.findall(check.remark)
    found = [f"calls {check.label} checked, which is no theorem, lemma or the like"] if not said else []
    if kind(check) not in KINDS:
        found.append(f"must say of {check.label} and {check.theorem} whether it is same:, part: or weaker:")
    if kind(check) != KINDS[0] and not quotes:
        found.append(f"must quote the words of {check.label} that {check.theorem} is about, as ``...''")
    return found + [
        f"says that {check.theorem} checks `{one}', which {check.label} does not say"
        for one in quotes
        if said and one not in said
    ]


def note_problems(name: str) -> list[str]:
    """What is wrong in the table of a note, one sentence each; an empty list where nothing is."""
    listed = parse_note_rows(name)
    keys, seen = [row.key for row in listed], set(SEE.findall(library.document_text(name)))
    found = [f"{name}.tex has two rows {key}" for key in sorted(set(keys)) if keys.count(key) > 1]
    found += [f"{name}.tex leads to a row {key}, which its table does not have" for key in sorted(seen - set(keys))]
    found += [f"{name}.tex never leads to the row {key} of its table" for key in sorted(set(keys) - seen)]
    return found + [f"{name}.tex, row {row.key}: {fault}" for row in listed for fault in _faults(row)]


def _faults(row: NoteRow) -> list[str]:
    try:
        held = region_tags(read_region(row.code_hash.region))
    except ProofError as error:
        return [str(error)]
    missing = [f"the region {row.region} has no tag [{tag}]" for tag in row.tags if tag not in held]
    if rf"\label{{{row.label}}}" not in library.document_text(row.document):
        missing.append(f"{row.document}.tex states nothing with the label '{row.label}'")
    return missing
