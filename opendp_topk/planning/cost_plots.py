"""Two plots of what a budget buys: the bound on the error, and the probability of success, against the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..core.measurement import Measurement
from ..errors import CapacityError, NotDeclaredError, ParameterError, SearchError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact
from .answers import Compared, Question
from .catalogue import TABLE
from .comparison_plots import Line, drawn, joined

_STEPS = range(-3, 4)  # of doublings of the budget: from an eighth to eight times of it
_DIGITS = 5  # of lines that are drawn as one
_ROWS = {mechanism.name: mechanism for mechanism in TABLE}

Value = Callable[[Compared], float | None]


def asked(budgets: Iterable[Number] | None, question: Question) -> list[Number]:
    """Budgets in the main number of the question's, each > 0."""
    if budgets is None:
        main = exact(_main(question.d_out))
        return [main * 2**step if step >= 0 else main / 2**-step for step in _STEPS]
    found = [checks.distance(budget, "budgets") for budget in budgets]
    if not found or not all(0 < budget < math.inf for budget in found):
        raise ParameterError("budgets must be one or more finite numbers > 0")
    return found


def accuracy(rows: Sequence[Compared], question: Question, budgets: Sequence[Number], axes: Any) -> Any:
    """The accuracy theorem's bound against the budget."""
    lines = _lines(rows, question, budgets, lambda row: row.accuracy)
    sure = f"{float(100 * (1 - exact(question.alpha))):g} %"
    axes.set(xlabel=_budget(question), ylabel="largest shortfall of a winner (units of the scores)")
    axes.set(xscale="log", yscale="log")
    axes.set_title(f"Accuracy against cost: bounds for all scores, at {sure}")
    return _marked(drawn(axes, lines), budgets)


def success(
    rows: Sequence[Compared], question: Question, budgets: Sequence[Number], wanted: tuple[Any, str], axes: Any
) -> Any:
    """The probability of success on some scores against the budget."""
    scores, event = wanted
    scores = rows[0].measurement.input_domain.validate(scores)

    def likely(row: Compared) -> float | None:
        try:
            return row.measurement.success_probability(scores, event).lower
        except (NotDeclaredError, CapacityError):
            return None

    lines = _lines(rows, question, budgets, likely)
    article = "an" if event == "exact" else "a"
    axes.set(xlabel=_budget(question), ylabel=f"probability of {article} {event} release")
    axes.set(xscale="log", ylim=(-0.02, 1.02))
    axes.set_title(f"Success against cost: {question.release}s of {question.k}, on these scores")
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


def _lines(rows: Sequence[Compared], question: Question, budgets: Sequence[Number], value: Value) -> list[Line]:
    """A line a mechanism, of the points that are known; those that agree to the eye share one."""
    found: dict[tuple[str, ...], tuple[list[str], list[tuple[float, float]]]] = {}
    for row in rows:
        points = []
        for budget in budgets:
            height = value(_at(row, question, budget))
            if height is not None and math.isfinite(height):
                points.append((float(budget), height))
        if points:
            key = tuple(f"{height:.{_DIGITS}g}" for _, height in points)
            found.setdefault(key, ([], points))[0].append(row.name)
    return [(joined(names), points) for names, points in found.values()]


def _at(row: Compared, question: Question, budget: Number) -> Compared:
    """The row at another budget; as it is where no scale meets that."""
    pair = (budget, question.d_out[1]) if isinstance(question.d_out, tuple) else budget
    measurement: Measurement = row.measurement
    space: Any = (measurement.input_domain, measurement.input_metric)
    try:
        return replace(question, d_out=pair).answered(_ROWS[row.name], space)
    except SearchError:
        return replace(row, accuracy=None)


def _main(d_out: Any) -> Any:
    return d_out[0] if isinstance(d_out, tuple) else d_out


def _budget(question: Question) -> str:
    many = "" if question.releases == 1 else f" of {question.releases} releases"
    if isinstance(question.d_out, tuple):
        return f"epsilon{many} at delta = {float(question.d_out[1]):g}"
    return f"{question.measure.symbol}{many}"
