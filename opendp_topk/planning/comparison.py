"""The mechanisms that can give one release, side by side, each at the least scale that meets a budget.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from ..core.spaces import require_space
from ..errors import DistanceError, ParameterError, ParameterTypeError, SearchError, checks
from ..errors.checks import Number
from ..measurements._selection import SELECTABLE
from ..spaces.costs import require_measure
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import ScoreMetric
from .answers import Compared, Question, Space
from .catalogue import RELEASES, able
from .deciding import WORDS
from .plotted import Plotted

_SIX_UP = Context(prec=6, rounding=ROUND_CEILING)  # as many digits as a table has room for


@dataclass(frozen=True, repr=False)
class Comparison(Plotted):
    """Mechanisms side by side, the smallest bound on the error first; what :func:`compare` returns.

    Iterate over it, or take a row by its name: each has ``name``, ``measurement``, ``scale``, ``loss``, ``accuracy``,
    ``bound`` and ``curve``. It prints as a table, and draws plots (extra ``plot``).
    """

    question: Question
    rows: tuple[Compared, ...]

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Compared:
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ParameterError(f"no such row: the comparison has {', '.join(found)}")
        return found[name]

    def __repr__(self) -> str:
        asked = self.question
        head = (
            f"Comparison of {asked.release}s: k = {asked.k} of {asked.n_candidates}, {_times(asked.releases)} at "
            f"d_in = {asked.d_in} within {asked.d_out} under {asked.measure!r}, alpha = {asked.alpha}"
        )
        lines = [("mechanism", "scale", asked.measure.symbol, "accuracy", "decided by"), *map(_cells, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        aligned = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        worst = (
            "accuracy: a bound for the worst scores; where the k best stand out, canonical and joint may be best by far"
        )
        used = {row.bound for row in self.rows}
        legend = [worst, *(f"{word}: {meaning}" for word, meaning in WORDS.items() if word in used)]
        return "\n".join(line.rstrip() for line in (head, "", *aligned, "", *legend))


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
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
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
        A second, or for (epsilon, delta) and many steps in all, that is k times ``releases``, up to a minute.

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
    question = Question(
        measure=output_measure,
        k=checks.count("k", k, at_most=count, limit="the number of candidates"),
        n_candidates=count,
        d_in=input_metric.distance(d_in, "d_in"),
        d_out=_budget(output_measure, d_out),
        release=checks.choice("release", release, RELEASES),
        alpha=checks.probability(alpha, "alpha"),
        releases=checks.count("releases", releases),
    )
    rows = list(_answers(question, (input_domain, input_metric)))
    if not rows:
        raise ParameterError("the release is the same for all neighbours, or no scale meets d_out: raise d_in or d_out")
    return Comparison(question, tuple(sorted(rows, key=_first)))


def _answers(question: Question, space: Space) -> Iterable[Compared]:
    known: dict[Any, float] = {}
    for mechanism in able(question.k, question.n_candidates, question.release):
        try:
            yield question.answered(mechanism, space, known)
        except (SearchError, ParameterTypeError):
            continue  # what takes another measure, or costs nothing at any scale, has no least one


def _first(row: Compared) -> tuple[float, str]:
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


def _cells(row: Compared) -> tuple[str, ...]:
    loss: Sequence[float] = row.loss if isinstance(row.loss, tuple) else (row.loss,)
    shown = ", ".join(map(six_up, loss))
    near = "-" if row.accuracy is None else six_up(row.accuracy)
    return row.name, six_up(row.scale), f"({shown})" if len(loss) > 1 else shown, near, row.bound


def six_up(number: float) -> str:
    """Six digits, rounded up."""
    return f"{float(_SIX_UP.create_decimal(Decimal(repr(float(number))))):.6g}"


def _times(releases: int) -> str:
    return "once" if releases == 1 else f"{releases} times"
