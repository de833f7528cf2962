r"""Notes: introductions that contain no code hashes and refer to the documents that do.

A proof document is in the folder of what it proves; a file directly below ``proofs/`` is a note. For the steps of its
argument, a table in the note lists statements of documents and regions that these prove. A row is
``\coderow{key}{claim}{document}{label}{region}{tags}``, and ``\see{key}`` in the text refers to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ProofError
from . import library
from .closures import CodeHash, code_hashes
from .regions import first_region_line, read_region, region_tags

ROW = re.compile(r"\\coderow\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
SEE = re.compile(r"\\see\{([^{}]*)\}")


@dataclass(frozen=True)
class NoteRow:
    """A row of a note's table: a claim in LaTeX, the statement of a document that proves it, and its code."""

    key: str
    claim: str
    document: str
    label: str
    region: str
    tags: tuple[str, ...]

    @property
    def code_hash(self) -> CodeHash:
        """The document's code hash of this region.

        Raises:
            ProofError: The document is missing, or does not have exactly one code hash of the region.
        """
        found = [pin for pin in code_hashes(self.document) if pin.region == self.region]
        if len(found) != 1:
            raise ProofError(f"{self.document}.tex must pin the region {self.region} once")
        return found[0]

    @property
    def code_location(self) -> str:
        """The file and the lines of the tags, or of the whole region if there are none: ``spaces/costs.py:44,68``."""
        lines = list(enumerate(read_region(self.code_hash.region).splitlines(), first_region_line(self.region)))
        tagged = [str(number) for number, line in lines if region_tags(line) & set(self.tags)]
        return f"{self.code_hash.source_file}:" + (",".join(tagged) or f"{lines[0][0]}-{lines[-1][0]}")


def parse_note_rows(name: str) -> list[NoteRow]:
    """Return the rows of a note's table, in order.

    Raises:
        ProofError: The note does not exist.
    """
    return [
        NoteRow(key, claim, document, label, held, tuple(tags.split()))
        for key, claim, document, label, held, tags in ROW.findall(library.document_text(name))
    ]
