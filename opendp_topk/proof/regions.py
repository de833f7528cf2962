"""Regions of code: the lines between two comments. A region is identified by its name, in any file."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import ProofError
from . import library

_MARK = re.compile(r"^[ \t]*# proof-region: (.*?)[ \t]*$", re.MULTILINE)

TAGS = re.compile(r"#((?: ?\[[a-z][a-z0-9-]*\])+)")
TAG = re.compile(r"\[([a-z][a-z0-9-]*)\]")


class LocatedRegion(NamedTuple):
    """Position of a region: its file below the package, the number of the line before it, and its lines."""

    source: str
    start: int
    lines: tuple[str, ...]


def read_region(name: str) -> str:
    """Return the lines between ``# proof-region: name`` and ``# end-proof-region: name``."""
    return "\n".join(locate_region(name).lines).strip("\n") + "\n"


def region_file(name: str) -> str:
    return locate_region(name).source


def first_region_line(name: str) -> int:
    found = locate_region(name)
    return found.start + 1 + next((at for at, line in enumerate(found.lines) if line), 0)


def region_tags(code: str) -> set[str]:
    """Return the tags in a region of code, such as ``check-k`` for a line ending in ``# [check-k]``."""
    return set(ordered_tags(code))


def ordered_tags(code: str) -> list[str]:
    return [tag for found in TAGS.findall(code) for tag in TAG.findall(found)]


@library.remembered
def locate_region(name: str) -> LocatedRegion:
    sources = _index_region_files().get(name, [])
    start, end = f"# proof-region: {name}", f"# end-proof-region: {name}"
    if len(sources) != 1:
        where = f"it stands in {', '.join(sources)}" if sources else "it does not stand there"
        raise ProofError(
            f"a proof pins the region {name}: {start!r} must stand exactly once in the package, and {where}"
        )
    lines = [line.rstrip() for line in (library.package_folder() / sources[0]).read_text(encoding="utf-8").splitlines()]
    stripped = [line.strip() for line in lines]
    if stripped.count(end) != 1 or start not in stripped[: stripped.index(end)]:
        raise ProofError(f"{sources[0]} must hold {end!r} exactly once, below {start!r}")
    first, last = stripped.index(start) + 1, stripped.index(end)
    return LocatedRegion(sources[0], first, tuple(lines[first:last]))


@library.remembered
def _index_region_files() -> dict[str, list[str]]:
    """Return the names of all regions, each with the file of every mark."""
    package = library.package_folder()
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for name in _MARK.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path.relative_to(package).as_posix())
    return found
