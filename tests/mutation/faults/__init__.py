"""The faults, each a mistake that would break a promise, read from the text files of this folder, one for each theme.

A line ``@ path`` names the file of the package for the faults below it. A fault is a line ``name: what``, then the
lines of its old text, each after ``- ``, and those of its new text, each after ``+ ``; a lone ``-`` or ``+`` is an
empty line. Lines after ``= `` argue why no test can notice. ``# `` begins a comment.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.mutation.fault import Fault

_MARKS = "-+="


def read_faults(text: str) -> Iterator[Fault]:
    """The faults in the text of a file.

    Raises:
        ValueError: A line is none of those above, or a fault has no name, words, file or old text.
    """
    file, head, parts = "", "", dict[str, list[str]]()
    for line in [*text.split("\n"), "@ "]:
        mark, rest = line[:1], line[2:]
        if mark and mark in _MARKS and line[1:2].strip() == "" and head:
            parts[mark].append(rest)
        elif line and not line.startswith("# "):
            if head:
                yield _fault(head, file, parts)
            file, head = (rest, "") if line.startswith("@ ") else (file, line)
            parts = {one: [] for one in _MARKS}


def _fault(head: str, file: str, parts: dict[str, list[str]]) -> Fault:
    name, _, what = head.partition(": ")
    if not (file and what and parts["-"]):
        raise ValueError(f"this is not a fault: {head}")
    return Fault(name, what, file, *("\n".join(parts[mark]) for mark in _MARKS))


FAULTS = tuple(
    fault for path in sorted(Path(__file__).parent.glob("*.txt")) for fault in read_faults(path.read_text("utf-8"))
)
"""All of them, in the order of the files that list them, by theme."""
