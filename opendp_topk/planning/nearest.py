"""Of the mechanisms that a task leaves open, the one whose theorems promise the nearest release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import ParameterTypeError, SearchError
from .catalogue import HISTOGRAMS, Mechanism
from .groups import InGroups
from .plan import Plan, Query, planned
from .top_k import TopK


def nearest(query: Query[Any, Any]) -> Plan[Any, Any]:
    """The plan by the mechanism of the task or by one of its alternatives, whichever comes nearer, and why.

    Nothing in it depends on a table.

    Raises:
        SearchError, ParameterTypeError: As :func:`planned` for the mechanism of the task, where no other helps.
    """
    task = query.task
    if not getattr(task, "alternatives", ()):
        found = planned(query)
        return replace(found, why=task.because(found))
    known: dict[Any, float] = {}
    tried: list[Plan[TopK, Any]] = []
    failure: Exception | None = None
    for mechanism in (task.mechanism, *task.alternatives):
        try:
            tried.append(planned(replace(query, task=_by(task, mechanism)), known))
        except (SearchError, ParameterTypeError) as error:  # what takes another measure, or has no least scale
            failure = failure or error
    if not tried:
        assert failure is not None
        raise failure
    best = min(tried, key=lambda plan: plan.query.task.near(plan))  # the first of equal ones
    return replace(best, why=_why(best, tried))


def _by(task: Any, mechanism: Mechanism) -> Any:
    """The task by this mechanism and no other."""
    if isinstance(task, InGroups):
        return replace(task, task=_by(task.task, mechanism))
    return replace(task, mechanism=mechanism, alternatives=())


def _why(best: Plan[TopK, Any], found: list[Plan[TopK, Any]]) -> str:
    """The reason in a sentence; none where nothing else was possible."""
    columns, few = best.query.unit.columns, best.query.task.mechanism.few
    others = [plan for plan in found if plan.query.task.mechanism.few != few]
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
