"""Two plots of what a budget buys: the bound on the error, and the probability of success, against the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import ParameterError, SearchError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact
from .comparison_plots import Line, drawn, joined
from .plan import likely, planned
from .query import Query, Unit
from .top_k import TopK, TopKPlan

_STEPS = range(-3, 4)  # of doublings of the budget: from an eighth to eight times of it
_DIGITS = 5  # of lines that are drawn as one

Value = Callable[[TopKPlan], float | None]


def asked(budgets: Iterable[Number] | None, query: Query[TopK, Unit]) -> list[Number]:
    """Budgets in the main number of the query's, each > 0."""
    if budgets is None:
        main = exact(_main(query.budget.d_out))
        return [main * 2**step if step >= 0 else main / 2**-step for step in _STEPS]
    found = [checks.distance(budget, "budgets") for budget in budgets]
    if not found or not all(0 < budget < math.inf for budget in found):
        raise ParameterError("budgets must be one or more finite numbers > 0")
    return found


def accuracy(rows: Sequence[TopKPlan], query: Query[TopK, Unit], budgets: Sequence[Number], axes: Any) -> Any:
    """The accuracy theorem's bound against the budget."""
    lines = _lines(rows, budgets, lambda row: row.accuracy)
    sure = f"{float(100 * (1 - exact(query.alpha))):g} %"
    axes.set(xlabel=_budget(query), ylabel="largest shortfall of a winner (units of the scores)")
    axes.set(xscale="log", yscale="log")
    axes.set_title(f"Accuracy against cost: bounds for all scores, at {sure}")
    return _marked(drawn(axes, lines), budgets)


def success(
    rows: Sequence[TopKPlan], query: Query[TopK, Unit], budgets: Sequence[Number], wanted: tuple[Any, str], axes: Any
) -> Any:
    """The probability of success on some scores against the budget."""
    scores, event = wanted
    scores = rows[0].measurement.input_domain.validate(scores)

    def success(row: TopKPlan) -> float | None:
        found = likely(row.measurement, scores, event)
        return None if found is None else found.lower

    lines = _lines(rows, budgets, success)
    article = "an" if event == "exact" else "a"
    axes.set(xlabel=_budget(query), ylabel=f"probability of {article} {event} release")
    axes.set(xscale="log", ylim=(-0.02, 1.02))
    axes.set_title(f"Success against cost: {query.task.release}s of {query.task.k}, on these scores")
    return _marked(drawn(axes, lines, _apart(lines)), budgets)


def _apart(lines: Sequence[Line]) -> float:
    """The last budget at which the lines lie well apart: a quarter as far as anywhere."""
    heights: dict[float, list[float]] = {}
    for _, points in lines:
        for budget, height in points:
            heights.setdefault(budget, []).append(height)
    apart = {budget: max(found) - min(found) for budget, found in heights.items()}
    return max((budget for budget in apart if 4 * apart[budget] >= max(apart.values())), default=math.inf)


def _marked(axes: Any, budgets: Sequence[Number]) -> Any:
    """The budgets at which was compared, as they are."""
    axes.set_xticks([float(budget) for budget in budgets], labels=[f"{float(budget):.3g}" for budget in budgets])
    axes.set_xticks([], minor=True)
    return axes


def _lines(rows: Sequence[TopKPlan], budgets: Sequence[Number], value: Value) -> list[Line]:
    """A line a mechanism, of the points that are known; those that agree to the eye share one."""
    found: dict[tuple[str, ...], tuple[list[str], list[tuple[float, float]]]] = {}
    for row in rows:
        points = []
        for budget in budgets:
            other = _at(row, budget)
            height = None if other is None else value(other)
            if height is not None and math.isfinite(height):
                points.append((float(budget), height))
        if points:
            key = tuple(f"{height:.{_DIGITS}g}" for _, height in points)
            found.setdefault(key, ([], points))[0].append(row.name)
    return [(joined(names), points) for names, points in found.values()]


def _at(row: TopKPlan, main: Number) -> TopKPlan | None:
    """The row at another budget; None where no scale meets that."""
    budget = row.query.budget
    d_out = (main, budget.d_out[1]) if isinstance(budget.d_out, tuple) else main
    try:
        return planned(replace(row.query, budget=replace(budget, d_out=d_out)))
    except SearchError:
        return None


def _main(d_out: Any) -> Any:
    return d_out[0] if isinstance(d_out, tuple) else d_out


def _budget(query: Query[TopK, Unit]) -> str:
    many, d_out = "" if query.releases == 1 else f" of {query.releases} releases", query.budget.d_out
    if isinstance(d_out, tuple):
        return f"epsilon{many} at delta = {float(d_out[1]):g}"
    return f"{query.budget.measure.symbol}{many}"
