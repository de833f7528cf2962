"""The black-box auditor: what the samples of a function prove about its privacy loss, at least.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import _check
from ..errors import ParameterError
from ..measures import Approximate, MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from ..rendering import as_outcome
from .bounds import concentrated, log_ratio
from .confidence import lower_bound, upper_bound
from .events import Cells, Choice, choose

_LEAST = 100


@dataclass(frozen=True)
class Estimate:
    """A lower bound on the loss of a function between two inputs.

    With probability at least ``confidence``, the loss is not less than ``lower``. A function that keeps a claim of
    ``c`` gives a ``lower`` above ``c`` with probability at most 1 - ``confidence``.
    """

    measure: Measure
    lower: float
    delta: float
    confidence: float
    samples: int
    distinct_outcomes: int

    def contradicts(self, claimed: Any) -> bool:
        """Whether the bound exceeds ``claimed``, a distance of the measure (its first part under ``Approximate``)."""
        claim = self.measure.distance(claimed, "claimed")
        if isinstance(self.measure, Approximate):
            if claim[1] > self.delta:
                raise ParameterError("the delta of claimed must be at most that of the estimate")
            claim = claim[0]
        return bool(self.lower > claim)


def estimate(
    function: Callable[[Any], Any],
    x: Any,
    x_neighbor: Any,
    *,
    samples: int = 100_000,
    measure: Measure = MaxDivergence(),  # noqa: B008  (a frozen value)
    confidence: float = 0.99,
    delta: float = 0.0,
    progress: bool = False,
) -> Estimate:
    """Bound the loss of ``function`` between two neighbouring inputs from below, by sampling.

    The function is a black box: a measurement, or code of another library. Half of the samples serve to choose the
    events by which the two output distributions seem to differ most; the other half gives exact (Clopper-Pearson)
    bounds on the probabilities of these events, and so a bound on the loss that holds with the stated confidence.
    It can prove that a claim is false, never that it is true.

    Args:
        function: Called with ``x`` and with ``x_neighbor``; each call must be independent of all others.
            Releases are arrays, lists, tuples or hashable values; floats are cut at quantiles.
        x: An input.
        x_neighbor: A neighbouring input.
        samples: How often the function is called on each of the two inputs, >= 100.
        measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` (by the Renyi
            divergence of one event) or ``Approximate(MaxDivergence())``, for which ``delta`` is given.
        confidence: With at least this probability the bound holds, in (0, 1).
        delta: Under ``Approximate(MaxDivergence())``: the delta for which epsilon is bounded, in [0, 1].
        progress: Whether to show a bar on standard error.

    Returns:
        An :class:`Estimate`. Its randomness is that of ``function`` alone.

    Raises:
        ParameterError: An argument is out of range or of the wrong type.

    Runtime:
        2 ``samples`` calls of the function.

    References:
        Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
        (1934). Jagielski, Ullman and Oprea, "Auditing Differentially Private Machine Learning" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> found = tk.audit.estimate(lambda votes: max(votes), [1, 2], [1, 3], samples=2000)
        >>> found.contradicts(1.0)
        True
    """
    _check.function("function", function)
    if _check.count("samples", samples) < _LEAST:
        raise ParameterError(f"samples must be at least {_LEAST}")
    require_audited(measure)
    alpha = 1 - float(_check.probability(confidence, "confidence"))
    shift = float(_check.share(delta, "delta"))
    if shift and not isinstance(measure, Approximate):
        raise ParameterError("delta is for Approximate(MaxDivergence()) only")
    bar = Bar(4 * (samples // 2), progress)
    half = samples // 2
    chosen_on = [_draw(function, value, half, bar) for value in (x, x_neighbor)]
    cells = Cells([*chosen_on[0], *chosen_on[1]])
    seen = [Counter(map(cells, outcomes)) for outcomes in chosen_on]
    choice = choose(measure, shift, seen[0], seen[1], _standard_errors(alpha))
    tested = [Counter(map(cells, _draw(function, value, half, bar))) for value in (x, x_neighbor)]
    bar.close()
    return Estimate(
        measure=measure,
        lower=_bound(measure, shift, choice, tested, half, alpha),
        delta=shift,
        confidence=1 - alpha,
        samples=2 * half,
        distinct_outcomes=len(set(seen[0]) | set(seen[1])),
    )


# proof-region: blackbox
def _bound(
    measure: Measure, delta: float, choice: Choice, tested: list[Counter[Hashable]], half: int, alpha: float
) -> float:
    first, second = reversed(tested) if choice.swapped else tested  # [direction]
    parts = 4 if isinstance(measure, RangeDivergence) else 2

    def below(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return lower_bound(_hits(counts, event), half, alpha / parts)  # [union-bound]

    def above(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return upper_bound(_hits(counts, event), half, alpha / parts)

    p, q = below(first, choice.high), above(second, choice.high)
    if isinstance(measure, ZeroConcentratedDivergence):
        return concentrated(p, q, choice.order)  # [data-processing]
    if isinstance(measure, RangeDivergence):
        s, t = below(second, choice.low), above(first, choice.low)
        return max(0.0, log_ratio(p, q) + log_ratio(s, t))  # [two-events]
    return max(0.0, log_ratio(math.nextafter(p - delta, -1.0) if delta else p, q))  # [event]


def _hits(counts: Counter[Hashable], event: frozenset[Hashable]) -> int:
    return sum(count for cell, count in counts.items() if cell in event)


# end-proof-region: blackbox


def require_audited(measure: Measure) -> None:
    """Raise unless ``measure`` is one that samples can bound."""
    known = MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence(), Approximate(MaxDivergence())
    if measure not in known:
        raise ParameterError(
            "measure must be MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence() or "
            "Approximate(MaxDivergence())"
        )


def _draw(function: Callable[[Any], Any], value: Any, count: int, bar: Bar) -> list[Hashable]:
    return [as_outcome(function(value)) for _ in bar.steps(count)]


def _standard_errors(alpha: float) -> float:
    """About as many standard errors as a bound at level alpha / 2 is away; only the choice of events uses it."""
    return math.sqrt(2 * math.log(2 / alpha))


class Bar:
    """A bar of progress on standard error, drawn at most a hundred times."""

    def __init__(self, total: int, shown: bool) -> None:
        self._total, self._done, self._shown = total, 0, shown
        self._stride = max(1, total // 100)

    def steps(self, count: int) -> Iterator[None]:
        """Count ``count`` steps while the caller takes them."""
        for _ in range(count):
            yield
            self._done += 1
            if self._shown and self._done % self._stride == 0:
                share = self._done / self._total
                sys.stderr.write(f"\raudit [{'#' * round(30 * share):<30}] {share:4.0%}")
                sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._shown:
            sys.stderr.write("\n")
