"""The faults, each a mistake that would break a promise, read from the text files of this folder, one for each theme.

Parts of a file are separated by empty lines. ``@ path`` names the file of the package for the faults below it. A fault
is a line ``name: what``, then the lines of its old text, each after ``- ``, and those of its new text, each after
``+ ``; a lone ``-`` or ``+`` is an empty line. Lines after ``= `` argue why no test can notice. ``# `` begins a
comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.mutation.fault import Fault

_MARKS = "-+="


def read_faults(text: str) -> Iterator[Fault]:
    """The faults in the text of a file.

    Raises:
        ValueError: A part of the text is none of those above.
    """
    file = ""
    for part in text.strip().split("\n\n"):
        head, *lines = part.split("\n")
        if head.startswith("@ "):
            file = head.removeprefix("@ ")
        elif not head.startswith("# "):
            name, _, what = head.partition(": ")
            old, new, equivalent = ("\n".join(line[2:] for line in lines if line[0] == mark) for mark in _MARKS)
            if not (file and what and old) or any(line[0] not in _MARKS or line[1:2].strip() for line in lines):
                raise ValueError(f"this is not a fault:\n{part}")
            yield Fault(name, what, file, old, new, equivalent)


FAULTS = tuple(
    fault for path in sorted(Path(__file__).parent.glob("*.txt")) for fault in read_faults(path.read_text("utf-8"))
)
"""All of them, in the order of the files that list them, by theme."""
