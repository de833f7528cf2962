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
    """Return the rows of a note's table, in order.

    Raises:
        ProofError: If there is no such note.
    """
    return [
        Row(key, claim, document, label, held, tuple(tags.split()))
        for key, claim, document, label, held, tags in ROW.findall(library.text(name))
    ]
