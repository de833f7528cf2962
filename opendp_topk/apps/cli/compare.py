"""Every mechanism that can give a release, side by side."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from pathlib import Path

from ...errors import ParameterError, TableError
from ...errors.extras import load
from ...errors.files import write_whole
from ...sampling.distributions.events import Enclosure
from ..planning.comparison import Comparison, answers, six_up
from ..planning.deciding import WORDS
from ..planning.plan import Query
from ..planning.plots import SIZE
from ..planning.promises import largest, sure
from ..planning.recommendation import Option
from ..planning.top_k import TopK
from ..planning.units import Users
from . import show
from .asking import require_noise, too_small
from .public_counts import Counts


def compared(
    query: Query[TopK, Users], proxy: Counts | None, far: Callable[[str], None] = lambda _: None
) -> list[Option]:
    """The mechanisms that can give the release, the best first; ``far`` is told how far it is.

    Raises:
        ParameterError: The release would be the same for every table, or no scale meets the target.
    """
    require_noise(query)
    rows = []
    for plan in answers(query, far):
        rows.append(Option(plan, None if proxy is None else plan.query.task.success(plan, proxy)))
    if not rows:
        raise too_small(query)
    return sorted(rows, key=_rank)


def _rank(option: Option) -> tuple[float, float]:
    """The likeliest exact release first, then the best guarantee; what is unknown comes last."""
    near, success = _within(option), 1.0 if option.success is None else -option.success.lower
    return success, float("inf") if near is None else near


def _within(option: Option) -> float | None:
    return option.row.query.task.shortfall(option.row)


def show_comparison(query: Query[TopK, Users], proxy: Counts | None, plot: str | None = None) -> None:
    """Print all mechanisms for ``query``, and draw them into the file ``plot``."""
    with show.working("comparing") as far:
        rows = compared(query, proxy, far)
    task = query.task
    open_rows = [one for one in rows if one.row.query.task.mechanism in (task.mechanism, *task.alternatives)]
    usual = min(open_rows, key=lambda one: one.row.query.task.near(one.row), default=rows[0]).name
    exact = [] if proxy is None else ["P(exact)"]
    show.say(f"Which {task.k} of {task.n_candidates} candidates do most users have? ({task.release})", "")
    show.table(
        ["mechanism", "scale", _symbol(query), "within", *exact, "bound"],
        (
            [
                one.name + " *" * (one.name == usual),
                six_up(one.row.scale),
                six_up(one.row.loss[1] if isinstance(one.row.loss, tuple) else one.row.loss),
                _whole(_within(one)),
                *([] if proxy is None else [probability(one.success)]),
                one.row.bound,
            ]
            for one in rows
        ),
        right=range(1, 4 + len(exact)),
    )
    show.say("")
    dash = any(_within(one) is None or (proxy is not None and one.success is None) for one in rows)
    bounds = {one.row.bound for one in rows}
    legend = [*_legend(query, proxy), *((word, meaning) for word, meaning in WORDS.items() if word in bounds)]
    show.rows([*legend, *([("-", "not known, or too long to compute")] if dash else [])])
    if plot is not None:
        with show.working("drawing"):
            _draw(query, rows, plot)


def _draw(query: Query[TopK, Users], rows: list[Option], plot: str) -> None:
    """Write the two plots into a file."""
    drawing = load("matplotlib.figure", "--plot needs matplotlib", "opendp_topk[plot]")
    figure = Comparison(query, tuple(one.row for one in rows)).plot(drawing.Figure(figsize=SIZE, layout="constrained"))
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(plot).suffix[1:].lower())
    try:
        write_whole(Path(os.path.realpath(plot)), drawn.getvalue(), replace=True)
    except (OSError, ValueError):
        raise TableError("the file of --plot cannot be written: choose another place") from None


def require_plot(plot: str | None, compare: bool) -> None:
    """Raise where --plot names no picture, or nothing is compared."""
    if plot is not None and not compare:
        raise ParameterError("--plot draws a comparison: give --compare")
    if plot is not None and not plot.lower().endswith((".png", ".svg")):
        raise ParameterError("--plot needs a file whose name ends in .png or .svg")


def _symbol(query: Query[TopK, Users]) -> str:
    """The head of the column of costs."""
    return query.budget.symbol if query.budget.delta is None else "delta"


def _legend(query: Query[TopK, Users], proxy: Counts | None) -> list[tuple[str, str]]:
    k, budget = query.task.k, query.budget
    each = (
        f"for every t from 1 to {k} the t-th released item has a count within so many users of the t-th largest"
        if query.task.release == "ranking"
        else f"every released item has a count within so many users of the {largest(k)}"
    )
    pair = "" if budget.delta is None else f", at epsilon = {float(budget.main)}"
    exact = ("P(exact)", f"how likely {_event(query.task)} is on the counts of the proxy")
    return [
        ("*", "what release takes if no --mechanism is named"),
        ("scale", "of the noise, in users: the smallest that meets the target"),
        (_symbol(query), f"the cost for {query.unit.whom}{pair}"),
        ("within", f"with probability at least {sure(query.alpha)}, {each}{query.unit.columns.counted}"),
        *([] if proxy is None else [exact]),
        *([("order", _order(query.task.release))] if proxy is None and k > 1 else []),
        ("bound", "which of all bounds that are proved decided the cost:"),
    ]


def _order(release: str) -> str:
    """What the order of the rows leaves open."""
    late, they = ("canonical and joint come", "they find") if release == "set" else ("joint comes", "it finds")
    return (
        f"by theorems for the worst counts, where {late} late. Where the k best stand out from the rest {they} them "
        "with far less noise than all others: --proxy shows it, on counts that are public or made up"
    )


def _whole(users: float | None) -> str:
    if users is None:
        return "-"
    return str(users) if users < 10**9 else six_up(users)


def success_words(enclosure: Enclosure | None, task: TopK) -> str:
    """The probability of an exact release on the proxy, in words."""
    if enclosure is None:
        return "the probability of the exact release is not known for this mechanism, or too long to compute"
    return f"{_event(task)} has probability {probability(enclosure)}"


def _event(task: TopK) -> str:
    """The event that the release is as good as can be, in words."""
    return f"the exact top-{task.k}" + (", in any order," if task.k > 1 else "")


def probability(enclosure: Enclosure | None) -> str:
    """Three decimals, rounded outward where both ends do not share them; a dash for what is not known."""
    if enclosure is None:
        return "-"
    lower, upper = enclosure
    if upper < 0.0005:
        return "0" if upper == 0 else "< 0.001"
    if lower >= 0.9995:
        return "1" if lower == 1 else "> 0.999"
    if f"{lower:.3f}" == f"{upper:.3f}":
        return f"{lower:.3f}"
    return f"{math.floor(lower * 1000) / 1000:.3f}-{math.ceil(upper * 1000) / 1000:.3f}"
