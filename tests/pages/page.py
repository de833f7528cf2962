"""The generated pages: how each is written, and a quick way to see that one no longer fits.

The list of public names, ``__all__``, is written with them, and where each is defined: both repeat what the package
imports for those who check types.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opendp_topk.audit import shipped, verify_all

from . import proof_map

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tests.pages"
PUBLIC_NAMES = "opendp_topk/__init__.py"
HOMES = "opendp_topk/core/public_names.py"
_COMPARED = "\n## zCDP, before and after\n"
_GENERATED = re.compile(rf"(?<=<!-- {re.escape(COMMAND)} -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)
_ALL = re.compile(r"(?<=^__all__ = \[\n).*?(?=^\]$)", re.DOTALL | re.MULTILINE)

_TABLE = re.compile(r"(?<=^HOMES = \{\n).*?(?=^\}$)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page below the root; ``made`` makes its text from the one that it has, and ``fits`` is quicker than that."""

    path: str
    made: Callable[[str], str]
    fits: Callable[[str], bool]

    def read(self) -> str:
        """The page as it is; the empty text where it is not there."""
        file = ROOT / self.path
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def write(self) -> bool:
        """Write the page, and say whether it changed."""
        before = self.read()
        after = self.made(before)
        (ROOT / self.path).write_text(after, encoding="utf-8")
        return after != before


def with_proof_map(text: str) -> str:
    """proofs/README.md with its table made anew.

    Raises:
        ValueError: The marks around the table are gone.
    """
    made, count = _GENERATED.subn(lambda _: proof_map.table(), text)
    if count != 1:
        raise ValueError(f"proofs/README.md must hold <!-- {COMMAND} --> and <!-- end --> around its table")
    return made


def with_public_names(text: str) -> str:
    """The package's ``__init__`` whose ``__all__`` lists what its imports bring in, without an underscore."""
    return _ALL.sub("".join(f'    "{name}",\n' for name in sorted(_homes(text))), text)


def with_homes(text: str) -> str:
    """The table from which the package loads a public name when it is asked for."""
    homes = _homes((ROOT / PUBLIC_NAMES).read_text(encoding="utf-8"))
    return _TABLE.sub("".join(f'    "{name}": "{homes[name]}",\n' for name in sorted(homes)), text)


def _homes(text: str) -> dict[str, str]:
    """For each public name the module from which the package's ``__init__`` imports it, for those who check types."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.module]
    found = {alias.asname or alias.name: f".{node.module}" for node in imports if node.level for alias in node.names}
    return {name: home for name, home in found.items() if not name.startswith("_")}


def tightness(text: str) -> str:
    """docs/tightness.md: a minute's search for the largest losses; its last section, which compares, is kept."""
    return shipped.table(verify_all(among=listed())) + "".join(text.partition(_COMPARED)[1:])


def has_the_rows(text: str) -> bool:
    """Whether docs/tightness.md lists today's mechanisms, arguments, measures and claims, whatever was found."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "`make_" in line]
    rows = [shipped.row(example) for example in listed()]
    return text.startswith(shipped.HEADER) and [tuple(line[:4]) for line in cells] == rows


def listed() -> list[shipped.Example]:
    """What the page of the losses speaks of."""
    return [example for example in shipped.examples() if shipped.row(example) is not None]


PAGES = {
    page.path: page
    for page in (
        Page(PUBLIC_NAMES, with_public_names, lambda text: with_public_names(text) == text),
        Page(HOMES, with_homes, lambda text: with_homes(text) == text),
        Page("proofs/README.md", with_proof_map, lambda text: with_proof_map(text) == text),
        Page("docs/tightness.md", tightness, has_the_rows),
    )
}
