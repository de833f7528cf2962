"""Every mechanism that can give a release, side by side."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..distributions.events import Enclosure
from ..errors import MissingExtraError, ParameterError, TableError
from ..errors.writing import write_whole
from ..planning.answers import Compared, Question
from ..planning.catalogue import able
from ..planning.comparison import Comparison, six_up
from ..planning.comparison_plots import SIZE
from ..planning.deciding import WORDS
from . import guarantees, show
from .planning import Request
from .public_counts import Counts

_ORDER = (
    "order",
    "by theorems for the worst counts, where canonical and joint come late. Where the k best stand out from the rest "
    "they find them with far less noise than all others: --proxy shows it, on counts that are public or made up",
)


@dataclass(frozen=True)
class Row:
    """One mechanism with the smallest scale that meets the target."""

    found: Compared
    shortfall: float | None
    success: Enclosure | None

    @property
    def rank(self) -> tuple[float, float]:
        """The likeliest exact release first, then the best guarantee; what is unknown comes last."""
        likely = 1.0 if self.success is None else -self.success.lower
        return likely, float("inf") if self.shortfall is None else self.shortfall


def compared(
    request: Request, alpha: float, proxy: Counts | None, far: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """The mechanisms that can give the release, the best first; ``far`` is told how far it is."""
    exactly, _ = guarantees.sure(alpha)
    rows: list[Row] = []
    known: dict[Any, float] = {}
    asked = able(request.k, request.n_candidates, request.release)
    for place, mechanism in enumerate(asked, 1):
        far(f"{place} of {len(asked)}, {mechanism.name}")
        one = replace(request, mechanism=mechanism.name)
        found = one.answered(exactly, known)
        success = None if proxy is None else one.success(found.measurement, proxy)
        rows.append(Row(found, one.shortfall(found.measurement, exactly), success))
    return sorted(rows, key=lambda row: row.rank)


def show_comparison(request: Request, alpha: float, proxy: Counts | None, plot: str | None = None) -> None:
    """Print all mechanisms for ``request``, and draw them into the file ``plot``."""
    with show.working("comparing") as far:
        rows = compared(request, alpha, proxy, far)
    default = request.row.name
    exact = [] if proxy is None else ["P(exact)"]
    show.say(f"Which {request.k} of {request.n_candidates} candidates do most users have? ({request.release})", "")
    show.table(
        ["mechanism", "scale", _symbol(request), "within", *exact, "bound"],
        (
            [
                row.found.name + " *" * (row.found.name == default),
                six_up(row.found.scale),
                six_up(row.found.loss[1] if isinstance(row.found.loss, tuple) else row.found.loss),
                "-" if row.shortfall is None else _whole(row.shortfall),
                *([] if proxy is None else [guarantees.probability(row.success)]),
                row.found.bound,
            ]
            for row in rows
        ),
        right=range(1, 4 + len(exact)),
    )
    show.say("")
    dash = any(row.shortfall is None or (proxy is not None and row.success is None) for row in rows)
    bounds = {row.found.bound for row in rows}
    legend = [*_legend(request, alpha, proxy), *((word, meaning) for word, meaning in WORDS.items() if word in bounds)]
    show.rows([*legend, *([("-", "not known, or too long to compute")] if dash else [])])
    if plot is not None:
        with show.working("drawing"):
            _draw(request, rows, plot)


def _draw(request: Request, rows: list[Row], plot: str) -> None:
    """Write the two plots into a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError('--plot needs matplotlib: pip install "opendp_topk[plot]"') from None
    target = request.target
    question = Question(target.measure, request.k, request.n_candidates, request.users, target.budget, request.release)
    figure = Comparison(question, tuple(row.found for row in rows)).plot(Figure(figsize=SIZE, layout="constrained"))
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


def _symbol(request: Request) -> str:
    """The head of the column of costs."""
    return "delta" if isinstance(request.target.budget, tuple) else request.target.symbol


def _legend(request: Request, alpha: float, proxy: Counts | None) -> list[tuple[str, str]]:
    _, sure = guarantees.sure(alpha)
    each = (
        f"for every t from 1 to {request.k} the t-th released item has a count within so many users of the t-th largest"
        if request.release == "ranking"
        else f"every released item has a count within so many users of the {guarantees.largest(request.k)}"
    )
    budget = request.target.budget
    pair = f", at epsilon = {float(budget[0])}" if isinstance(budget, tuple) else ""
    exact = ("P(exact)", f"how likely {guarantees.exact(request)} is on the counts of the proxy")
    return [
        ("*", "what release takes if no --mechanism is named"),
        ("scale", "of the noise, in users: the smallest that meets the target"),
        (_symbol(request), f"the cost {show.neighbours(request)}{pair}"),
        ("within", f"with probability at least {sure}, {each}"),
        *([] if proxy is None else [exact]),
        *([_ORDER] if proxy is None and request.k > 1 else []),
        ("bound", "which of all bounds that are proved decided the cost:"),
    ]


def _whole(users: float) -> str:
    return str(users) if users < 10**9 else six_up(users)
