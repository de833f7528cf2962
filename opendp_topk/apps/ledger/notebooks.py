"""What a notebook shows of a ledger: what it is for, what was spent, and what is left."""

from __future__ import annotations

from typing import Any

from ...markup import notebook


def shown(ledger: Any) -> str:
    """The table; no entry and no data."""
    ledger = ledger.at_one_moment()
    rows = {
        "left": ledger.remaining(),
        "spent": ledger.spent(),
        "budget": ledger.promise,
        "entries": ledger.count(),
        "protects": f"data sets at distance {ledger.d_in} under {ledger.metric}",
        "measure": repr(ledger.measure),
    }
    return notebook.facts(f"Privacy budget of {ledger.dataset}", rows.items())
