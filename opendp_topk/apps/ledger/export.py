"""A ledger for other programs: JSON lines, CSV, and a summary."""

from __future__ import annotations

import csv
import io
from typing import Any

from ...markup.foreign import cell, json_text
from .amounts import written
from .entries import Entry
from .filters import Filter
from .ledger import Ledger

_COLUMNS = tuple(Entry.__dataclass_fields__)


def summary(ledger: Ledger) -> dict[str, Any]:
    """What the ledger is for, what was spent, and what is left."""
    ledger = ledger.at_one_moment()
    return {
        "dataset": ledger.dataset,
        "metric": ledger.metric,
        "d_in": str(ledger.d_in),
        **({} if ledger.user is None else {"user": ledger.user, "person": ledger.person}),
        **ledger.stated,
        "measure": repr(ledger.measure),
        "budget": ledger.promise,
        "counted": repr(ledger.counted),
        "limit": ledger.limit,
        "spent": ledger.spent(),
        "left": ledger.remaining(),
        **({"filters": list(map(_filter, ledger.filters())), "room": ledger.room()} if ledger.filters() else {}),
        "head": ledger.head(),
        **({"accepted": list(ledger.accepted)} if ledger.accepted else {}),
    }


def _filter(one: Filter) -> dict[str, Any]:
    amounts = {"limit": one.limit, "spent": one.spent, "delta": one.delta}
    return {"adds": one.adds, **{name: written((part,)) for name, part in amounts.items()}, "alive": one.alive}


def json_lines(ledger: Ledger) -> str:
    """The summary, and each entry, one a line."""
    ledger = ledger.at_one_moment()
    return "".join(
        json_text(one, indent=None, ascii_only=True) + "\n"
        for one in (summary(ledger), *(one.as_dict() for one in ledger.history()))
    )


def csv_table(ledger: Ledger) -> str:
    """One line an entry under a header; no spreadsheet takes a text for a formula, nor a terminal for an order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([_cell(getattr(one, name)) for name in _COLUMNS] for one in ledger.history())
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(cell(value)) if isinstance(value, str) else words_of(value)


def words_of(distance: Any) -> str:
    """A distance as people read it; a pair with a comma."""
    return ", ".join(map(str, distance)) if isinstance(distance, tuple) else str(distance)
