"""Of the mechanisms that a task leaves open, the one whose theorems promise the nearest release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import ParameterTypeError, SearchError
from .catalogue import HISTOGRAMS
from .plan import Plan, Query, planned
from .top_k import TopK

_FEW = [row.name for row in HISTOGRAMS]


def nearest(query: Query[Any, Any]) -> Plan[Any, Any]:
    """The plan by the mechanism of the task or by one of its alternatives, whichever comes nearer, and why.

    Nothing in it depends on a table.

    Raises:
        SearchError, ParameterTypeError: As :func:`planned` for the mechanism of the task, where no other helps.
    """
    ways = getattr(query.task, "ways", ())
    if len(ways) < 2:
        found = planned(query)
        return replace(found, why=query.task.because(found))
    known: dict[Any, float] = {}
    tried: list[Plan[TopK, Any]] = []
    failure: Exception | None = None
    for task in ways:
        try:
            tried.append(planned(replace(query, task=task), known))
        except (SearchError, ParameterTypeError) as error:  # what takes another measure, or has no least scale
            failure = failure or error
    if not tried:
        assert failure is not None
        raise failure
    best = min(tried, key=lambda plan: plan.query.task.near(plan))  # the first of equal ones
    return replace(best, why=_why(best, tried))


def _why(best: Plan[TopK, Any], found: list[Plan[TopK, Any]]) -> str:
    """The reason in a sentence; none where nothing else was possible."""
    columns, few = best.query.unit.columns, best.name in _FEW
    others = [plan for plan in found if (plan.name in _FEW) != few]
    if not others:
        return ""
    other = min(others, key=lambda plan: plan.query.task.near(plan))
    near, far = (columns.amount(plan.query.task.near(plan)) for plan in (best, other))
    items = "1 item" if columns.max_items == 1 else f"{columns.max_items} items"
    because = (
        f"of each user at most {items} count, so noise on all {columns.noun}s costs less than a choice"
        if few
        else f"up to {items} of a user count, which is too many for noise on all {columns.noun}s"
    )
    return f"{because}: by the rows that count, all that is released is within {near}; {other.name} would promise {far}"


def open_to(task: TopK, *, few: bool) -> TopK:
    """The task with noise on all counts as alternatives, where a bound on the items of one person allows it."""
    return replace(task, alternatives=HISTOGRAMS) if few else task
