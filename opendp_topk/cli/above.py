"""``--above-threshold``: all items whose noisy counts reach a threshold, with these counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from ..core.binary_search import binary_search_param
from ..core.measurement import Measurement
from ..distributions.discrete import largest_noise
from ..errors import ParameterError
from ..measurements.stable_histogram import then_stable_histogram
from ..numerics.arithmetic import exact
from ..spaces.domains import Domain
from . import guarantees, show
from .options import Target
from .record import Promise, Winners
from .scoring import Scoring
from .unlisted import Unlisted, cost, own_items, unlisted

_LEAST = 2  # one user alone must not reach it without noise

AboveOption = Annotated[
    bool,
    typer.Option(
        "--above-threshold",
        help="Where no candidates are given: release every item with enough users, with a noisy count, instead of the "
        "k best. Give --max-items, and leave --k out.",
    ),
]


@dataclass(frozen=True)
class Above(Unlisted):
    """All items of the table with enough users; of each user ``max_items`` items count."""

    @property
    def wanted(self) -> None:
        """All items with enough users."""
        return None

    def on(self, domain: Domain, scale: float, threshold: float) -> Measurement:
        """The chain from a table to the items and their counts."""
        count = self.scoring.of(domain, self.neighbors, None, self.max_items, self.keep)
        measurement: Measurement = count >> then_stable_histogram(
            self.target.measure, scale=scale, threshold=int(threshold)
        )
        return measurement

    def least_threshold(self, domain: Domain, scale: float) -> float:
        """The smallest threshold that meets the target with this scale, a whole number."""
        if self.on(domain, scale, _LEAST).check(self.users, self.target.budget):
            return _LEAST
        return int(binary_search_param(lambda t: self.on(domain, scale, t), self.users, self.target.budget, T=int))


def discovered(
    above: bool,
    k: int | None,
    goal: Target,
    delta: float | None,
    users: int,
    neighbors: str,
    limit: int | None,
    max_items: int | None,
    listed: tuple[str, str | None, bool],
    scored: Scoring,
    keep: str,
) -> Unlisted:
    """What is asked for without candidates.

    Raises:
        ParameterError: An option is missing, out of range, or does not go with the others.
    """
    if not above:
        return unlisted(k, goal, delta, users, neighbors, limit, max_items, listed, scored, keep)
    if (k, limit) != (None, None):
        raise ParameterError("--above-threshold releases all items with enough users: leave --k and --limit out")
    if max_items is None:
        raise ParameterError("--above-threshold needs --max-items: how many items of one user count")
    top = unlisted(1, goal, delta, users, neighbors, None, max_items, listed, scored, keep)
    return Above(**{field.name: getattr(top, field.name) for field in fields(top)})


def show_plan(asked: Unlisted, alpha: float, more: Iterable[tuple[str, str]] = ()) -> None:
    """Print the plan."""
    measurement = asked.planned(asked.scoring.domain("user", "item"))
    parameters, noun = measurement.parameters, asked.scoring.noun
    rows: list[tuple[str, Any]] = [
        ("question", f"which items have a {noun} above a threshold, where nobody lists the items?"),
        ("mechanism", f"stable_histogram: discrete Laplace noise on each {noun}{own_items(asked)}"),
        ("scale", f"{parameters['scale']} (the smallest that meets the target)"),
        ("threshold", f"{parameters['threshold']} (the smallest that keeps delta)"),
        ("cost", cost(measurement, asked)),
        ("accuracy", promise(measurement, asked, alpha).words),
        *more,
        ("proof", show.proofs(measurement)),
    ]
    show.rows(rows)


def promise(measurement: Measurement, asked: Unlisted, alpha: float = 0.05) -> Promise:
    """Which items surely get in."""
    exactly, words = guarantees.sure(alpha)
    scale, threshold = measurement.parameters["scale"], measurement.parameters["threshold"]
    sure = threshold + largest_noise(exact(scale), 1, exactly, gaussian=False)
    gets_in = f"an item gets in if its {asked.scoring.noun} is at least {asked.scoring.amount(sure)}"
    within = None if sure == math.inf or asked.scoring.column is not None else int(sure)
    return Promise(f"with probability at least {words}, {gets_in}", within, alpha)


def show_release(winners: Winners, measurement: Measurement, asked: Above, promised: Promise) -> None:
    """Print the release for people."""
    written = asked.scoring.written
    lines = zip(map(written, winners.counts or ()), map(show.item, winners.items), strict=True)
    show.table((f"noisy {asked.scoring.noun}", "item"), lines, right=(0,))
    show.say("")
    accuracy = ("accuracy", promised.words)
    show.rows([accuracy, ("cost", cost(measurement, asked)), ("proof", show.proofs(measurement))])
