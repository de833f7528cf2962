"""The memory of the tool: for each fault the test that killed it last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

FILE = Path(__file__).with_name("killers.json")
_LOCK = Lock()


def remembered() -> dict[str, str]:
    """The killer of each fault, as the node id of a test."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.is_file() else {}


def remember(killers: Mapping[str, str]) -> None:
    """Write the killers, in the order of the faults' names."""
    lines = json.dumps(dict(sorted(killers.items())), indent=1, ensure_ascii=False)
    FILE.write_text(lines + "\n", encoding="utf-8")


def keep(fault: str, killer: str) -> None:
    """Write one killer as soon as it is known, so that a run that is cut short loses nothing."""
    with _LOCK:
        remember(remembered() | {fault: killer})
