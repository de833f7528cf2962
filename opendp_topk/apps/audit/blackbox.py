"""The black-box auditor: what the samples of a function prove about its privacy loss, at least.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from ...errors import ParameterError, checks
from ...spaces.measures import Approximate, MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from .bounds import ORDERS, concentrated, log_ratio
from .cells import Reading, readings, words
from .confidence import MOST_TRIALS, lower_bound, upper_bound
from .draws import Draws
from .events import Choice, choose
from .verdicts import NOT_REFUTED, NOT_TESTED, REFUTED

LEAST_SAMPLES = 100  # fewer prove no loss worth the name at any confidence
_OUTCOMES = 12  # that are told: a picture of two laws needs no more


@dataclass(frozen=True)
class Seen:
    """An event in words, and how many of the ``of`` releases on each of the two inputs fell into it."""

    event: str
    first: int
    second: int
    of: int


@dataclass(frozen=True)
class Estimate:
    """A lower bound on the loss of a function between two inputs.

    With probability at least ``confidence``, the loss is not less than ``lower``. A function that keeps a claim of
    ``c`` gives a ``lower`` above ``c`` with probability at most 1 - ``confidence``. No samples of this number could
    have given more than ``reach``, whatever the function: of a claim that is not below it they say nothing. ``seen``
    are the events by which the two inputs were told apart, with their counts among the samples that were tested, and
    ``outcomes`` the likeliest of these, each as an event. ``timed``: the loss is that of releases with their times.
    """

    measure: Measure
    lower: float
    delta: float
    confidence: float
    samples: int
    distinct_outcomes: int
    reach: float = math.inf
    seen: tuple[Seen, ...] = ()
    outcomes: tuple[Seen, ...] = ()
    timed: bool = False

    def contradicts(self, claimed: Any) -> bool:
        """Whether the bound exceeds ``claimed``, a distance of the measure (its first part under ``Approximate``)."""
        claim = self.measure.distance(claimed, "claimed")
        if isinstance(self.measure, Approximate):
            if claim[1] > self.delta:
                raise ParameterError("the delta of claimed must be at most that of the estimate")
            claim = claim[0]
        return bool(self.lower > claim)

    def verdict(self, claimed: Any) -> str:
        """``"refuted"``, ``"not refuted"``, or ``"not tested"`` where no samples of this number could refute it."""
        if self.contradicts(claimed):
            return REFUTED
        claim = self.measure.distance(claimed, "claimed")
        return NOT_REFUTED if (claim[0] if isinstance(claim, tuple) else claim) < self.reach else NOT_TESTED


def estimate(
    function: Callable[[Any], Any],
    x: Any,
    x_neighbor: Any,
    *,
    samples: int = 100_000,
    measure: Measure = MaxDivergence(),  # noqa: B008  (a frozen value)
    confidence: float = 0.99,
    delta: float = 0.0,
    batched: bool = False,
    workers: int = 1,
    progress: bool = False,
    timed: bool = False,
) -> Estimate:
    """Bound the loss of ``function`` between two neighbouring inputs from below, by sampling.

    The function is a black box: a measurement, or code of another library. Half of the samples serve to choose the
    events by which the two output distributions seem to differ most; the other half gives exact (Clopper-Pearson)
    bounds on the probabilities of these events, and so a bound on the loss that holds with the stated confidence.
    It can prove that a claim is false, never that it is true.

    Args:
        function: Called with ``x`` and with ``x_neighbor``, which it must not change; each call must be independent
            of all others. Releases are arrays, lists, tuples, sets, dictionaries or hashable values. Floats are cut at
            quantiles; bits, types, the order in which the elements of a set or dictionary come, single values of a
            release, and the sum of those that move are read where these show more. An error that some calls raise and
            others do not is an outcome too; errors of this library, and those of batches, come through.
        x: An input.
        x_neighbor: A neighbouring input.
        samples: How many releases are drawn on each of the two inputs, 100 to 4,000,000.
        measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` (by the Renyi
            divergence of one event) or ``Approximate(MaxDivergence())``, for which ``delta`` is given.
        confidence: With at least this probability the bound holds, in (0, 1).
        delta: Under ``Approximate(MaxDivergence())``: the delta for which epsilon is bounded, in [0, 1].
        batched: Whether ``function(x, n)`` returns n independent releases at once, which saves calls.
        workers: How many processes share the calls. They are forked, so more than 1 is for functions whose
            randomness is the operating system's, as that of all measurements here is: copies of a pseudo-random
            generator would repeat each other. That is refused where it shows.
        progress: Whether to show a bar on standard error.
        timed: Whether the time of a call, in nanoseconds, is part of its release, as the last value; under
            ``MaxDivergence()`` and ``Approximate(MaxDivergence())``, call by call in one process. The two inputs take
            turns in an order that fair coins decide, so that a machine that grows slower accuses nobody. The bound
            holds if neither calls nor coins change the state of the machine, and is of the state in which the loss is
            largest: what remembers its inputs from call to call, such as a cache, may be accused wrongly.

    Returns:
        An :class:`Estimate`. Its randomness is that of ``function`` alone.

    Raises:
        ParameterError: An argument is out of range or of the wrong type.

    Runtime:
        That of 2 ``samples`` calls of the function, and some microseconds for each. Of a measurement that can release
        many times at once, as one-shot selections can, batches are drawn.

    References:
        Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
        (1934). Jagielski, Ullman and Oprea, "Auditing Differentially Private Machine Learning" (2020). Hoeffding, "On
        the distribution of the number of successes in independent trials" (1956), for calls that are timed.

    Example:
        >>> import opendp_topk as tk
        >>> found = tk.audit.estimate(lambda votes: max(votes), [1, 2], [1, 3], samples=2000)
        >>> found.contradicts(1.0)
        True
    """
    alpha, shift, half = require_settings(samples, measure, confidence, delta, timed)
    draws = Draws(function, 4 * half, batched=batched, workers=workers, progress=progress, timed=timed)
    chosen_on = draws.sides((x, x_neighbor), half)
    cells = _reading(measure, shift, chosen_on, alpha)
    seen = [Counter(map(cells, outcomes)) for outcomes in chosen_on]
    _, choice = choose(measure, shift, seen[0], seen[1], standard_errors(alpha))
    tested = [Counter(map(cells, outcomes)) for outcomes in draws.sides((x, x_neighbor), half)]
    draws.close()
    return Estimate(
        measure=measure,
        lower=_bound(measure, shift, choice, tested, half, alpha, int(timed)),
        delta=shift,
        confidence=1 - alpha,
        samples=2 * half,
        distinct_outcomes=len(set(seen[0]) | set(seen[1])),
        reach=_reach(measure, shift, half, alpha, int(timed)),
        seen=tuple(_seen(cells, event, tested, half) for event in _events(measure, choice)),
        outcomes=tuple(
            _seen(cells, frozenset([cell]), tested, half) for cell, _ in (tested[0] + tested[1]).most_common(_OUTCOMES)
        ),
        timed=timed,
    )


def _events(measure: Measure, choice: Choice) -> list[frozenset[Hashable]]:
    return [choice.high, choice.low] if isinstance(measure, RangeDivergence) else [choice.high]


def _seen(cells: Reading, event: frozenset[Hashable], tested: list[Counter[Hashable]], half: int) -> Seen:
    met = [cell for cell, _ in (tested[0] + tested[1]).most_common() if cell in event]
    return Seen(words(cells, met or list(event)), _hits(tested[0], event), _hits(tested[1], event), half)


# proof-region: blackbox
def _bound(
    measure: Measure,
    delta: float,
    choice: Choice,
    tested: list[Counter[Hashable]],
    half: int,
    alpha: float,
    spare: int = 0,
) -> float:
    first, second = reversed(tested) if choice.swapped else tested  # [direction]
    parts = 4 if isinstance(measure, RangeDivergence) else 2

    def below(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return lower_bound(max(_hits(counts, event) - spare, 0), half, alpha / parts)  # [union-bound]

    def above(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return upper_bound(min(_hits(counts, event) + spare, half), half, alpha / parts)  # [spare]

    p, q = below(first, choice.high), above(second, choice.high)
    if isinstance(measure, ZeroConcentratedDivergence):
        return concentrated(p, q, choice.order)  # [data-processing]
    if isinstance(measure, RangeDivergence):
        s, t = below(second, choice.low), above(first, choice.low)
        return max(0.0, log_ratio(p, q) + log_ratio(s, t))  # [two-events]
    return max(0.0, log_ratio(math.nextafter(p - delta, -1.0) if delta else p, q))  # [event]


def _hits(counts: Counter[Hashable], event: frozenset[Hashable]) -> int:
    return sum(count for cell, count in counts.items() if cell in event)


def _reach(measure: Measure, delta: float, half: int, alpha: float, spare: int) -> float:
    """The largest bound that any samples give: that of an event which all of one side show and none of the other."""
    always, never = frozenset({True}), frozenset({False})
    sides = [Counter[Hashable]({True: half}), Counter[Hashable]({False: half})]
    orders = ORDERS if isinstance(measure, ZeroConcentratedDivergence) else (0.0,)
    choices = (Choice(False, always, never, order) for order in orders)
    return max(_bound(measure, delta, choice, sides, half, alpha, spare) for choice in choices)  # [reach]


def _reading(measure: Measure, delta: float, outcomes: list[list[Hashable]], alpha: float) -> Reading:
    """Of the readings of outcomes the one for which one part of these samples bounds most, by events of the other."""
    tried = readings(*outcomes)
    middle = len(outcomes[0]) // 2

    def shown(cells: Reading) -> float:
        parts = [[Counter(map(cells, part)) for part in (side[:middle], side[middle:])] for side in outcomes]
        (first, fresh), (second, other) = parts
        _, choice = choose(measure, delta, first, second, standard_errors(alpha))
        return _bound(measure, delta, choice, [fresh, other], len(outcomes[0]) - middle, alpha)

    return max(tried, key=shown) if len(tried) > 1 else tried[0]  # [reading]


# end-proof-region: blackbox


def require_settings(
    samples: Any, measure: Measure, confidence: Any, delta: Any, timed: Any = False
) -> tuple[float, float, int]:
    """What every audit checks: alpha, delta and the size of a half, or an error."""
    if checks.count("samples", samples, at_most=2 * MOST_TRIALS) < LEAST_SAMPLES:
        raise ParameterError(f"samples must be at least {LEAST_SAMPLES}")
    known = MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence(), Approximate(MaxDivergence())
    if measure not in known:
        raise ParameterError(
            "measure must be MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence() or "
            "Approximate(MaxDivergence())"
        )
    if checks.flag("timed", timed) and measure not in (MaxDivergence(), Approximate(MaxDivergence())):
        raise ParameterError("timed is for claims of epsilon and delta: a mean over states keeps them")
    alpha = 1 - float(checks.probability(confidence, "confidence"))
    if not 0 < alpha < 1:
        raise ParameterError("confidence must differ from 0 and from 1 by at least 2^-53")
    shift = float(checks.share(delta, "delta"))
    if shift and not isinstance(measure, Approximate):
        raise ParameterError("delta is for Approximate(MaxDivergence()) only")
    return alpha, shift, int(samples) // 2


def standard_errors(alpha: float) -> float:
    """About as many standard errors as a bound at level alpha / 2 is away; only the choice of events uses it."""
    return math.sqrt(2 * math.log(2 / alpha))
