"""Comparison of mechanisms within one budget, and the recommendation of one of them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

from ...core.measurement import Measurement
from ...core.spaces import require_space
from ...errors import ParameterError, ParameterTypeError, SearchError, checks
from ...errors.checks import Number
from ...errors.extras import import_extra
from ...markup import elements
from ...measurements._selection import SELECTABLE
from ...numerics.arithmetic import round_up, to_fraction
from ...sampling.distributions.events import EVENTS, Enclosure
from ...spaces.costs import require_measure
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.domains import VectorDomain
from ...spaces.measures import Measure, PrivacyProfile
from ...spaces.metrics import ScoreMetric
from .catalogue import ONE_SHOT, RELEASES, all_mechanisms, capable_mechanisms
from .plan import WORDS, Plan, Query, composed_loss, goal_probability, plan_query
from .top_k import TopKPlan, TopKTask
from .units import Budget, PrivacyUnit, ScoreUnit, has_contribution_bound

if TYPE_CHECKING:
    from polars import DataFrame
else:
    DataFrame = Any  # so that type hints can be resolved without polars

# Plots of a comparison: privacy curves, the loss of several releases, and accuracy and success against the budget.

# By default up to 32 releases are compared: about one a day for a month, which takes seconds to compute. The default
# delta is a common value, and the smallest delta in a plot is below all that are asked for in practice.
COUNTS = (1, 2, 4, 8, 16, 32)
DELTA, _SMALLEST = 1e-6, 1e-12
_POINTS = 60  # points per curve: more would not be visible
_PARTS = (0, 0.25, 0.5, 0.75, 0.9)  # fractions of the drawn epsilons; curves that agree there share one line
# Letters per line of a label, and the size in inches of a figure with two panels.
_LETTERS, SIZE = 34, (15, 5.5)
_STYLES = ("-", "--", ":", "-.")
_COLOURS = 7  # distinguishable colours; after them the line style changes
_BUDGET_STEPS = range(-3, 4)  # doublings of the budget: from an eighth of it to eight times as much
_LINE_DIGITS = 5  # significant digits; lines that agree in them are drawn as one
_PROFILE = PrivacyProfile()

Points = list[tuple[float, float]]
Line = tuple[str, Points]
Value = Callable[[TopKPlan], float | None]


def new_axes() -> Any:
    return _load_pyplot().subplots(figsize=(SIZE[0] / 2, SIZE[1]), layout="constrained")[1]


def requested_budgets(budgets: Iterable[Number] | None, query: Query[TopKTask, PrivacyUnit]) -> list[Number]:
    """Return the budgets to compare, in the query's epsilon or rho; the default is multiples of the query's budget."""
    if budgets is None:
        main = to_fraction(query.budget.main_distance)
        return [main * 2**step if step >= 0 else main / 2**-step for step in _BUDGET_STEPS]
    found = [checks.require_distance(budget, "budgets") for budget in budgets]
    if not found or not all(0 < budget < math.inf for budget in found):
        raise ParameterError("budgets must be one or more finite numbers > 0")
    return found


def _distinct_curves(rows: Sequence[TopKPlan]) -> list[tuple[str, PrivacyCurve]]:
    """Return the visibly different curves, each with the names of its mechanisms."""
    names: dict[tuple[float, ...], list[TopKPlan]] = {}
    for row in rows:
        key = tuple(float(f"{row.curve.delta(part * _largest_drawn_epsilon(row.curve)):.5g}") for part in _PARTS)
        names.setdefault((*key, float(f"{_largest_drawn_epsilon(row.curve):.5g}")), []).append(row)
    return [(wrap_mechanism_names([row.name for row in found]), found[0].curve) for found in names.values()]


def wrap_mechanism_names(names: Sequence[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(names), _LETTERS))


def _largest_drawn_epsilon(curve: PrivacyCurve) -> float:
    return curve.epsilon(1e-9)


def draw_labelled_lines(axes: Any, lines: Sequence[Line], at: float = math.inf) -> Any:
    """Draw lines with labels at the right edge, ordered by their heights at ``at`` and without overlap."""
    for place, (_, points) in enumerate(lines):
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        axes.plot(*zip(*points, strict=True), color=f"C{place % _COLOURS}", linestyle=style, linewidth=1.6)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _draw_line_labels(axes, lines, at)
    return axes


def _draw_line_labels(axes: Any, lines: Sequence[Line], at: float) -> None:
    """Draw the labels beside the axes, spread over the height, each connected to its line at ``at``."""
    order = sorted(range(len(lines)), key=lambda place: _label_anchor(lines[place][1], at)[::-1])
    heights = [lines[place][0].count("\n") + 1.4 for place in order]
    filled = 0.0
    for place, height in zip(order, heights, strict=True):
        label, points = lines[place]
        axes.annotate(
            label,
            xy=_label_anchor(points, at),
            xytext=(1.06, (filled + height / 2) / sum(heights)),
            textcoords="axes fraction",
            color=f"C{place % _COLOURS}",
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": f"C{place % _COLOURS}", "linewidth": 0.5, "alpha": 0.6},
        )
        filled += height


def _label_anchor(points: Points, at: float) -> tuple[float, float]:
    """Return the last point of a line that is not right of ``at``; the first point if there is none."""
    return max((point for point in points if point[0] <= at), default=points[0])


def _last_spread_budget(lines: Sequence[Line]) -> float:
    """Return the last budget at which the spread of the lines is at least a quarter of their largest spread."""
    heights: dict[float, list[float]] = {}
    for _, points in lines:
        for budget, height in points:
            heights.setdefault(budget, []).append(height)
    apart = {budget: max(found) - min(found) for budget, found in heights.items()}
    return max((budget for budget in apart if 4 * apart[budget] >= max(apart.values())), default=math.inf)


def _mark_budget_ticks(axes: Any, budgets: Sequence[Number]) -> Any:
    """Label the horizontal axis with the compared budgets."""
    axes.set_xticks([float(budget) for budget in budgets], labels=[f"{float(budget):.3g}" for budget in budgets])
    axes.set_xticks([], minor=True)
    return axes


def _value_lines(rows: Sequence[TopKPlan], budgets: Sequence[Number], value: Value) -> list[Line]:
    """Return one line per mechanism, through its known finite points; visibly equal lines are merged."""
    found: dict[tuple[str, ...], tuple[list[str], list[tuple[float, float]]]] = {}
    for row in rows:
        points = []
        for budget in budgets:
            other = _plan_at_budget(row, budget)
            height = None if other is None else value(other)
            if height is not None and math.isfinite(height):
                points.append((float(budget), height))
        if points:
            key = tuple(f"{height:.{_LINE_DIGITS}g}" for _, height in points)
            found.setdefault(key, ([], points))[0].append(row.name)
    return [(wrap_mechanism_names(names), points) for names, points in found.values()]


def _plan_at_budget(row: TopKPlan, main: Number) -> TopKPlan | None:
    """Return the row at another budget; None if no scale meets that budget."""
    budget = row.query.budget
    d_out = main if budget.delta is None else (main, budget.delta)
    try:
        return plan_query(replace(row.query, budget=replace(budget, d_out=d_out)))
    except SearchError:
        return None


def _budget_label(query: Query[TopKTask, PrivacyUnit]) -> str:
    many, delta = "" if query.releases == 1 else f" of {query.releases} releases", query.budget.delta
    if delta is not None:
        return f"epsilon{many} at delta = {float(delta):g}"
    return f"{query.budget.measure.symbol}{many}"


def _load_pyplot() -> Any:
    return import_extra("matplotlib.pyplot", "plot requires matplotlib", "opendp_topk[plot]")


# Comparison of the mechanisms that can make a release, each at the least scale that meets a budget.
#
# Proof: proofs/planning/comparison.tex

_DIGITS = 6  # significant digits of a bound or a probability; options that agree in them are equally good
_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)  # six digits fit into a table


@dataclass(frozen=True, repr=False)
class Comparison:
    """Comparison of mechanisms, as :func:`compare` returns it: one row each, the smallest error bound first.

    Iterate over it, or index it by the name of a mechanism. Each row has ``name``, ``measurement``, ``scale``,
    ``loss``, ``accuracy``, ``bound`` and ``curve``. A comparison prints as a table and draws plots (extra ``plot``).

    Methods that draw one plot take the matplotlib ``axes`` to draw on, by default new ones, and return them. They raise
    a MissingExtraError if none are given and matplotlib is not installed.
    """

    query: Query[TopKTask, PrivacyUnit]
    rows: tuple[TopKPlan, ...]

    def __post_init__(self) -> None:
        checks.require_instance("query", self.query, Query, "a query, as compare makes it")
        checks.require_instance("rows", self.rows, tuple, "a tuple of plans, as compare makes it")

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> TopKPlan:
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ParameterError(f"no such row: the rows of the comparison are {', '.join(found)}")
        return found[name]

    def to_frame(self) -> DataFrame:
        """Return a polars data frame with one row per mechanism (extra ``tables``).

        The columns are ``mechanism``, ``scale``, ``loss`` (a list if it is a pair), ``accuracy`` and ``bound``.

        Raises:
            MissingExtraError: polars is not installed.
        """
        return _plans_frame(self.rows)

    @property
    def _title(self) -> str:
        query, task, budget = self.query, self.query.task, self.query.budget
        times = "once" if query.releases == 1 else f"{query.releases} times"
        return (
            f"Comparison of {task.release}s: k = {task.k} of {task.n_candidates}, {times} at "
            f"d_in = {query.unit.d_in} within {budget.d_out} under {budget.measure!r}, alpha = {query.alpha}"
        )

    @property
    def _lines(self) -> list[tuple[str, ...]]:
        header = ("mechanism", "scale", self.query.budget.measure.symbol, "accuracy", "decided by")
        return [header, *map(_comparison_cells, self.rows)]

    def _repr_html_(self) -> str:
        return elements.columns_table(self._title, {name: cells for name, *cells in zip(*self._lines, strict=True)})

    def __repr__(self) -> str:
        task, lines = self.query.task, self._lines
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        named = {row.name for row in self.rows}
        far = " and ".join(name for name in ("canonical", "joint") if name in named and task.k > 1)
        stand = f"; if the k best scores are far above the rest, {far} may need much less noise" if far else ""
        worst = f"accuracy: a bound for the worst scores{stand}"
        used = {row.bound for row in self.rows}
        legend = [worst, *(f"{word}: {meaning}" for word, meaning in WORDS.items() if word in used)]
        return "\n".join(line.rstrip() for line in (self._title, "", *aligned, "", *legend))

    def best(self, proxy: Any = None, *, goal: str | None = None) -> Recommendation:
        """Recommend a mechanism, with the reason and the loss at which the next best one would do as well.

        Args:
            proxy: Public or made-up scores that resemble the private ones, one per candidate. Never pass the private
                scores: the choice of a mechanism would leak information about them.
            goal: ``"near"`` takes the smallest bound, over all scores, on how far a winner falls short. ``"exact"``,
                ``"great"`` and ``"good"`` take the largest probability of such a release on the proxy, as
                :meth:`Measurement.success_probability` defines it. The default is ``"exact"`` with a proxy and
                ``"near"`` without one.

        Returns:
            A :class:`Recommendation` with a measurement on vectors of scores. It prints as its reason.

        Raises:
            ParameterError: The goal is unknown, or it needs a proxy and none is given.
            DataError: The proxy is not a member of the input domain, or its length is not the number of candidates.

        Runtime:
            A second or two; with a proxy some seconds, or minutes for more than 10^5 candidates.
        """
        default = NEAR if proxy is None else EVENTS[0]
        chosen = default if goal is None else checks.require_choice("goal", goal, (NEAR, *EVENTS))
        if chosen != NEAR and proxy is None:
            raise ParameterError(f"goal={chosen!r} requires a proxy: scores that are public or made up")
        domain: Any = self.rows[0].measurement.input_domain
        scores = None if proxy is None else replace(domain, size=self.query.task.n_candidates).validate(proxy)
        sort_key = _option_sort_key(chosen)
        options = sorted((_evaluate_option(row, scores, chosen) for row in self.rows), key=sort_key)
        worse = (one for one in options if sort_key(one)[0] > sort_key(options[0])[0])
        other = next((one for one in worse if chosen == NEAR or one.success is not None), None)
        needed = None if other is None else _matching_loss(other, options[0], scores, chosen)
        return Recommendation(self.query, chosen, tuple(options), other, needed)

    def plot_curves(self, *, axes: Any = None) -> Any:
        """Draw delta against epsilon for all releases together, one line per mechanism."""
        axes, releases = new_axes() if axes is None else axes, self.query.releases
        groups = [(label, composed_loss(_PROFILE, curve, releases)) for label, curve in _distinct_curves(self.rows)]
        ends = [_largest_drawn_epsilon(curve) for _, curve in groups]
        last = max((end for end in ends if end < math.inf), default=1.0)
        epsilons = [last * place / (_POINTS - 1) for place in range(_POINTS)]
        lines = [(label, [(at, curve.delta(at)) for at in epsilons]) for label, curve in groups]
        shown = [(label, [point for point in points if point[1] >= _SMALLEST]) for label, points in lines]
        axes.set(xlabel="epsilon (privacy loss)", ylabel="delta (probability)")
        axes.set(yscale="log", xlim=(0, 1.02 * last), ylim=(_SMALLEST, 2))
        together = "one release" if releases == 1 else f"{releases} releases"
        axes.set_title(f"Privacy of {together}; each line is a mechanism at its scale")
        return draw_labelled_lines(axes, shown)

    def plot_releases(self, counts: Iterable[int] = COUNTS, *, delta: Number | None = None, axes: Any = None) -> Any:
        """Draw epsilon at one delta against the number of releases, one line per mechanism at the scale of its row.

        Args:
            counts: The numbers of releases, ascending.
            delta: By default that of the budget, or 1e-6 if that is 0 or the budget has none.

        Raises:
            ParameterError: A count is not an integer >= 1, or ``delta`` is not in (0, 1).
        """
        asked = [checks.require_positive_int("counts", count) for count in counts]
        at = checks.require_probability(delta if delta is not None else self.query.budget.delta or DELTA, "delta")
        axes = new_axes() if axes is None else axes
        lines = [
            (label, [(float(n), composed_loss(_PROFILE, curve, n).epsilon(at)) for n in asked])
            for label, curve in _distinct_curves(self.rows)
        ]
        finite = [(label, [point for point in found if 0 < point[1] < math.inf]) for label, found in lines]
        axes.set(xlabel="number of releases", ylabel=f"epsilon at delta = {float(at):g}", xscale="log", yscale="log")
        axes.set_title("Total privacy loss of several releases")
        axes.set_xticks(asked, labels=[str(n) for n in asked])
        axes.set_xticks([], minor=True)
        return draw_labelled_lines(axes, finite)

    def plot(self, figure: Any = None) -> Any:
        """Draw :meth:`plot_curves` and :meth:`plot_releases` side by side.

        ``figure.savefig("comparison.svg")`` (or .png) writes them to a file.

        Args:
            figure: The matplotlib figure to draw on; by default a new one.

        Returns:
            The figure.

        Raises:
            MissingExtraError: No figure is given and matplotlib is not installed (extra ``plot``).
        """
        drawn = _load_pyplot().figure(figsize=SIZE, layout="constrained") if figure is None else figure
        left, right = drawn.subplots(1, 2)
        self.plot_curves(axes=left)
        self.plot_releases(axes=right)
        return drawn

    def plot_accuracy(self, budgets: Iterable[Number] | None = None, *, axes: Any = None) -> Any:
        """Draw the bound of the accuracy theorem against the budget, one line per mechanism.

        Args:
            budgets: The budgets to compare, ascending, in the measure of the budget (epsilon if it is a pair); by
                default seven, from an eighth of the budget to eight times as much.

        Raises:
            ParameterError: No budget is given, or one is 0, infinite or not a number >= 0.
        """
        axes, query = new_axes() if axes is None else axes, self.query
        asked = requested_budgets(budgets, query)
        lines = _value_lines(self.rows, asked, lambda row: row.accuracy)
        sure = f"{float(100 * (1 - to_fraction(query.alpha))):g} %"
        axes.set(xlabel=_budget_label(query), ylabel="largest shortfall of a winner (units of the scores)")
        axes.set(xscale="log", yscale="log", title=f"Accuracy against cost: bounds for all scores, at {sure}")
        return _mark_budget_ticks(draw_labelled_lines(axes, lines), asked)

    def plot_success(
        self, scores: Any, event: str = "exact", budgets: Iterable[Number] | None = None, *, axes: Any = None
    ) -> Any:
        """Draw the probability that a release succeeds on ``scores`` against the budget, one line per mechanism.

        The line is a proved lower bound. Mechanisms whose probability is unknown, or takes too long to compute, are
        left out. The plot is as private as ``scores``.

        Args:
            scores: A member of the input domain, public or made up.
            event: ``"exact"``, ``"great"`` or ``"good"``, as ``Measurement.success_probability`` defines it.
            budgets: As for :meth:`plot_accuracy`.

        Raises:
            ParameterError: The event is unknown, no budget is given, or one is 0, infinite or not a number >= 0.
            DataError: ``scores`` is not a member of the input domain.
        """
        wanted = checks.require_choice("event", event, EVENTS)
        axes, query = new_axes() if axes is None else axes, self.query
        asked = requested_budgets(budgets, query)
        scores = self.rows[0].measurement.input_domain.validate(scores)

        def success_lower_bound(row: TopKPlan) -> float | None:
            found = goal_probability(row.measurement, scores, wanted)
            return None if found is None else found.lower

        lines = _value_lines(self.rows, asked, success_lower_bound)
        article = "an" if wanted == "exact" else "a"
        axes.set(xlabel=_budget_label(query), ylabel=f"probability of {article} {wanted} release")
        axes.set(xscale="log", ylim=(-0.02, 1.02))
        axes.set_title(f"Success against cost: {query.task.release}s of {query.task.k}, on these scores")
        return _mark_budget_ticks(draw_labelled_lines(axes, lines, _last_spread_budget(lines)), asked)


def compare(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    k: int,
    d_in: Number = 1,
    d_out: Any,
    n_candidates: int | None = None,
    release: str = "ranking",
    alpha: Number = 0.05,
    releases: int = 1,
) -> Comparison:
    """Compare all mechanisms that can release the k best candidates, each at the least scale that meets a budget.

    Args:
        input_domain: Vectors of d scores, one per candidate, integers or floats.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores; or
            ``L01InfDistance(changes=m)`` if one person changes at most m scores. Then mechanisms that add noise to all
            scores are compared as well.
        output_measure: The measure of the budget: ``MaxDivergence()``, ``RangeDivergence()``,
            ``ZeroConcentratedDivergence()`` or ``PrivacyProfile()``.
        k: The number of candidates to release.
        d_in: The distance of neighbouring inputs, in units of the scores.
        d_out: The budget, for all releases together: a finite number > 0, or under ``PrivacyProfile()`` a pair
            (epsilon, delta).
        n_candidates: The number of candidates, if the domain has no size; ignored if it has one.
        release: ``"ranking"``, best first, or ``"set"``.
        alpha: The accuracy theorems may fail with this probability.
        releases: The number of releases from the same scores, all fixed in advance.

    Returns:
        A :class:`Comparison`: for every mechanism its measurement at the least scale, the loss of all releases, the
        accuracy of one, and which bound decided. It prints as a table, draws plots, and ``best`` recommends one.

    Privacy:
        Nothing is released and no data is read. The loss is that of independent releases, fixed in advance: sums of
        the map, or the convolution of its curves, rounded up. The next smaller scale would not meet the budget; under
        ``PrivacyProfile()``, if a curve needs a grid, a scale smaller by a thousandth would not.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, the number of candidates is not known, no
            scale meets the budget, or the release is the same for all neighbours. ``d_in`` or ``d_out`` is not a
            distance, or no scale can meet ``d_out``.
        SpaceError: The metric does not fit the domain.

    Runtime:
        A second or two; some seconds under ``PrivacyProfile()`` if k times ``releases`` is in the thousands.

    Proof: proofs/planning/comparison.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=900), tk.LInfDistance(monotonic=True)
        >>> found = tk.planning.compare(*space, tk.ZeroConcentratedDivergence(), k=1, d_out=0.02)
        >>> found["permute_and_flip"].bound
        'range'
        >>> found["permute_and_flip"].loss <= 0.02
        True
        >>> found.best(proxy=[5000, 100] + 898 * [10]).measurement.check(1, 0.02)
        True
    """
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")
    require_measure(output_measure, *SELECTABLE)
    size = input_domain.size if n_candidates is None or input_domain.size is not None else n_candidates
    if size is None:
        raise ParameterError("n_candidates must be given, or the size of input_domain")
    count = checks.require_positive_int("n_candidates", size)
    most = checks.require_positive_int("k", k, at_most=count, limit="the number of candidates")
    unit = ScoreUnit((input_domain, input_metric), input_metric.distance(d_in, "d_in"))
    budget = Budget(output_measure, _validate_budget(output_measure, d_out))
    kind = checks.require_choice("release", release, RELEASES)
    likely = checks.require_probability(alpha, "alpha")
    task = TopKTask(most, count, kind, ONE_SHOT)
    query = Query(task, unit, budget, checks.require_positive_int("releases", releases), likely)
    rows = list(mechanism_plans(query))
    if not rows:
        raise ParameterError("d_in or d_out must be larger: no scale meets d_out, or neighbours have equal releases")
    return Comparison(query, tuple(sorted(rows, key=bound_sort_key)))


def mechanism_plans(
    query: Query[TopKTask, PrivacyUnit], far: Callable[[str], None] = lambda _: None
) -> Iterator[TopKPlan]:
    """Yield the plan of every mechanism that can make the release; ``far`` is called with the progress as a text."""
    known: dict[Any, float] = {}
    task = query.task
    few = has_contribution_bound(query.unit.map_only_scores(task.n_candidates))
    asked = capable_mechanisms(task.k, task.n_candidates, task.release, few=few)
    for place, mechanism in enumerate(asked, 1):
        far(f"{place} of {len(asked)}, {mechanism.name}")
        try:
            found = plan_query(replace(query, task=replace(task, mechanism=mechanism, alternatives=())), known)
            _ = found.curve  # only mechanisms with a curve are compared
        except (SearchError, ParameterTypeError):
            continue  # the mechanism does not accept the measure, or has no least scale
        yield found


# proof-region: order
def bound_sort_key(row: TopKPlan) -> tuple[float, int]:
    """Return a sort key: the smallest error bound first; equal ones in the order of the catalogue."""
    bound = math.inf if row.accuracy is None else float(f"{row.accuracy:.{_DIGITS}g}")  # [bound]
    return bound, [one.name for one in all_mechanisms()].index(row.name)  # [place]


# end-proof-region: order


def _validate_budget(measure: Measure, d_out: Any) -> Any:
    """Return ``d_out`` if a scale can meet it: a finite number > 0, with a delta below 1 under ``PrivacyProfile()``.

    A number under ``PrivacyProfile()`` becomes a pair with delta 0.
    """
    if measure == PrivacyProfile():
        d_out = (d_out, 0) if checks.is_real(d_out) else d_out
        if not isinstance(d_out, tuple) or len(d_out) != 2:
            raise ParameterError("d_out must be a pair (epsilon, delta)")
    measure.distance(d_out, "d_out")
    main, delta = d_out if isinstance(d_out, tuple) else (d_out, 0)
    if not 0 < main < math.inf or not delta < 1:
        raise ParameterError("d_out must be finite and > 0, and its delta below 1")
    return d_out


def _comparison_cells(row: TopKPlan) -> tuple[str, ...]:
    loss: Sequence[float] = row.loss if isinstance(row.loss, tuple) else (row.loss,)
    shown = ", ".join(map(format_rounded_up, loss))
    near = "-" if row.accuracy is None else format_rounded_up(row.accuracy)
    return row.name, format_rounded_up(row.scale), f"({shown})" if len(loss) > 1 else shown, near, row.bound


def _plans_frame(rows: Sequence[TopKPlan], **more: list[Any]) -> DataFrame:
    polars = import_extra("polars", "to_frame() requires polars", "opendp_topk[tables]")
    columns = {
        "mechanism": [row.name for row in rows],
        "scale": [row.scale for row in rows],
        "loss": [list(row.loss) if isinstance(row.loss, tuple) else row.loss for row in rows],
        "accuracy": [row.accuracy for row in rows],
        "bound": [row.bound for row in rows],
    }
    frame: DataFrame = polars.DataFrame({**columns, **more}, strict=False)
    return frame


def format_rounded_up(number: float) -> str:
    """Return the number in six digits, rounded up."""
    return f"{float(_SIX_UP.create_decimal(Decimal(repr(float(number))))):.6g}"


# Recommendation of a mechanism, with the reason and the loss at which the next best one would do as well.
#
# Nothing is released here. The rows are those of a comparison; proofs/planning/comparison.tex proves their losses.

NEAR = "near"
_CERTAIN = 1e-9  # a negligible probability of failure, far above the width of an enclosure
_HALVINGS, _STEPS = 40, 12  # halvings of a scale; 12 bisections then leave one part in 4096


@dataclass(frozen=True)
class Option:
    """A mechanism at the least scale that meets the budget, with its probability of success on the proxy if known."""

    row: TopKPlan
    success: Enclosure | None

    @property
    def name(self) -> str:
        return self.row.name


@dataclass(frozen=True, repr=False)
class Recommendation:
    """Recommendation of a mechanism, as :meth:`Comparison.best` returns it, with the reason and the other options.

    ``measurement`` is ready to release. ``options`` are in order, the best first. ``as_good`` is the loss at which
    ``next_best`` would reach the goal as well: a number or a pair (epsilon, delta), rounded up. It is None if there is
    no next best option or no such scale was found.
    """

    query: Query[TopKTask, PrivacyUnit]
    goal: str
    options: tuple[Option, ...]
    next_best: Option | None
    as_good: Any

    def __post_init__(self) -> None:
        checks.require_instance("query", self.query, Query, "a query, as Comparison.best makes it")
        checks.require_instance(
            "options", self.options, tuple, "a tuple of one option or more, as Comparison.best makes it"
        )
        if not self.options or not all(isinstance(one, Option) for one in self.options):
            raise ParameterError("options must contain at least one option, as Comparison.best makes them")

    @property
    def name(self) -> str:
        """Name of the recommended mechanism."""
        return self.options[0].name

    @property
    def measurement(self) -> Measurement:
        """Measurement of the recommended mechanism at the least scale that meets the budget."""
        return self.options[0].row.measurement

    @property
    def why(self) -> str:
        """Reason for the recommendation, in words."""
        best, sort_key = self.options[0], _option_sort_key(self.goal)
        said = f"{best.name} with scale {format_rounded_up(best.row.scale)}: {_goal_text(best, self.goal)}."
        alike = [one.name for one in self.options[1:] if sort_key(one)[0] == sort_key(best)[0]]
        said += f" Equally good: {', '.join(alike)}." if alike else ""
        if self.next_best is None:
            return said
        measure = self.query.budget.measure
        need = "" if self.as_good is None else f"; it would need {_loss_text(measure, self.as_good)} to match"
        return f"{said} The next best is {self.next_best.name}: {_goal_text(self.next_best, self.goal)}{need}."

    @property
    def caution(self) -> str:
        """Limits of the reason, in words."""
        scores = self.query.unit.map_only_scores(self.query.task.n_candidates)
        kept = " Counts are of the truncated data, not of the whole table." if has_contribution_bound(scores) else ""
        if self.goal != NEAR:
            said = (
                "This is valid for the proxy, which must be public or made up: private scores would be "
                "revealed in part."
            )
            return said + kept
        named = {option.name for option in self.options}
        far = " and ".join(name for name in ("canonical", "joint") if name in named and self.query.task.k > 1)
        stand = (
            f" If the k best scores are far above the rest, {far} may find them with much less noise than the "
            "bound suggests: use a proxy to check."
        )
        return f"These bounds are for the worst scores.{stand if far else ''}{kept}"

    def to_frame(self) -> DataFrame:
        """Return a polars data frame with one row per mechanism, the best first; see :meth:`Comparison.to_frame`.

        If the goal is an event, ``success`` is a lower bound on its probability on the proxy.
        """
        likely = [None if one.success is None else float(one.success.lower) for one in self.options]
        return _plans_frame([one.row for one in self.options], **({} if self.goal == NEAR else {"success": likely}))

    def _repr_html_(self) -> str:
        columns = zip(*(_recommendation_cells(one, self.goal) for one in self.options), strict=True)
        names = ("mechanism", "scale", "within", *([] if self.goal == NEAR else [f"P({self.goal})"]))
        return elements.columns_table(f"Take {self.why} {self.caution}", dict(zip(names, columns, strict=True)))

    def __repr__(self) -> str:
        return f"Take {self.why}\n{self.caution}"


def _evaluate_option(row: TopKPlan, scores: Any, goal: str) -> Option:
    """Return the mechanism with the probability of the goal on the proxy."""
    return Option(row, None if scores is None or goal == NEAR else goal_probability(row.measurement, scores, goal))


def _option_sort_key(goal: str) -> Callable[[Option], tuple[float, float, int]]:
    """Return a sort key for options: the goal, then the bound for all scores, then the order of the catalogue."""

    def sort_key(option: Option) -> tuple[float, float, int]:
        near, place = bound_sort_key(option.row)
        misses = 2.0 if option.success is None else float(f"{_failure_probability(option.success):.{_DIGITS}g}")
        return (near if goal == NEAR else misses), near, place

    return sort_key


def _matching_loss(option: Option, best: Option, scores: Any, goal: str) -> Any:
    """Return the loss of ``option`` at a scale at which it does as well as ``best``; None if no scale is found."""
    query, sort_key = option.row.query, _option_sort_key(goal)

    def plan_at_scale(scale: float) -> TopKPlan:
        return Plan(query, query.task.build_measurement(query.unit, query.budget.measure, scale))

    def reaches_goal(scale: float) -> bool:
        return sort_key(_evaluate_option(plan_at_scale(scale), scores, goal))[0] <= sort_key(best)[0]

    scale = _largest_passing_scale(reaches_goal, option.row.scale)
    return None if scale is None else _plan_loss(plan_at_scale(scale))


def _largest_passing_scale(reaches: Callable[[float], bool], above: float) -> float | None:
    """Return a scale below ``above`` that passes, close to the largest such scale; None if none is found."""
    low = above
    for _ in range(_HALVINGS):
        low, high = low / 2, low
        if reaches(low):
            break
    else:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def _plan_loss(plan: TopKPlan) -> Any:
    """Return the loss of all releases together, in the form of the budget."""
    query, d_out = plan.query, plan.query.budget.d_out
    total = composed_loss(query.budget.measure, plan.measurement.exact_map(query.unit.d_in), query.releases)
    loss = query.budget.measure.distance(total, "loss")
    return (loss.epsilon(d_out[1]), d_out[1]) if isinstance(loss, PrivacyCurve) else loss


def _goal_text(option: Option, goal: str) -> str:
    """Return in words how well an option reaches the goal."""
    if goal != NEAR:
        if option.success is None:
            return f"the probability of {goal} on the proxy is not known"
        return f"{goal} on the proxy, except with probability {format_rounded_up(_failure_probability(option.success))}"
    if option.row.accuracy is None:
        return "no bound: the number of possible releases is too large"
    near, alpha = format_rounded_up(option.row.accuracy), option.row.query.alpha
    return f"no winner is more than {near} below, except with probability {alpha}"


def _loss_text(measure: Measure, loss: Any) -> str:
    if isinstance(loss, tuple):
        return f"epsilon = {format_rounded_up(loss[0])} at delta = {float(loss[1]):g}"
    return f"{measure.symbol} = {format_rounded_up(loss)}"


def _failure_probability(success: Enclosure) -> float:
    """Return an upper bound on the probability of missing the goal; it is the same for all near-certain options."""
    return max(round_up(1 - to_fraction(success.lower)), _CERTAIN)


def _recommendation_cells(option: Option, goal: str) -> list[str]:
    near = "-" if option.row.accuracy is None else format_rounded_up(option.row.accuracy)
    likely = "-" if option.success is None else f"{option.success.lower:.3f}"
    return [option.name, format_rounded_up(option.row.scale), near, *([] if goal == NEAR else [likely])]
