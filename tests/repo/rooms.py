"""The rooms of the package and what each may import, as docs/architecture.md has them in its table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
WHOLE = "opendp_topk"
_ROW = re.compile(r"^\| +(?P<layer>\d+) \| `(?P<name>[^`]+)` \| (?P<holds>[^|]+) \| (?P<may>[^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Room:
    """A folder of the package; nested ones have a dot in their name."""

    layer: int
    name: str
    holds: str
    may_import: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, str]:
        """What the docstring of the room's ``__init__`` has to begin with."""
        *most, last = self.may_import or ("nothing of the package",)
        return f"{self.holds}.", f"It may import {', '.join(most)}{' and ' * bool(most)}{last}."


def rooms(page: str = PAGE) -> dict[str, Room]:
    """The rows of the table, in its order.

    Raises:
        ValueError: Two rows speak of the same room.
    """
    found: dict[str, Room] = {}
    for row in _ROW.finditer(page):
        if row["name"] in found:
            raise ValueError(f"docs/architecture.md has two rows for {row['name']}")
        may_import = tuple(re.findall(r"`([^`]+)`", row["may"]))
        found[row["name"]] = Room(int(row["layer"]), row["name"], row["holds"], may_import)
    return found


ROOMS = rooms()


def room_of(module: str) -> str:
    """The innermost room that holds a module, given by its dotted name below the package; ``__main__`` is the command.

    Raises:
        ValueError: The table names no such room.
    """
    parts = ["apps", "cli"] if module == "__main__" else module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ROOMS:
            return ".".join(parts[:length])
    if module:
        raise ValueError(f"{module} has no place in the table of docs/architecture.md")
    return WHOLE
