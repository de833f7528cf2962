"""Paying for a release from a ledger, before the table is counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import ParameterError
from ..ledger import Ledger
from ..planning.plan import Plan, Query
from ..planning.units import Users
from ..spaces.measures import PrivacyProfile
from ..spaces.metrics import UserDistance
from .exit_codes import Interrupted


@contextlib.contextmanager
def budget(ledger: str | None, query: Query[Any, Users]) -> Iterator[Ledger | None]:
    """The ledger from which the release is paid, if one is named."""
    if ledger is None:
        yield None
        return
    with Ledger(ledger) as account:
        if account.metric != repr(UserDistance(query.unit.neighbors)):
            raise ParameterError(
                f"the ledger protects neighbours under {account.metric}: choose --neighbors accordingly"
            )
        if account.measure not in (query.budget.measure, PrivacyProfile()):
            symbol = account.measure.symbol
            advice = f"state the target as --{symbol}" if symbol in ("epsilon", "rho") else "release from it in Python"
            raise ParameterError(f"the ledger counts {symbol}: {advice}")
        yield account


def drawn(
    plan: Plan[Any, Users], rows: Any, account: Ledger | None, label: str = ""
) -> tuple[Any, dict[str, Any] | None]:
    """The release, and the entry of the ledger that has paid for it before the table was counted."""
    measurement, query = plan.measurement, plan.query
    if account is None:
        return measurement(rows), None
    before = account.spent()
    delta = query.budget.d_out[1] if isinstance(measurement.output_measure, PrivacyProfile) else None
    try:
        reserved = account.reserve(measurement, d_in=query.unit.d_in, delta=delta, label=label)
        return reserved.release(rows), paid_by(account, reserved.number)
    except KeyboardInterrupt:
        if account.spent() == before:
            raise
    raise Interrupted("interrupted: nothing was released, and the ledger keeps the debit")


def paid_by(account: Ledger, number: int) -> dict[str, Any]:
    """What a record tells of an entry of a ledger."""
    entry = account.history()[number - 1]
    return {"dataset": account.dataset, "entry": number, "time": entry.time, "claim": entry.claim}
