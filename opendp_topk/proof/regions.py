"""Regions of code: the lines between two comments, or one definition."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ..errors import ProofError
from . import library
from .modules import module, module_of

TAGS = re.compile(r"#((?: ?\[[a-z][a-z0-9-]*\])+)")
TAG = re.compile(r"\[([a-z][a-z0-9-]*)\]")


def region(source: str, name: str) -> str:
    """The lines between ``# proof-region: name`` and ``# end-proof-region: name`` in a file of the package.

    Where neither comment stands in the file, the function, class or constant ``name`` of the module is the region.

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


def tags(code: str) -> set[str]:
    """The tags that a region of code holds, such as ``check-k`` for a line ending in ``# [check-k]``."""
    return {tag for found in TAGS.findall(code) for tag in TAG.findall(found)}


@functools.cache
def marked(package: Path, source: str, name: str) -> tuple[int, tuple[str, ...]]:
    """The number of the line before a region, and its lines."""
    path = package / source
    if not path.is_file():
        raise ProofError(f"a proof pins the source file {source}, which does not exist")
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
    start, end = f"# proof-region: {name}", f"# end-proof-region: {name}"
    stripped = [line.strip() for line in lines]
    if stripped.count(start) == stripped.count(end) == 0:
        return _defined(package, source, name, lines)
    if stripped.count(start) != 1 or stripped.count(end) != 1:
        raise ProofError(f"{source} must hold the markers {start!r} and {end!r} exactly once each")
    return stripped.index(start) + 1, tuple(lines[stripped.index(start) + 1 : stripped.index(end)])


def _defined(package: Path, source: str, name: str, lines: list[str]) -> tuple[int, tuple[str, ...]]:
    home = module(package, module_of(source))
    made = home.bound.get(name, []) if home else []
    if len(made) != 1:
        raise ProofError(f"{source} must hold the markers of the region {name!r} exactly once each, or define {name}")
    return made[0].first_line - 1, tuple(lines[made[0].first_line - 1 : made[0].node.end_lineno])


def forget_regions() -> None:
    """Read every region anew when it is next asked for."""
    marked.cache_clear()
