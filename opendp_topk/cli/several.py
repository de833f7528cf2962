"""What each of several equal releases may cost within one budget, under three measures side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from ..errors import ParameterError
from ..numerics.arithmetic import exact
from ..planning.comparison import six_up
from ..planning.plan import Query
from ..planning.promises import largest, sure
from ..planning.several import DELTA, budgets, whole
from ..planning.top_k import TopK, TopKPlan
from ..planning.units import Budget, Users
from . import show
from .asking import met

_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)  # as many digits as a table has room for


def show_several(query: Query[TopK, Users]) -> None:
    """Print what each of its releases may cost under pure, zero-concentrated and (epsilon, delta) privacy."""
    task, found = query.task, {}
    if task.counted:
        raise ParameterError("--releases compares ways to account for releases of items: leave --counts out")
    with show.working("planning") as far:
        delta = query.budget.delta
        total = whole(query.budget, DELTA if delta is None else exact(delta))
        for name, budget in budgets(total).items():
            far(name)
            found[name] = met(replace(query, budget=budget))
    epsilon, allowed = total
    show.say(
        f"{query.releases} releases of {task.k} of {task.n_candidates} candidates ({task.release}), fixed in "
        f"advance, together within epsilon = {six_up(float(epsilon))} at delta = {float(allowed):g}",
        "",
    )
    show.table(
        ["measure", "budget of all", "each may cost", "scale", "within"],
        (
            [name, _stated(plan.query.budget), _each(plan), six_up(plan.scale), _near(task.shortfall(plan))]
            for name, plan in found.items()
        ),
        right=range(3, 5),
    )
    show.say("")
    show.rows(_legend(query, found))


def _stated(budget: Budget) -> str:
    if budget.delta is not None:
        return f"epsilon {six_up(float(budget.main))}, delta {float(budget.delta):g}"
    return f"{budget.symbol} {six_down(exact(budget.d_out))}"


def _each(plan: TopKPlan) -> str:
    query, budget = plan.query, plan.query.budget
    delta = budget.delta
    if delta is None:
        return f"{budget.symbol} {six_down(exact(budget.main) / query.releases)}"
    return f"epsilon {six_up(plan.measurement.map(query.unit.d_in).epsilon(delta))} at delta {float(delta):g}"


def six_down(number: Fraction) -> str:
    """Six digits, rounded down: so much may be spent each time, as it is shown."""
    return f"{float(_SIX_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def _near(users: float | None) -> str:
    return "-" if users is None or users == math.inf else str(users)


def _legend(query: Query[TopK, Users], found: Mapping[str, TopKPlan]) -> list[tuple[str, str]]:
    task = query.task
    near = {name: task.shortfall(plan) for name, plan in found.items()}
    best = min(found, key=lambda name: math.inf if near[name] is None else near[name] or 0)
    reach = f"the t-th released item to the t-th largest count, for every t from 1 to {task.k}"
    if task.release == "set" or not task.mechanism.ranked:
        reach = f"every released item to the {largest(task.k)} count"
    likely = sure(query.alpha)
    return [
        ("pure", "epsilons add up, and delta is not used"),
        ("zCDP", "rhos add up; their sum is converted to (epsilon, delta) once"),
        ("(epsilon, delta)", "the privacy curves of all releases are composed"),
        ("scale", f"of the noise of each release, in users; cost for {query.unit.whom}"),
        ("within", f"so near, in users, comes {reach}, with probability at least {likely} each time"),
        ("least noise", f"{best}: scale {six_up(found[best].scale)}"),
    ]
