"""From a privacy target to the measurement that meets it with the least noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from ..core.measurement import Measurement
from ..core.transformation import Transformation
from ..distributions.discrete import largest_noise
from ..distributions.events import Enclosure
from ..errors import CapacityError, NotDeclaredError, ParameterError, SearchError, checks
from ..numerics.arithmetic import exact
from ..planning.answers import Compared, Question
from ..planning.catalogue import RELEASES, Mechanism
from ..planning.least_scale import least_scale
from ..spaces.domains import AtomDomain, VectorDomain
from ..spaces.measures import is_pure
from ..spaces.metrics import LInfDistance
from .mechanisms import chosen, default
from .options import NEIGHBORS, Target
from .public_counts import Counts
from .scoring import COUNTING, Scoring

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What is to be released, and at what price. Nothing here depends on a table."""

    k: int
    n_candidates: int
    target: Target
    users: int = 1
    neighbors: str = "add_remove"
    release: str = "ranking"
    mechanism: str | None = None
    counts: bool = False
    scoring: Scoring = COUNTING

    def __post_init__(self) -> None:
        checks.count("--users", self.users)
        checks.choice("--neighbors", self.neighbors, NEIGHBORS)
        checks.choice("--release", self.release, RELEASES)
        checks.count("the number of candidates", self.n_candidates)
        checks.count("k", self.k, at_most=self.n_candidates, limit="the number of candidates")
        _ = self.row  # refuses what no mechanism can give

    @property
    def wanted(self) -> int:
        """How many items are asked for."""
        return self.k

    @property
    def row(self) -> Mechanism:
        """The mechanism that is asked for, or the default."""
        name = default(self.release, self.counts) if self.mechanism is None else self.mechanism
        return chosen(name, self.k, self.n_candidates, self.release, self.counts)

    def on(self, count: Transformation, scale: float) -> Measurement:
        """The selection with this scale, behind ``count``."""
        measurement: Measurement = count >> self.row.build(
            self.target.measure, self.k, scale, self.release, self.counts
        )
        return measurement

    def planned(self, releases: int = 1) -> Measurement:
        """The measurement with the smallest scale at which so many releases meet the target; it counts no table.

        Raises:
            ParameterError: The release would be the same for every table, or no scale meets the target.
        """
        return self._met(
            lambda count: least_scale(lambda scale: self.on(count, scale), self.users, self.target.budget, releases)
        )

    def answered(self, alpha: Fraction, known: dict[Any, float]) -> Compared:
        """The same as a row of a comparison, with its accuracy for this probability of failure, and what decided.

        ``known`` keeps scales for other mechanisms of the same curves.
        """
        target = self.target
        question = Question(
            target.measure, self.k, self.n_candidates, self.users, target.budget, self.release, alpha=alpha
        )
        return self._met(lambda count: question.answered(self.row, count, known))

    def _met(self, search: Callable[[Transformation], T]) -> T:
        count = self.scoring.nameless(self.neighbors, self.n_candidates)
        if self.on(count, 1.0).check(self.users, 0):
            raise ParameterError(
                "this release would be the same for every table, so it needs no noise and says nothing: "
                "choose k smaller than the number of candidates"
            )
        try:
            return search(count)
        except SearchError:
            pass
        raise ParameterError(f"no finite scale meets so small a target: raise --{self.target.symbol}")

    def shortfall(self, measurement: Measurement, alpha: Fraction) -> float | None:
        """By how many users or steps a winner may fall short with probability at least 1 - alpha: the theorem.

        Counts are integers, so that the bound is rounded down to one. None where counting the releases takes too long.
        """
        bound = self.row.accuracy(measurement, self.k, self.n_candidates, self.release, alpha)
        return bound if bound is None or math.isinf(bound) else math.floor(bound)

    def success(self, measurement: Measurement, counts: Counts) -> Enclosure | None:
        """Bounds on the probability that the exact top-k is released, in any order, if these were the counts.

        None where it is not known.
        """
        scale = measurement.parameters["scale"]
        space = VectorDomain(AtomDomain(int), size=len(counts)), LInfDistance(monotonic=True)
        selection: Measurement = space >> self.row.build(self.target.measure, self.k, scale, self.release, counts=False)
        try:
            return selection.success_probability(counts, "exact")
        except (NotDeclaredError, CapacityError):
            return None

    def deviation(self, measurement: Measurement, alpha: Fraction) -> float:
        """By how many users, or steps, any of the k noisy counts may be off with probability at least 1 - alpha."""
        scale = exact(measurement.parameters["count_scale"])
        return largest_noise(scale, self.k, alpha, gaussian=not is_pure(self.target.measure))
