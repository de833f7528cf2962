"""Regions of code: the lines between two comments. A region is known by its name, wherever it lies."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

from ..errors import ProofError
from . import library
from .modules import module, module_names, module_of, package_imports

_MARK = re.compile(r"^[ \t]*# proof-region: (.*?)[ \t]*$", re.MULTILINE)

TAGS = re.compile(r"#((?: ?\[[a-z][a-z0-9-]*\])+)")
TAG = re.compile(r"\[([a-z][a-z0-9-]*)\]")


class Marked(NamedTuple):
    """Where a region lies: its file below the package, the number of the line before it, and its lines."""

    source: str
    start: int
    lines: tuple[str, ...]


def region(name: str) -> str:
    """The lines between ``# proof-region: name`` and ``# end-proof-region: name``.

    Raises:
        ProofError: The markers are missing, or do not stand exactly once in the package.
    """
    return _text(list(marked(library.package(), name).lines))


def source_of(name: str) -> str:
    """The file of a region below the package, ``measurements/peeled_top_k.py``; errors are those of :func:`region`."""
    return marked(library.package(), name).source


def first_line(name: str) -> int:
    """The number that the first line of a region has in its file; errors are those of :func:`region`."""
    found = marked(library.package(), name)
    return found.start + 1 + next((at for at, line in enumerate(found.lines) if line), 0)


def tags(code: str) -> set[str]:
    """The tags that a region of code holds, such as ``check-k`` for a line ending in ``# [check-k]``."""
    return {tag for found in TAGS.findall(code) for tag in TAG.findall(found)}


@functools.cache
def marked(package: Path, name: str) -> Marked:
    """A region of the package; errors are those of :func:`region`."""
    sources = _sources(package).get(name, [])
    start, end = f"# proof-region: {name}", f"# end-proof-region: {name}"
    if len(sources) != 1:
        where = f"it stands in {', '.join(sources)}" if sources else "it does not stand there"
        raise ProofError(
            f"a proof pins the region {name}: {start!r} must stand exactly once in the package, and {where}"
        )
    lines = [line.rstrip() for line in (package / sources[0]).read_text(encoding="utf-8").splitlines()]
    stripped = [line.strip() for line in lines]
    if stripped.count(end) != 1 or start not in stripped[: stripped.index(end)]:
        raise ProofError(f"{sources[0]} must hold {end!r} exactly once, below {start!r}")
    first, last = stripped.index(start) + 1, stripped.index(end)
    return Marked(sources[0], first, tuple(lines[first:last]))


@functools.cache
def _sources(package: Path) -> dict[str, list[str]]:
    """The names of all regions, each with the file of every mark."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for name in _MARK.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path.relative_to(package).as_posix())
    return found


@functools.cache
def unplaced(package: Path, name: str) -> str:
    """A region as :func:`region` gives it, without what follows from where code lies.

    Imports from the package are left out, and so are the names of its modules before a dot: what they lead to is told
    where names are followed. Errors are those of :func:`region`.
    """
    source, start, lines = marked(package, name)
    home = module(package, module_of(source))
    if home is None:
        return _text(list(lines))
    kept = dict(enumerate(lines, start=start + 1))
    for one in package_imports(home):
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1):
            kept.pop(number, None)
    names = "|".join(map(re.escape, sorted(module_names(package, home))))
    text = _text([*kept.values()])
    return re.sub(rf"(?<![\w.])(?:{names})\.(?=\w)", "", text) if names else text


def _text(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n") + "\n"


def forget_regions() -> None:
    """Read every region anew when it is next asked for."""
    for remembered in (marked, _sources, unplaced):
        remembered.cache_clear()
