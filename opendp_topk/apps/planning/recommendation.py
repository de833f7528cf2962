"""Which mechanism to take for a release, why, and what the next best would have cost.

Nothing is released here: the rows are those of a comparison, whose losses proofs/planning/comparison.tex proves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

from ...core.candidates import is_iterable
from ...core.measurement import Measurement
from ...errors import ParameterError, checks
from ...errors.checks import Number
from ...markup import notebook
from ...numerics.arithmetic import exact, round_up
from ...sampling.distributions.events import EVENTS, Enclosure
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.measures import MaxDivergence, Measure, PrivacyProfile
from ...spaces.metrics import L01InfDistance, LInfDistance
from .catalogue import table
from .comparison import compare, six_up
from .plan import Plan, Query, likely
from .top_k import TopK, TopKPlan
from .units import Unit, few_change

NEAR = "near"
_DIGITS = 6  # of a bound or a probability: what agrees in them is equally good
_CERTAIN = 1e-9  # a probability of failure that does not matter, far above the width of an enclosure
_HALVINGS, _STEPS = 40, 12  # of a scale, from which 12 bisections leave one part in 4096


@dataclass(frozen=True)
class Option:
    """A mechanism at the least scale that meets the budget, and how likely it succeeds on the proxy, if known."""

    row: TopKPlan
    success: Enclosure | None

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.row.name


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What :func:`recommend` returns: the mechanism to take, why, and the others, the best first.

    ``measurement`` is ready to release. ``as_good`` is the loss at which the ``next_best`` would reach the same goal, a
    number or an (epsilon, delta), rounded up; None where there is no other or no such scale was found.
    """

    query: Query[TopK, Unit]
    goal: str
    options: tuple[Option, ...]
    next_best: Option | None
    as_good: Any

    def __post_init__(self) -> None:
        checks.instance("query", self.query, Query, "a query, as recommend makes it")
        checks.instance("options", self.options, tuple, "a tuple of one option or more, as recommend makes it")
        if not self.options or not all(isinstance(one, Option) for one in self.options):
            raise ParameterError("options must hold one option or more, as recommend makes them")

    @property
    def name(self) -> str:
        """The mechanism to take."""
        return self.options[0].name

    @property
    def measurement(self) -> Measurement:
        """Its measurement at the least scale that meets the budget."""
        return self.options[0].row.measurement

    @property
    def why(self) -> str:
        """The reason in words."""
        best = self.options[0]
        said = f"{best.name} with scale {six_up(best.row.scale)}: {_reach(best, self.goal)}."
        alike = [one.name for one in self.options[1:] if _key(self.goal)(one)[0] == _key(self.goal)(best)[0]]
        said += f" As good: {', '.join(alike)}." if alike else ""
        if self.next_best is None:
            return said
        measure = self.query.budget.measure
        need = "" if self.as_good is None else f", and would need {_loss(measure, self.as_good)} to do as well"
        return f"{said} Next comes {self.next_best.name}: {_reach(self.next_best, self.goal)}{need}."

    @property
    def caution(self) -> str:
        """What the reason leaves open."""
        kept = " Counts are those of the rows that were kept, not of the whole table." if self._few else ""
        if self.goal != NEAR:
            said = (
                "This holds on the proxy. It must be public or made up: private scores would reveal something of them."
            )
            return said + kept
        named = {option.name for option in self.options}
        far = " and ".join(name for name in ("canonical", "joint") if name in named and self.query.task.k > 1)
        stand = (
            f" Where the k best stand out from the rest, {far} may find them with far less noise than the bound says: "
            "a proxy shows whether that is so."
        )
        return f"These are bounds for the worst scores.{stand if far else ''}{kept}"

    @property
    def _few(self) -> bool:
        return few_change(self.query.unit.nameless(self.query.task.n_candidates))

    def _repr_html_(self) -> str:
        columns = zip(*(_cells(one, self.goal) for one in self.options), strict=True)
        names = ("mechanism", "scale", "within", *([] if self.goal == NEAR else [f"P({self.goal})"]))
        return notebook.grid(f"Take {self.why} {self.caution}", dict(zip(names, columns, strict=True)))

    def __repr__(self) -> str:
        return f"Take {self.why}\n{self.caution}"


def recommend(
    k: int,
    candidates: int | Sized,
    budget: Any,
    proxy: Any = None,
    *,
    goal: str | None = None,
    measure: Measure | None = None,
    release: str = "ranking",
    d_in: int = 1,
    alpha: Number = 0.05,
    max_items: int | None = None,
) -> Recommendation:
    """The mechanism to take for the k best of counts, why, and what the next best would have cost.

    Args:
        k: How many to release.
        candidates: How many candidates there are, or the list of them.
        budget: A number > 0, of epsilon unless ``measure`` says otherwise, or a pair (epsilon, delta).
        proxy: Counts like the private ones that are public, or made up; one for each candidate. Never the private
            counts: the choice of a mechanism would reveal something of them.
        goal: ``"near"``: the smallest bound, for all scores, on how many users a winner falls short. ``"exact"``,
            ``"great"`` or ``"good"``: the likeliest such release on the proxy, as
            :meth:`Measurement.success_probability` defines it. By default ``"exact"`` with a proxy, else ``"near"``.
        measure: That of the budget: ``MaxDivergence()`` for a number and ``PrivacyProfile()`` for a pair if not given.
        release: ``"ranking"``, best first, or ``"set"``.
        d_in: By how many users neighbouring tables differ, who are added or removed.
        alpha: The bounds of ``"near"`` may fail with this probability.
        max_items: How many counts one user moves at most, where a rule keeps so many items of each: noise on all counts
            is then among the mechanisms, and all that is promised is of the counts of what was kept.

    Returns:
        A :class:`Recommendation` with a measurement on vectors of counts. It prints as its reason.

    Raises:
        ParameterError: An argument is out of range, or a goal needs a proxy.
        DataError: The proxy is no vector of integers, one a candidate.

    Runtime:
        That of :func:`compare`; with a proxy some seconds, or minutes for more than 10^5 candidates.

    Example:
        >>> import opendp_topk as tk
        >>> advice = tk.recommend(3, 50, 1.0, proxy=[900, 800, 700] + 47 * [10], release="set")
        >>> advice.measurement.check(1, 1.0)
        True
        >>> len(advice.measurement(list(range(50))))
        3
    """
    number = len(candidates) if isinstance(candidates, Sized) and is_iterable(candidates) else candidates
    chosen = (NEAR if proxy is None else EVENTS[0]) if goal is None else checks.choice("goal", goal, (NEAR, *EVENTS))
    if chosen != NEAR and proxy is None:
        raise ParameterError(f"goal={chosen!r} needs a proxy: counts that are public or made up")
    asked = measure if measure is not None else PrivacyProfile() if isinstance(budget, tuple) else MaxDivergence()
    few = None if max_items is None else L01InfDistance(changes=checks.count("max_items", max_items), monotonic=True)
    metric = LInfDistance(monotonic=True) if few is None else few
    space = VectorDomain(AtomDomain(int), size=checks.count("candidates", number)), metric
    scores = None if proxy is None else space[0].validate(proxy)
    found = compare(*space, asked, k=k, d_in=d_in, d_out=budget, release=release, alpha=alpha)
    options = sorted((_option(row, scores, chosen) for row in found), key=_key(chosen))
    best = _key(chosen)(options[0])[0]
    rest = [one for one in options if _key(chosen)(one)[0] > best and (chosen == NEAR or one.success is not None)]
    other = rest[0] if rest else None
    needed = None if other is None else _as_good(other, options[0], scores, chosen)
    return Recommendation(found.query, chosen, tuple(options), other, needed)


def _option(row: TopKPlan, scores: Any, goal: str) -> Option:
    """The mechanism with how likely the goal is on the proxy."""
    return Option(row, None if scores is None or goal == NEAR else likely(row.measurement, scores, goal))


def _key(goal: str) -> Callable[[Option], tuple[float, float, int]]:
    """What sorts options: the goal first, then the bound for all scores, then the order of the catalogue."""

    order = [row.name for row in table()]  # of equal ones the first is the plainest

    def key(option: Option) -> tuple[float, float, int]:
        near = math.inf if option.row.accuracy is None else float(f"{option.row.accuracy:.{_DIGITS}g}")
        misses = 2.0 if option.success is None else float(f"{_misses(option.success):.{_DIGITS}g}")
        return (near if goal == NEAR else misses), near, order.index(option.name)

    return key


def _as_good(option: Option, best: Option, scores: Any, goal: str) -> Any:
    """The loss of ``option`` at a scale at which it reaches the goal as well as ``best``; None if there is none."""
    query = option.row.query

    def at(scale: float) -> TopKPlan:
        return Plan(query, query.task.built(query.unit.nameless(query.task.n_candidates), query.budget.measure, scale))

    def reaches(scale: float) -> bool:
        return _key(goal)(_option(at(scale), scores, goal))[0] <= _key(goal)(best)[0]

    scale = _largest(reaches, option.row.scale)
    return None if scale is None else _paid(at(scale))


def _largest(reaches: Callable[[float], bool], above: float) -> float | None:
    """A scale below ``above`` that passes, close to the largest one; None if none is found."""
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


def _paid(plan: TopKPlan) -> Any:
    loss, d_out = plan.measurement.map(plan.query.unit.d_in), plan.query.budget.d_out
    return (loss.epsilon(d_out[1]), d_out[1]) if isinstance(loss, PrivacyCurve) else loss


def _reach(option: Option, goal: str) -> str:
    """How far an option reaches the goal, in words."""
    if goal != NEAR:
        if option.success is None:
            return f"how likely it is {goal} on the proxy is not known"
        return f"{goal} on the proxy but for a probability of {six_up(_misses(option.success))}"
    if option.row.accuracy is None:
        return "the number of possible releases is too large for its bound"
    near, alpha = six_up(option.row.accuracy), option.row.query.alpha
    return f"no winner falls short by more than {near}, but for a probability of {alpha}"


def _loss(measure: Measure, loss: Any) -> str:
    if isinstance(loss, tuple):
        return f"epsilon = {six_up(loss[0])} at delta = {float(loss[1]):g}"
    return f"{measure.symbol} = {six_up(loss)}"


def _misses(success: Enclosure) -> float:
    """The probability, at most, that the goal is missed; of what is as good as certain, one and the same."""
    return max(round_up(1 - exact(success.lower)), _CERTAIN)


def _cells(option: Option, goal: str) -> list[str]:
    near = "-" if option.row.accuracy is None else six_up(option.row.accuracy)
    likely = "-" if option.success is None else f"{option.success.lower:.3f}"
    return [option.name, six_up(option.row.scale), near, *([] if goal == NEAR else [likely])]
