"""``--other``: how many users have an item that was not released, in plans and releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..planning.others import Other
from ..planning.plan import Plan
from ..planning.promises import sure
from ..planning.release_record import Released
from ..planning.units import Users
from . import show
from .asking import Options


def after(plan: Plan[Any, Users], other: Other | None) -> Plan[Any, Users]:
    """The plan with the count of all others after the items, if it is asked for."""
    return plan if other is None else replace(plan, measurement=other.after(plan.measurement))


def found(released: Any, other: Other | None) -> Released:
    """What was released."""
    if other is None:
        return Released.of(released)
    return replace(Released.of(released[0]), other=int(released[1][0]))


def record_rows(released: Released, other: Other | None) -> list[tuple[str, str]]:
    """The row of a release."""
    if other is None:
        return []
    return [("other", f"{released.other} users, with noise, have another item{_part(other, 'of it')}")]


def plan_rows(options: Options) -> list[tuple[str, str]]:
    """The row of a plan."""
    other = options.others
    if other is None:
        return []
    near = f"within {show.users(other.deviation(options.failing))} of the true number"
    return [
        (
            "other",
            f"with probability at least {sure(options.failing)}, the number of users with another item is "
            f"{near}{_part(other, 'more')}",
        )
    ]


def _part(other: Other, how: str) -> str:
    return f" ({other.whole.symbol} = {show.rounded_up(other.loss)} {how})"
