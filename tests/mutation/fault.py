"""A planted fault: one edit of one file of the package, as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PINNING = "proof"
"""The room that reads pins: no pin is of its own code, and their tests are its tests."""


class MovedError(Exception):
    """The text that a fault replaces is not where it was."""


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make, and that a test of behaviour must notice.

    ``file`` is a path below the package. The text ``old`` must occur in it exactly once; ``new`` takes its place.
    ``equivalent`` is the argument why no test can notice, where there is one.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    equivalent: str = ""

    @property
    def path(self) -> str:
        """The file, from the root of the checkout."""
        return f"opendp_topk/{self.file}"

    @property
    def room(self) -> str:
        """The folder of the package in which the fault is."""
        return within_storey(self.file).split("/")[0]

    @property
    def pins(self) -> bool:
        """Whether the fault is in what reads pins, so that the tests of pins may notice it."""
        return self.room == PINNING

    def planted(self, text: str) -> str:
        """``text`` with the fault in it.

        Raises:
            MovedError: ``old`` does not occur exactly once: the code has moved, so the fault must move with it.
        """
        found = text.count(self.old)
        if found != 1:
            raise MovedError(f"{self.name}: the old text occurs {found} times in {self.path}, not once")
        return text.replace(self.old, self.new)


def within_storey(module: str) -> str:
    """The path of a module below the package without ``apps/`` or ``sampling/``, as the folders of tests are called."""
    return module.removeprefix("apps/").removeprefix("sampling/")


def misfits(faults: Iterable[Fault], root: Path) -> list[str]:
    """What is wrong with each fault that does not fit the checkout at ``root``, or leaves no valid Python there."""
    return [problem for fault in faults if (problem := _misfit(fault, root))]


def _misfit(fault: Fault, root: Path) -> str:
    path = root / fault.path
    if not path.is_file():
        return f"{fault.name}: there is no file {fault.path}"
    try:
        compile(fault.planted(path.read_text(encoding="utf-8")), fault.path, "exec")
    except (MovedError, SyntaxError) as problem:
        return str(problem) if isinstance(problem, MovedError) else f"{fault.name}: {problem}"
    return ""
