"""Regions of code: the lines between two comments."""

from __future__ import annotations

import functools
from pathlib import Path

from ..errors import ProofError
from . import library


def region(source: str, name: str) -> str:
    """The lines between ``# proof-region: name`` and ``# end-proof-region: name`` in a file of the package.

    Args:
        source: A path below the package, such as ``measurements/report_noisy_top_k.py``.
        name: The name of the region.

    Raises:
        ProofError: The file or the markers are missing.
    """
    return "\n".join(marked(library.package(), source, name)[1]).strip("\n") + "\n"


def first_line(source: str, name: str) -> int:
    """The number that the first line of a region has in its file; arguments and errors are those of :func:`region`."""
    marker, lines = marked(library.package(), source, name)
    return marker + 1 + next((at for at, line in enumerate(lines) if line), 0)


@functools.cache
def marked(package: Path, source: str, name: str) -> tuple[int, tuple[str, ...]]:
    """The number of the line with the first marker, and the lines between the two."""
    path = package / source
    if not path.is_file():
        raise ProofError(f"a proof pins the source file {source}, which does not exist")
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
    start, end = f"# proof-region: {name}", f"# end-proof-region: {name}"
    stripped = [line.strip() for line in lines]
    if stripped.count(start) != 1 or stripped.count(end) != 1:
        raise ProofError(f"{source} must hold the markers {start!r} and {end!r} exactly once each")
    return stripped.index(start) + 1, tuple(lines[stripped.index(start) + 1 : stripped.index(end)])


def forget_regions() -> None:
    """Read every region anew when it is next asked for."""
    marked.cache_clear()
