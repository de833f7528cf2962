"""The memory of the tool: for each fault the test that killed it last.

A fault of the list is known by its name, one by chance by its text, which is the same wherever it is drawn again.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

FILE = Path(__file__).with_name("killers.json")
BY_CHANCE = Path(__file__).with_name("noticed.json")
_LOCK = Lock()


def remembered(file: Path = FILE) -> dict[str, str]:
    """The killer of each fault, as the node id of a test."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def remember(killers: Mapping[str, str], file: Path = FILE) -> None:
    """Write the killers, in the order of the faults' names."""
    lines = json.dumps(dict(sorted(killers.items())), indent=1, ensure_ascii=False)
    file.write_text(lines + "\n", encoding="utf-8")


def keep(fault: str, killer: str, file: Path = FILE) -> None:
    """Write one killer as soon as it is known, so that a run that is cut short loses nothing."""
    with _LOCK:
        remember(remembered(file) | {fault: killer}, file)
