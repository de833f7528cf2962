"""A ledger for other programs: JSON lines, CSV, and a summary."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from .entries import Entry
from .ledger import Ledger

_COLUMNS = tuple(Entry.__dataclass_fields__)
_FORMULA = ("=", "+", "-", "@")  # with these a spreadsheet begins a formula


def summary(ledger: Ledger) -> dict[str, Any]:
    """What the ledger is for, what was spent, and what is left."""
    return {
        "dataset": ledger.dataset,
        "metric": ledger.metric,
        "d_in": str(ledger.d_in),
        "measure": repr(ledger.measure),
        "budget": ledger.promise,
        "counted": repr(ledger.counted),
        "limit": ledger.limit,
        "spent": ledger.spent(),
        "left": ledger.remaining(),
        "head": ledger.head(),
        **({"accepted": list(ledger.accepted)} if ledger.accepted else {}),
    }


def json_lines(ledger: Ledger) -> str:
    """The summary, and each entry, one a line."""
    return "".join(json.dumps(one) + "\n" for one in (summary(ledger), *(one.as_dict() for one in ledger.history())))


def csv_table(ledger: Ledger) -> str:
    """One line an entry under a header; what a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([_cell(getattr(one, name)) for name in _COLUMNS] for one in ledger.history())
    return text.getvalue()


def _cell(value: Any) -> str:
    words = "" if value is None else words_of(value)
    return "'" + words if isinstance(value, str) and words.startswith(_FORMULA) else words


def words_of(distance: Any) -> str:
    """A distance as people read it; a pair with a comma."""
    return ", ".join(map(str, distance)) if isinstance(distance, tuple) else str(distance)
