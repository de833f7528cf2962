"""The best of listed candidates where the data choose how many: those above a large gap.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.candidates import index_candidates
from ...core.measurement import Measurement
from ...errors import checks
from ...measurements.top_k_by_gap import then_top_k_by_gap
from ...numerics.arithmetic import exact, round_up
from ...sampling.distributions.one_shot_accuracy import accuracy
from ...sampling.noises.exponential import Exponential
from ...sampling.noises.gumbel import Gumbel
from ...sampling.noises.noise import Noise
from ...sampling.noises.standard import named
from ...spaces.measures import is_pure, without_delta
from .plan import NO_BOUND, Plan, Promise, Query, finite, sure
from .units import Columns, Users
from .unknown_domain import Unlisted


@dataclass(frozen=True)
class SetByGap(Unlisted):
    """The exact set of the best of ``n_candidates``, at most ``k``, that a large gap sets apart; or none.

    ``noise`` is one that is asked for, and ``test_scale`` the scale of the test where it is none of half
    that of the choice.
    """

    k: int
    n_candidates: int
    noise: Noise | None = None
    test_scale: float | None = None

    name: ClassVar[str] = "top_k_by_gap"
    release: ClassVar[str] = "set"

    def __post_init__(self) -> None:
        checks.count("the number of candidates", self.n_candidates)
        checks.count("k", self.k, at_most=self.n_candidates - 1, limit="the number of candidates less 1")

    def built(self, query: Query[Any, Users], scale: float, threshold: float, items: Any = None) -> Measurement:
        """The chain from a table to the set, of indices or of ``items``."""
        unit, measure = query.unit, query.budget.measure
        scores: Any = unit.nameless(self.n_candidates) if items is None else unit.scores(items)
        usual = Exponential() if is_pure(without_delta(measure)) else Gumbel()  # each costs less of the two there
        measurement: Measurement = scores >> then_top_k_by_gap(
            measure,
            k=self.k,
            scale=scale,
            test_scale=self.test_scale,
            threshold=threshold,
            noise=self.noise or usual,
        )
        return measurement if items is None else measurement >> index_candidates(items)

    def on(self, plan: Plan[Any, Users], items: Any) -> Measurement:
        """The chain for the candidates ``items``."""
        known = plan.measurement.parameters
        return self.built(plan.query, known["scale"], known["threshold"], items)

    # proof-region: surely_passes
    def accuracy(self, plan: Plan[Any, Users]) -> float:
        """The gap with which a set is surely released."""
        known = plan.measurement.parameters
        noise, failing, test = named(known["noise"]), exact(plan.query.alpha) / 2, exact(known["test_scale"])
        beside = self.near(plan), accuracy(noise, 1, 1, test, failing)  # [both]
        return round_up(exact(known["threshold"]) + sum(map(exact, beside))) if max(beside) < math.inf else math.inf

    def near(self, plan: Plan[Any, Users]) -> float:
        """How far its gap may be below the largest."""
        known = plan.measurement.parameters
        noise, failing = named(known["noise"]), exact(plan.query.alpha) / 2
        return accuracy(noise, self.k, 1, exact(known["scale"]), failing) if self.k > 1 else 0.0  # [near]

    # end-proof-region: surely_passes

    def question(self, columns: Columns) -> str:
        """What is asked."""
        return f"which of {self.n_candidates} candidates, at most {self.k}, stand apart by their {columns.noun}s?"

    def words(self, plan: Plan[Any, Users]) -> str:
        """The mechanism in words."""
        known, noun = plan.measurement.parameters, plan.query.unit.columns.noun
        noise = named(known["noise"]).words
        return (
            f"{self.name} (set, without order): of the first {self.k} gaps between consecutive {noun}s, from the "
            f"largest on, the one that is largest with independent {noise} noise on each; if it passes a threshold, "
            f"both with noise of scale {known['test_scale']}, all candidates above it, exactly, and otherwise none"
        )

    def promises(self, plan: Plan[Any, Users]) -> Mapping[str, Promise]:
        """The gap with which a set surely comes, and how large the gap below it is."""
        columns, alpha, least = plan.query.unit.columns, plan.query.alpha, plan.accuracy
        assert least is not None
        if least == math.inf:
            return {"accuracy": Promise(NO_BOUND, None, float(alpha))}
        whole, near = math.ceil(least), math.floor(self.near(plan))
        nearly = f"within {columns.amount(near)} of the largest" if near else "the largest"
        words = (
            f"what is released are exactly the best candidates by their {columns.noun}s, however many; with "
            f"probability at least {sure(alpha)}, a set comes if one of the first {self.k} gaps between consecutive "
            f"{columns.noun}s is at least {columns.amount(whole)}, and the gap below it is {nearly} of these"
        )
        return {"accuracy": Promise(words, finite(whole) if columns.value is None else None, float(alpha))}
