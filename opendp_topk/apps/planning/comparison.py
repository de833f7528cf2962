"""The mechanisms that can give one release, side by side, each at the least scale that meets a budget.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from ...core.spaces import require_space
from ...errors import DistanceError, ParameterError, ParameterTypeError, SearchError, checks
from ...errors.checks import Number
from ...measurements._selection import SELECTABLE
from ...sampling.distributions.events import EVENTS
from ...spaces.costs import require_measure
from ...spaces.domains import VectorDomain
from ...spaces.measures import Measure, PrivacyProfile
from ...spaces.metrics import ScoreMetric
from . import plots
from .catalogue import RELEASES, able, default
from .deciding import WORDS
from .plan import Query, planned
from .top_k import TopK, TopKPlan
from .units import Budget, Scores, Unit, few_change

_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)  # as many digits as a table has room for


@dataclass(frozen=True, repr=False)
class Comparison:
    """Mechanisms side by side, the smallest bound on the error first; what :func:`compare` returns.

    Iterate over it, or take a row by its name: each has ``name``, ``measurement``, ``scale``, ``loss``, ``accuracy``,
    ``bound`` and ``curve``. It prints as a table, and draws plots (extra ``plot``).
    """

    query: Query[TopK, Unit]
    rows: tuple[TopKPlan, ...]

    def __post_init__(self) -> None:
        checks.instance("query", self.query, Query, "a query, as compare makes it")
        checks.instance("rows", self.rows, tuple, "a tuple of plans, as compare makes it")

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> TopKPlan:
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ParameterError(f"no such row: the comparison has {', '.join(found)}")
        return found[name]

    def __repr__(self) -> str:
        query, task, budget = self.query, self.query.task, self.query.budget
        head = (
            f"Comparison of {task.release}s: k = {task.k} of {task.n_candidates}, {_times(query.releases)} at "
            f"d_in = {query.unit.d_in} within {budget.d_out} under {budget.measure!r}, alpha = {query.alpha}"
        )
        lines = [("mechanism", "scale", budget.measure.symbol, "accuracy", "decided by"), *map(_cells, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        aligned = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        named = {row.name for row in self.rows}
        far = " and ".join(name for name in ("canonical", "joint") if name in named and task.k > 1)
        stand = f"; where the k best stand out, {far} may be best by far" if far else ""
        worst = f"accuracy: a bound for the worst scores{stand}"
        used = {row.bound for row in self.rows}
        legend = [worst, *(f"{word}: {meaning}" for word, meaning in WORDS.items() if word in used)]
        return "\n".join(line.rstrip() for line in (head, "", *aligned, "", *legend))

    def plot_curves(self, *, axes: Any = None) -> Any:
        """Draw delta against epsilon for all releases together, a line a mechanism.

        Args:
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
        """
        return plots.curves(self.rows, self.query, plots.new_axes() if axes is None else axes)

    def plot_releases(
        self, counts: Iterable[int] = plots.COUNTS, *, delta: Number | None = None, axes: Any = None
    ) -> Any:
        """Draw epsilon at one delta against the number of releases, a line a mechanism, at the scale of its row.

        Args:
            counts: The numbers of releases, ascending.
            delta: By default that of the budget, or 1e-6 where it has none.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: A count is not an integer >= 1, or ``delta`` is not in (0, 1).
        """
        asked = [checks.count("counts", count) for count in counts]
        at = checks.probability(delta if delta is not None else self.query.budget.delta or plots.DELTA, "delta")
        return plots.releases(self.rows, self.query, asked, at, plots.new_axes() if axes is None else axes)

    def plot(self, figure: Any = None) -> Any:
        """Draw both plots side by side; ``figure.savefig("comparison.svg")`` (or .png) writes them.

        Args:
            figure: The matplotlib figure to draw on; by default a new one.

        Returns:
            The figure.

        Raises:
            MissingExtraError: No figure is given and matplotlib is not installed (extra ``plot``).
        """
        drawn = plots.new_figure() if figure is None else figure
        left, right = plots.panels(drawn)
        self.plot_curves(axes=left)
        self.plot_releases(axes=right)
        return drawn

    def plot_accuracy(self, budgets: Iterable[Number] | None = None, *, axes: Any = None) -> Any:
        """Draw the bound of the accuracy theorem against the budget, a line a mechanism.

        Args:
            budgets: Where to compare, ascending, in the measure of the budget (epsilon where it is a pair); by default
                seven from an eighth to eight times the budget.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: A budget is not a number > 0.
        """
        drawn = plots.new_axes() if axes is None else axes
        return plots.accuracy(self.rows, self.query, plots.budgets_asked(budgets, self.query), drawn)

    def plot_success(
        self, scores: Any, event: str = "exact", budgets: Iterable[Number] | None = None, *, axes: Any = None
    ) -> Any:
        """Draw how likely a release succeeds on ``scores`` against the budget, a line a mechanism.

        Mechanisms whose probability is not known, or takes too long, are left out. The plot is as private as
        ``scores``.

        Args:
            scores: A member of the input domain, public or made up.
            event: ``"exact"``, ``"great"`` or ``"good"``, as ``Measurement.success_probability`` defines it.
            budgets: As for :meth:`plot_accuracy`.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: There is no such event, or a budget is not a number > 0.
            DataError: ``scores`` is not a member of the input domain.
        """
        wanted = checks.choice("event", event, EVENTS)
        drawn = plots.new_axes() if axes is None else axes
        return plots.success(self.rows, self.query, plots.budgets_asked(budgets, self.query), (scores, wanted), drawn)


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
    """Every mechanism that can release the k best of scores, each at the least scale that meets a budget.

    Args:
        input_domain: Vectors of d scores, one a candidate, integers or floats.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores; or
            ``L01InfDistance(changes=m)`` where one person moves at most m scores, which noise on all of them uses, too.
        output_measure: That of the budget: ``MaxDivergence()``, ``RangeDivergence()``,
            ``ZeroConcentratedDivergence()`` or ``PrivacyProfile()``.
        k: How many to release.
        d_in: The distance of neighbouring inputs, in units of the scores.
        d_out: The budget, for all releases together: a finite number > 0, or under ``PrivacyProfile()`` a pair
            (epsilon, delta).
        n_candidates: How many candidates there are, for the accuracy theorems, where the domain has no size.
        release: ``"ranking"``, best first, or ``"set"``.
        alpha: The accuracy theorems may fail with this probability.
        releases: How many releases are to be made of the same scores, all fixed in advance.

    Returns:
        A :class:`Comparison`: for every mechanism its measurement at the least scale, the loss of all releases, the
        accuracy of one, and which bound decided. It prints as a table and draws two plots.

    Privacy:
        Nothing is released and no data is read. The loss is that of independent releases, fixed in advance: sums of
        the map, or the convolution of its curves, rounded up. The next smaller scale would not meet the budget; under
        ``PrivacyProfile()``, where a curve takes a grid, a scale smaller by a thousandth would not.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, the number of candidates is not known, or
            the release is the same for all scores.
        SpaceError: The metric does not fit the domain.
        DistanceError: ``d_in`` or ``d_out`` is no distance, or no budget that a scale can meet.

    Runtime:
        A second or two; for (epsilon, delta) and thousands of steps in all, that is k times ``releases``, some seconds.

    Proof: proofs/planning/comparison.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=900), tk.LInfDistance(monotonic=True)
        >>> found = tk.compare(*space, tk.ZeroConcentratedDivergence(), k=1, d_out=0.02)
        >>> found["permute_and_flip"].bound
        'range'
        >>> found["permute_and_flip"].loss <= 0.02
        True
    """
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")
    require_measure(output_measure, *SELECTABLE)
    size = input_domain.size if n_candidates is None or input_domain.size is not None else n_candidates
    if size is None:
        raise ParameterError("n_candidates must be given, or the size of input_domain")
    count = checks.count("n_candidates", size)
    most = checks.count("k", k, at_most=count, limit="the number of candidates")
    unit = Scores((input_domain, input_metric), input_metric.distance(d_in, "d_in"))
    budget = Budget(output_measure, _budget(output_measure, d_out))
    kind = checks.choice("release", release, RELEASES)
    likely = checks.probability(alpha, "alpha")
    task = TopK(most, count, kind, default(kind))
    query = Query(task, unit, budget, checks.count("releases", releases), likely)
    rows = list(answers(query))
    if not rows:
        raise ParameterError("the release is the same for all neighbours, or no scale meets d_out: raise d_in or d_out")
    return Comparison(query, tuple(sorted(rows, key=_first)))


def answers(query: Query[TopK, Unit], far: Callable[[str], None] = lambda _: None) -> Iterator[TopKPlan]:
    """The plan of every mechanism that can give the release; ``far`` is told how far it is."""
    known: dict[Any, float] = {}
    task = query.task
    few = few_change(query.unit.nameless(task.n_candidates))
    asked = able(task.k, task.n_candidates, task.release, few=few)
    for place, mechanism in enumerate(asked, 1):
        far(f"{place} of {len(asked)}, {mechanism.name}")
        try:
            found = planned(replace(query, task=replace(task, mechanism=mechanism, alternatives=())), known)
            _ = found.curve  # a comparison shows what has one
        except (SearchError, ParameterTypeError):
            continue  # what takes another measure, or costs nothing at any scale, has no least one
        yield found


def _first(row: TopKPlan) -> tuple[float, str]:
    return (math.inf if row.accuracy is None else row.accuracy), row.name


def _budget(measure: Measure, d_out: Any) -> Any:
    """``d_out``, if a scale can meet it: a finite number > 0, with a delta below 1 under ``PrivacyProfile()``."""
    if measure == PrivacyProfile():
        d_out = (d_out, 0) if checks.is_real(d_out) else d_out
        if not isinstance(d_out, tuple) or len(d_out) != 2:
            raise DistanceError("d_out must be a pair (epsilon, delta)")
    measure.distance(d_out, "d_out")
    main, delta = d_out if isinstance(d_out, tuple) else (d_out, 0)
    if not 0 < main < math.inf or not delta < 1:
        raise DistanceError("d_out must be finite and > 0, and its delta below 1")
    return d_out


def _cells(row: TopKPlan) -> tuple[str, ...]:
    loss: Sequence[float] = row.loss if isinstance(row.loss, tuple) else (row.loss,)
    shown = ", ".join(map(six_up, loss))
    near = "-" if row.accuracy is None else six_up(row.accuracy)
    return row.name, six_up(row.scale), f"({shown})" if len(loss) > 1 else shown, near, row.bound


def six_up(number: float) -> str:
    """Six digits, rounded up."""
    return f"{float(_SIX_UP.create_decimal(Decimal(repr(float(number))))):.6g}"


def _times(releases: int) -> str:
    return "once" if releases == 1 else f"{releases} times"
