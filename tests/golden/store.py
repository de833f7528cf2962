"""Where cases are kept: a file for each room, sorted, one case a line; and beside them why they were ever changed."""

import datetime
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("cases")
LOG = FOLDER / "why.md"
_SIGN = " => "
Cases = dict[str, Any]


def path_of(room: str) -> Path:
    return FOLDER / f"{room}.txt"


def read(room: str) -> Cases:
    """The cases of a room as they were recorded; none if there is no file."""
    path = path_of(room)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.split(_SIGN, 1) for line in lines)
    return {name: json.loads(value) for name, value in pairs}


def write(room: str, cases: Cases) -> None:
    lines = (f"{name}{_SIGN}{json.dumps(value, ensure_ascii=False)}\n" for name, value in sorted(cases.items()))
    FOLDER.mkdir(exist_ok=True)
    path_of(room).write_text("".join(lines), encoding="utf-8", newline="\n")


def explain(why: str, counted: str) -> None:
    """Add a line to the log."""
    day = datetime.datetime.now(datetime.UTC).date()
    before = LOG.read_text(encoding="utf-8") if LOG.exists() else "# Why golden cases were changed\n\n"
    LOG.write_text(f"{before}- {day} ({counted}): {' '.join(why.split())}\n", encoding="utf-8", newline="\n")
