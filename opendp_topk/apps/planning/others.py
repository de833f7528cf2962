"""How many users have an item that was not released, as a noisy count at a tenth of the cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...combinators.followed_by import make_followed_by
from ...combinators.from_range import make_approximate
from ...core.binary_search import binary_search_param
from ...core.measurement import Measurement
from ...measurements.gaussian import then_gaussian
from ...measurements.laplace import then_laplace
from ...numerics.arithmetic import exact, round_down
from ...sampling.distributions.discrete import largest_noise
from ...spaces.domains import FrameDomain
from ...spaces.measures import MaxDivergence, ZeroConcentratedDivergence, is_pure
from ...spaces.metrics import L1Distance, L2Distance, UserDistance
from ...transformations.count_outside import make_count_outside
from .plan import Plan, T_co, U_co
from .release_record import Released
from .units import Budget, Users

_SHARE = Fraction(1, 10)  # of the loss: one count needs little, and the items need most of it


@dataclass(frozen=True)
class Other:
    """The count of all other users, for a whole budget of which the release itself gets the rest."""

    whole: Budget
    unit: Users

    @property
    def loss(self) -> float:
        """What the count may lose."""
        return round_down(exact(self.whole.d_out) * _SHARE)

    @property
    def rest(self) -> Budget:
        """What is left for the release."""
        return Budget(self.whole.measure, round_down(exact(self.whole.d_out) - exact(self.loss)))

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        domain = FrameDomain("user", "item")
        return float(binary_search_param(lambda scale: self._of(domain, (), scale), self.unit.d_in, self.loss))

    def after(self, plan: Plan[T_co, U_co]) -> Plan[T_co, U_co]:
        """The plan with the count after what it releases."""
        measurement = plan.measurement
        domain, measure, scale = measurement.input_domain, measurement.output_measure, self.scale
        assert isinstance(domain, FrameDomain)

        def follow(released: Any) -> Measurement:
            counted = self._of(domain, Released.of(released).items, scale)
            return counted if measure == counted.output_measure else make_approximate(counted)

        d_out = self.loss if measure == self.whole.measure else (self.loss, 0.0)
        followed = make_followed_by(measurement, follow=follow, d_in=self.unit.d_in, d_out=d_out)
        return replace(plan, measurement=followed)

    def released(self, both: Any) -> Released:
        """What a plan with the count has released."""
        return replace(Released.of(both[0]), other=int(both[1][0]))

    def deviation(self, alpha: Fraction) -> float:
        """By how many users the count may be off with probability at least 1 - alpha."""
        return largest_noise(exact(self.scale), 1, alpha, gaussian=not is_pure(self.whole.measure))

    def _of(self, domain: FrameDomain, items: Any, scale: float) -> Measurement:
        pure = is_pure(self.whole.measure)
        metric = L1Distance() if pure else L2Distance()
        outside = make_count_outside(domain, UserDistance(self.unit.neighbors), items=items, output_metric=metric)
        noise = (
            then_laplace(MaxDivergence(), scale=scale)
            if pure
            else then_gaussian(ZeroConcentratedDivergence(), scale=scale)
        )
        counted: Measurement = outside >> noise
        return counted
