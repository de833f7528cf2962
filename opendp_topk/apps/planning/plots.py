"""What a comparison draws: curves, several releases, and what a budget buys: accuracy and success."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...errors import ParameterError, SearchError, checks
from ...errors.checks import Number
from ...errors.extras import load
from ...numerics.arithmetic import exact
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import PrivacyProfile
from .least_scale import several
from .plan import Query, likely, planned
from .top_k import TopK, TopKPlan
from .units import Unit

# Numbers of releases: up to one a day for a month, and few enough for seconds. The delta where none is asked for
# is one in common use; below the smallest that is drawn nobody asks.
COUNTS = (1, 2, 4, 8, 16, 32)
DELTA, _SMALLEST = 1e-6, 1e-12
_POINTS = 60  # of a curve: more would not be seen
_PARTS = (0, 0.25, 0.5, 0.75, 0.9)  # of the way to its end, where curves of one release that agree become one line
# Letters to a line of a label, and inches of a figure of two panels.
_LETTERS, SIZE = 34, (15, 5.5)
_STYLES = ("-", "--", ":", "-.")
_COLOURS = 7  # that are told apart; after them the style of the line changes
_STEPS = range(-3, 4)  # of doublings of the budget: from an eighth to eight times of it
_LINE_DIGITS = 5  # of lines that are drawn as one
_PROFILE = PrivacyProfile()

Points = list[tuple[float, float]]
Line = tuple[str, Points]
Value = Callable[[TopKPlan], float | None]


def new_figure() -> Any:
    """A figure for two plots."""
    return _pyplot().figure(figsize=SIZE, layout="constrained")


def new_axes() -> Any:
    """The axes of a new figure."""
    return _pyplot().subplots(figsize=(SIZE[0] / 2, SIZE[1]), layout="constrained")[1]


def panels(figure: Any) -> Any:
    """Two axes side by side."""
    return figure.subplots(1, 2)


def curves(rows: Sequence[TopKPlan], query: Query[TopK, Unit], axes: Any) -> Any:
    """Delta of all releases together against epsilon."""
    groups = [(label, several(_PROFILE, curve, query.releases)) for label, curve in _groups(rows)]
    ends = [_end(curve) for _, curve in groups]
    last = max((end for end in ends if end < math.inf), default=1.0)
    epsilons = [last * place / (_POINTS - 1) for place in range(_POINTS)]
    lines = [(label, [(at, curve.delta(at)) for at in epsilons]) for label, curve in groups]
    shown = [(label, [point for point in points if point[1] >= _SMALLEST]) for label, points in lines]
    axes.set(
        xlabel="epsilon (privacy loss)",
        ylabel="delta (probability)",
        yscale="log",
        xlim=(0, 1.02 * last),
        ylim=(_SMALLEST, 2),
    )
    axes.set_title(f"Privacy of {_how_often(query.releases)}, each line a mechanism at its scale")
    return drawn(axes, shown)


def releases(
    rows: Sequence[TopKPlan], query: Query[TopK, Unit], counts: Sequence[int], delta: Number, axes: Any
) -> Any:
    """Epsilon at one delta against the number of releases."""
    lines = [
        (label, [(float(n), several(_PROFILE, curve, n).epsilon(delta)) for n in counts])
        for label, curve in _groups(rows)
    ]
    finite = [(label, [point for point in found if 0 < point[1] < math.inf]) for label, found in lines]
    axes.set(xlabel="number of releases", ylabel=f"epsilon at delta = {float(delta):g}", xscale="log", yscale="log")
    axes.set_title("What several releases cost together")
    axes.set_xticks(list(counts), labels=[str(n) for n in counts])
    axes.set_xticks([], minor=True)
    return drawn(axes, finite)


def budgets_asked(budgets: Iterable[Number] | None, query: Query[TopK, Unit]) -> list[Number]:
    """Budgets in the main number of the query's, each > 0."""
    if budgets is None:
        main = exact(query.budget.main)
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


def _groups(rows: Sequence[TopKPlan]) -> list[tuple[str, PrivacyCurve]]:
    """The curves that differ to the eye, each with the names of its mechanisms."""
    names: dict[tuple[float, ...], list[TopKPlan]] = {}
    for row in rows:
        key = tuple(float(f"{row.curve.delta(part * _end(row.curve)):.5g}") for part in _PARTS)
        names.setdefault((*key, float(f"{_end(row.curve):.5g}")), []).append(row)
    return [(_label(found), found[0].curve) for found in names.values()]


def _label(rows: Sequence[TopKPlan]) -> str:
    return joined([row.name for row in rows])


def joined(names: Sequence[str]) -> str:
    """Names of mechanisms as one label."""
    return "\n".join(textwrap.wrap(", ".join(names), _LETTERS))


def _end(curve: PrivacyCurve) -> float:
    """The epsilon up to which a curve is drawn."""
    return curve.epsilon(1e-9)


def drawn(axes: Any, lines: Sequence[Line], at: float = math.inf) -> Any:
    """Lines with their names at the right edge, in the order of their heights at ``at`` and none upon another."""
    for place, (_, points) in enumerate(lines):
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        axes.plot(*zip(*points, strict=True), color=f"C{place % _COLOURS}", linestyle=style, linewidth=1.6)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _named(axes, lines, at)
    return axes


def _named(axes: Any, lines: Sequence[Line], at: float) -> None:
    """The names beside the axes, spread evenly over their height, each joined to its line at ``at``."""
    order = sorted(range(len(lines)), key=lambda place: _anchor(lines[place][1], at)[::-1])
    heights = [lines[place][0].count("\n") + 1.4 for place in order]
    filled = 0.0
    for place, height in zip(order, heights, strict=True):
        label, points = lines[place]
        axes.annotate(
            label,
            xy=_anchor(points, at),
            xytext=(1.06, (filled + height / 2) / sum(heights)),
            textcoords="axes fraction",
            color=f"C{place % _COLOURS}",
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": f"C{place % _COLOURS}", "linewidth": 0.5, "alpha": 0.6},
        )
        filled += height


def _anchor(points: Points, at: float) -> tuple[float, float]:
    """The point of a line that is nearest to ``at`` from the left; by default its end."""
    return max((point for point in points if point[0] <= at), default=points[0])


def _how_often(times: int) -> str:
    return "one release" if times == 1 else f"{times} releases"


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
            key = tuple(f"{height:.{_LINE_DIGITS}g}" for _, height in points)
            found.setdefault(key, ([], points))[0].append(row.name)
    return [(joined(names), points) for names, points in found.values()]


def _at(row: TopKPlan, main: Number) -> TopKPlan | None:
    """The row at another budget; None where no scale meets that."""
    budget = row.query.budget
    d_out = main if budget.delta is None else (main, budget.delta)
    try:
        return planned(replace(row.query, budget=replace(budget, d_out=d_out)))
    except SearchError:
        return None


def _budget(query: Query[TopK, Unit]) -> str:
    many, delta = "" if query.releases == 1 else f" of {query.releases} releases", query.budget.delta
    if delta is not None:
        return f"epsilon{many} at delta = {float(delta):g}"
    return f"{query.budget.measure.symbol}{many}"


def _pyplot() -> Any:
    return load("matplotlib.pyplot", "plot needs matplotlib", "opendp_topk[plot]")
