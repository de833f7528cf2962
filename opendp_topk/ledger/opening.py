"""What a ledger is opened with: everything that creates it, or nothing of it."""

from __future__ import annotations

from typing import Any

from ..errors import ParameterError
from .accounts import Account, opened
from .amounts import written
from .journal import Journal
from .units import Unit

NEEDED = ("budget", "measure", "dataset", "metric")
Purpose = tuple[Unit, Account]


def wanted(budget: Any, measure: Any, dataset: Any, metric: Any, d_in: Any, own_delta: Any) -> Purpose | None:
    """What a new ledger would be for; None where one is to be opened that exists."""
    given = dict(zip(NEEDED, (budget, measure, dataset, metric), strict=True))
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given) and d_in is None and own_delta is None:
        return None
    if missing:
        raise ParameterError(
            f"give {', '.join(NEEDED)} together to create a ledger, or none of them to open one that exists: "
            f"{', '.join(missing)} is missing"
        )
    return Unit.of(dataset, metric, d_in), opened(measure, budget, own_delta)


def require_same(journal: Journal, given: Purpose) -> None:
    """Raise, and close it, unless the ledger was created with what is given now."""
    unit, account = found = journal.unit, journal.account
    if given == found:
        return
    journal.closed = True
    journal.log.close()
    budget = written(account.budget)
    raise ParameterError(
        f"the ledger was created with the budget {budget} under {account.measure!r} for the data set {unit.dataset!r} "
        f"at distance {unit.d_in} under {unit.metric}, not with this: open it without budget, or begin another"
    )
