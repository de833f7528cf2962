"""A planted fault: one edit of one file, as text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opendp_topk.errors import ParameterError


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make, and that a check must notice.

    ``file`` is a path below the folder that holds the package and, beside it, the proofs. The text ``old`` must
    occur in it exactly once; ``new`` takes its place.
    """

    name: str
    what: str
    file: str
    old: str
    new: str

    def plant(self, root: Path) -> Path:
        """Make the edit below ``root``, and return the file.

        Raises:
            ParameterError: ``old`` does not occur exactly once: the code has moved, so the fault must move with it.
        """
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise ParameterError(
                f"the fault {self.name} looks for a text that {self.file} holds {found} times, not once"
            )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return path


def code(name: str, what: str, file: str, old: str, new: str) -> Fault:
    """A fault in a file of the package."""
    return Fault(name, what, f"opendp_topk/{file}", old, new)
