"""One mechanism at the least scale that meets a budget: a row of a comparison.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.measurement import Measurement
from ..core.transformation import Transformation
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure
from ..spaces.metrics import ScoreMetric
from .catalogue import Mechanism
from .deciding import decided, least_at
from .least_scale import least_scale, several

Space = Transformation | tuple[VectorDomain, ScoreMetric]


@dataclass(frozen=True)
class Compared:
    """One mechanism at the least scale that meets the budget.

    ``loss`` is what all releases together lose under the measure of the budget, rounded up: a number, or a pair
    (epsilon, delta). ``accuracy`` is the bound of the accuracy theorem for one release, in units of the scores, None
    where it takes too long to compute. ``bound`` is the word for the bound that decided the loss. ``curve`` is the
    privacy curve of one release.
    """

    name: str
    measurement: Measurement
    loss: Any
    accuracy: float | None
    bound: str
    curve: PrivacyCurve

    @property
    def scale(self) -> float:
        """The scale of the noise, in units of the scores."""
        return float(self.measurement.parameters["scale"])


@dataclass(frozen=True)
class Question:
    """What is to be released, how often, and at what price in all."""

    measure: Measure
    k: int
    n_candidates: int
    d_in: Any
    d_out: Any
    release: str = "ranking"
    alpha: Any = 0.05
    releases: int = 1

    # proof-region: comparison
    def answered(self, mechanism: Mechanism, space: Space, known: dict[Any, float] | None = None) -> Compared:
        """The row of one mechanism; ``known`` as in :func:`least_scale`.

        Raises:
            SearchError: No scale meets the budget, or every one does.
            ParameterError: The mechanism does not take the measure.
        """

        def make(scale: float) -> Measurement:
            return space >> mechanism.build(self.measure, self.k, scale, self.release, counts=False)

        measurement = least_scale(make, self.d_in, self.d_out, self.releases, known)
        scale = measurement.parameters["scale"]
        profiled: Measurement = space >> mechanism.profiled(self.measure, self.k, scale, self.release)
        curve = profiled.map(self.d_in)
        accuracy = mechanism.accuracy(measurement, self.k, self.n_candidates, self.release, self.alpha)
        total = several(self.measure, measurement.map(self.d_in), self.releases)  # [total]
        loss = self.measure.distance(total, "loss")  # [loss-up]
        bound = ""
        if isinstance(loss, PrivacyCurve):
            delta, bound = least_at(loss, self.d_out[0])
            loss = self.d_out[0], delta  # [pair]
        return Compared(mechanism.name, measurement, loss, accuracy, bound or decided(self.measure, curve), curve)

    # end-proof-region: comparison
