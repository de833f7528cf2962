"""Releases where nobody lists the candidates: what is asked for, planned, and said of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..core.binary_search import binary_search_chain, binary_search_param
from ..core.measurement import Measurement
from ..errors import ParameterError, SearchError, checks
from ..measurements.unknown_domain_top_k import MOST_KEYS, then_unknown_domain_top_k
from ..numerics.arithmetic import exact
from ..spaces.domains import Domain
from ..spaces.measures import Approximate
from ..transformations.keep_items import RULES
from . import guarantees, show
from .options import NEIGHBORS, Target
from .record import Promise, Winners
from .scoring import COUNTING, Scoring

_LIMIT = 10  # times k: enough that the base is a small count, and few enough that the logarithm of it costs little
_FAR = 2.0**60  # a threshold at which delta is no matter, while the scale is searched for


@dataclass(frozen=True)
class Unlisted:
    """The k best of ``limit`` items of the table itself, at what price. Nothing here depends on a table."""

    k: int
    pure: Target
    delta: float
    users: int = 1
    neighbors: str = "add_remove"
    limit: int | None = None
    max_items: int | None = None
    release: str = "ranking"
    scoring: Scoring = COUNTING
    keep: str = "order"

    def __post_init__(self) -> None:
        checks.count("--users", self.users)
        checks.choice("--neighbors", self.neighbors, NEIGHBORS)
        checks.probability(self.delta, "--delta")
        checks.count("k", self.k, at_most=MOST_KEYS, limit="2^22")
        if self.limit is not None and checks.count("--limit", self.limit, at_most=MOST_KEYS, limit="2^22") < self.k:
            raise ParameterError(f"--limit must be at least k ({self.k})")
        if self.max_items is not None:
            checks.count("--max-items", self.max_items)
        checks.choice("--keep", self.keep, RULES)
        if self.keep != "order" and self.max_items is None:
            raise ParameterError("--keep goes with --max-items")
        if self.keep == "value" and self.scoring.column is None:
            raise ParameterError("--keep value goes with --sum")

    @property
    def wanted(self) -> int | None:
        """How many items are asked for; None for all that there are."""
        return self.k

    @property
    def target(self) -> Target:
        """The target with its delta."""
        return Target(Approximate(self.pure.measure), (self.pure.budget, self.delta))

    @property
    def taking_part(self) -> int:
        """How many items of the table take part."""
        return min(_LIMIT * self.k, MOST_KEYS) if self.limit is None else self.limit

    def on(self, domain: Domain, scale: float, threshold: float) -> Measurement:
        """The chain from a table to the items."""
        count = self.scoring.of(domain, self.neighbors, None, self.max_items, self.keep)
        measurement: Measurement = count >> then_unknown_domain_top_k(
            self.target.measure, k=self.k, scale=scale, limit=self.taking_part, threshold=threshold
        )
        return measurement

    def least_threshold(self, domain: Domain, scale: float) -> float:
        """The smallest threshold that meets the target with this scale."""
        return float(binary_search_param(lambda t: self.on(domain, scale, t), self.users, self.target.budget))

    def planned(self, domain: Domain) -> Measurement:
        """The chain with the smallest scale, and then the smallest threshold, that meet the target.

        Raises:
            ParameterError: None meets it.
        """
        whole = self.target.budget[0], 1.0
        try:
            found = binary_search_chain(lambda scale: self.on(domain, scale, _FAR), self.users, whole)
            scale = found.parameters["scale"]
            return self.on(domain, scale, self.least_threshold(domain, scale))
        except SearchError:
            pass
        raise ParameterError(
            f"no finite scale and threshold meet so small a target: raise --{self.pure.measure.symbol} or --delta"
        )


def unlisted(
    k: int | None,
    goal: Target,
    delta: float | None,
    users: int,
    neighbors: str,
    limit: int | None,
    max_items: int | None,
    listed: tuple[str, str | None, bool],
    scored: Scoring = COUNTING,
    keep: str = "order",
) -> Unlisted:
    """What is asked for without candidates; ``listed`` are --release, --mechanism and --counts, which need some.

    Raises:
        ParameterError: An option is missing, out of range, or needs candidates.
    """
    if delta is None:
        raise ParameterError("give --candidates, a public list of the items, or, where nobody can list them, --delta")
    if listed != ("ranking", None, False):
        raise ParameterError("--release set, --mechanism and --counts need a list of candidates: give --candidates")
    if scored.bounds[0] < 0:
        raise ParameterError("--bounds must not be negative without --candidates")
    return Unlisted(given(k), goal, delta, users, neighbors, limit, max_items, scoring=scored, keep=keep)


def given(k: int | None) -> int:
    """How many items are asked for.

    Raises:
        ParameterError: It was not said.
    """
    if k is None:
        raise ParameterError("give --k, the number of items")
    return k


def require_unlisted(limit: int | None, max_items: int | None, *, above: bool = False, keep: str = "order") -> None:
    """Raise where an option is given that is of no use beside a list of candidates."""
    if above or keep != "order":
        raise ParameterError("--above-threshold and --keep are for releases without --candidates: leave them out")
    if (limit, max_items) != (None, None):
        raise ParameterError("--limit and --max-items are for releases without --candidates: leave them out")


def show_plan(asked: Unlisted, alpha: float, more: Iterable[tuple[str, str]] = ()) -> None:
    """Print the plan."""
    measurement = asked.planned(asked.scoring.domain("user", "item"))
    show.rows(
        [
            ("question", f"which {asked.k} items {asked.scoring.ranked}, where nobody lists the items?"),
            ("mechanism", _mechanism(asked)),
            ("scale", f"{measurement.parameters['scale']} (the smallest that meets the target)"),
            ("threshold", f"{measurement.parameters['threshold']} (the smallest that keeps delta)"),
            ("cost", cost(measurement, asked)),
            ("accuracy", _guarantee(measurement, asked, alpha)),
            *more,
            ("proof", show.proofs(measurement)),
        ]
    )


def show_release(winners: Winners, measurement: Measurement, asked: Unlisted, promised: Promise) -> None:
    """Print the release for people."""
    show.table(("rank", "item"), ((str(n), show.item(one)) for n, one in enumerate(winners.items, 1)), right=(0,))
    short = asked.k - len(winners.items)
    end = f"stopped {short} short of {asked.k}: no further item surely had enough" if short else "complete"
    show.say("")
    accuracy = ("accuracy", promised.words)
    show.rows([("end", end), accuracy, ("cost", cost(measurement, asked)), ("proof", show.proofs(measurement))])


def cost(measurement: Measurement, asked: Unlisted) -> str:
    """The privacy loss, with the neighbours to whom it applies."""
    loss, delta = map(show.rounded_up, measurement.map(asked.users))
    return f"{asked.pure.measure.symbol} = {loss} and delta = {delta} {show.neighbours(asked)}"


def _mechanism(asked: Unlisted) -> str:
    return (
        f"unknown_domain_top_k (ranking, best first): independent Gumbel noise on each lead over the "
        f"{guarantees.largest(asked.taking_part + 1)} {_scores(asked)}{own_items(asked)}; items come, best first, "
        "until a stop symbol with the score of the threshold"
    )


def promise(measurement: Measurement, asked: Unlisted, alpha: float = 0.05) -> Promise:
    """The accuracy theorem."""
    near: Any = measurement.accuracy(1, guarantees.sure(alpha)[0])
    within = math.floor(near) if near < math.inf and asked.scoring.column is None else None
    return Promise(_guarantee(measurement, asked, alpha), within, alpha)


def _guarantee(measurement: Measurement, asked: Unlisted, alpha: float) -> str:
    exactly, words = guarantees.sure(alpha)
    near: Any = measurement.accuracy(1, exactly)
    lead = math.floor(exact(measurement.parameters["threshold"]) + exact(near)) if near < math.inf else near
    if lead == math.inf:
        return "none: the scale is near the largest number that the computer holds"
    base = guarantees.largest(asked.taking_part + 1)
    amount, noun = asked.scoring.amount, asked.scoring.noun
    return (
        f"with probability at least {words}, an item gets in if its {noun} is beyond the {base} one by more than "
        f"{amount(lead)}, as far as there is room for {asked.k}; and for every t the t-th released item has a {noun} "
        f"within {amount(math.floor(near))} of the t-th largest {noun}"
    )


def own_items(asked: Unlisted) -> str:
    """Which items of a user count, in words."""
    most = asked.max_items
    which = {
        "order": f"the first {most} in alphabetical order",
        "random": f"{most} items drawn at random",
        "rows": f"the {most} with the most rows",
        "value": f"the {most} with the largest totals",
    }
    return "" if most is None else f", of each user {which[asked.keep]}"


def _scores(asked: Unlisted) -> str:
    return "count of distinct users" if asked.scoring.column is None else f"sum of {asked.scoring.column}"
