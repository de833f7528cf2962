r"""Notes: what a reader reads first. They pin nothing, and lead to the documents that do.

A proof document lies in the folder of what it proves; what lies directly below ``proofs/`` is a note. Its table names,
for the steps of its argument, statements of documents and regions that these pin: a row is
``\coderow{key}{claim}{document}{label}{region}{tags}``, and ``\see{key}`` in the text leads to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ProofError
from . import library
from .closures import Pin, pins
from .regions import first_line, region, tags

ROW = re.compile(r"\\coderow\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
SEE = re.compile(r"\\see\{([^{}]*)\}")


@dataclass(frozen=True)
class Row:
    """A row of a note's table: what is claimed (LaTeX), the statement of a document, and its code."""

    key: str
    claim: str
    document: str
    label: str
    region: str
    tags: tuple[str, ...]

    @property
    def pin(self) -> Pin:
        """The pin of the document on this region.

        Raises:
            ProofError: The document is missing, or does not pin it.
        """
        found = [pin for pin in pins(self.document) if pin.region == self.region]
        if len(found) != 1:
            raise ProofError(f"{self.document}.tex must pin the region {self.region} once")
        return found[0]

    @property
    def place(self) -> str:
        """The file and the lines of the tags, or of the whole region, such as ``spaces/costs.py:44,68``."""
        lines = list(enumerate(region(self.pin.region).splitlines(), first_line(self.region)))
        tagged = [str(number) for number, line in lines if tags(line) & set(self.tags)]
        return f"{self.pin.source}:" + (",".join(tagged) or f"{lines[0][0]}-{lines[-1][0]}")


def rows(name: str) -> list[Row]:
    """The rows of the table of a note, in their order.

    Raises:
        ProofError: There is no such note.
    """
    return [
        Row(key, claim, document, label, held, tuple(tags.split()))
        for key, claim, document, label, held, tags in ROW.findall(library.text(name))
    ]


def note_problems(name: str) -> list[str]:
    """What is wrong in the table of a note, one sentence each; an empty list where nothing is."""
    listed = rows(name)
    keys, seen = [row.key for row in listed], set(SEE.findall(library.text(name)))
    found = [f"{name}.tex has two rows {key}" for key in sorted(set(keys)) if keys.count(key) > 1]
    found += [f"{name}.tex leads to a row {key}, which its table does not have" for key in sorted(seen - set(keys))]
    found += [f"{name}.tex never leads to the row {key} of its table" for key in sorted(set(keys) - seen)]
    return found + [f"{name}.tex, row {row.key}: {fault}" for row in listed for fault in _faults(row)]


def _faults(row: Row) -> list[str]:
    try:
        held = tags(region(row.pin.region))
    except ProofError as error:
        return [str(error)]
    missing = [f"the region {row.region} has no tag [{tag}]" for tag in row.tags if tag not in held]
    if rf"\label{{{row.label}}}" not in library.text(row.document):
        missing.append(f"{row.document}.tex states nothing with the label '{row.label}'")
    return missing
