"""Paying for a release from a ledger, before the table is counted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ParameterError
from ..ledger import Ledger
from ..planning.plan import Plan, Query
from ..planning.release_record import ReleaseRecord
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
    plan: Plan[Any, Users],
    rows: Any,
    account: Ledger | None,
    label: str,
    recorded: Callable[[Any, Mapping[str, Any] | None], ReleaseRecord],
) -> ReleaseRecord:
    """The record, by ``recorded``, of a release and of what has paid for it before the table was counted.

    The entry of the ledger gets the digest of the record.
    """
    measurement, query, made = plan.measurement, plan.query, []
    if account is None:
        return recorded(measurement(rows), None)
    before = account.spent()
    delta = query.budget.d_out[1] if isinstance(measurement.output_measure, PrivacyProfile) else None
    try:
        reserved = account.reserve(measurement, d_in=query.unit.d_in, delta=delta, label=label)

        def digest(released: Any) -> str:
            made.append(recorded(released, reserved.paid))
            return made[0].digest

        reserved.release(rows, recorded=digest)
        return made[0]
    except KeyboardInterrupt:
        if account.spent() == before:
            raise
    raise Interrupted("interrupted: nothing was released, and the ledger keeps the debit")
