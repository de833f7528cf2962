"""``--other``: how many users have an item that was not released, as a noisy count at a tenth of the cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

import typer

from ..combinators.approximate import make_approximate
from ..combinators.followed_by import make_followed_by
from ..core.binary_search import binary_search_param
from ..core.measurement import Measurement
from ..distributions.discrete import largest_noise
from ..errors import ParameterError
from ..measurements.gaussian import then_gaussian
from ..measurements.laplace import then_laplace
from ..numerics.arithmetic import exact, round_down
from ..spaces.domains import FrameDomain
from ..spaces.measures import MaxDivergence, Measure, ZeroConcentratedDivergence, is_pure
from ..spaces.metrics import L1Distance, L2Distance, UserDistance
from ..transformations.count_outside import make_count_outside
from . import guarantees, show
from .options import Target
from .record import Winners
from .scoring import Scoring

_SHARE = Fraction(1, 10)  # of the loss: one count needs little, and the items need most of it

OtherOption = Annotated[
    bool,
    typer.Option(
        "--other",
        help="Release, too, how many users have an item that is not released, as a noisy count at a tenth of the cost.",
    ),
]


@dataclass(frozen=True)
class Other:
    """The count of all other users, for a whole target of which the release itself gets the rest."""

    whole: Target
    users: int
    neighbors: str

    @property
    def loss(self) -> float:
        """What the count may lose."""
        return round_down(exact(self.whole.budget) * _SHARE)

    @property
    def rest(self) -> Target:
        """What is left for the release."""
        return Target(self.whole.measure, round_down(exact(self.whole.budget) - exact(self.loss)))

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        domain = FrameDomain("user", "item")
        return float(binary_search_param(lambda scale: self._of(domain, (), scale), self.users, self.loss))

    def after(self, measurement: Measurement) -> Measurement:
        """The release of ``measurement``, and then the count."""
        domain, measure, scale = measurement.input_domain, measurement.output_measure, self.scale
        assert isinstance(domain, FrameDomain)

        def follow(released: Any) -> Measurement:
            return self._under(measure, self._of(domain, Winners.of(released).items, scale))

        d_out = self.loss if measure == self.whole.measure else (self.loss, 0.0)
        return make_followed_by(measurement, follow=follow, d_in=self.users, d_out=d_out)

    def deviation(self, alpha: Fraction) -> float:
        """By how many users the count may be off with probability at least 1 - alpha."""
        return largest_noise(exact(self.scale), 1, alpha, gaussian=not is_pure(self.whole.measure))

    def _of(self, domain: FrameDomain, items: Any, scale: float) -> Measurement:
        pure = is_pure(self.whole.measure)
        metric = L1Distance() if pure else L2Distance()
        outside = make_count_outside(domain, UserDistance(self.neighbors), items=items, output_metric=metric)
        noise = (
            then_laplace(MaxDivergence(), scale=scale)
            if pure
            else then_gaussian(ZeroConcentratedDivergence(), scale=scale)
        )
        counted: Measurement = outside >> noise
        return counted

    def _under(self, measure: Measure, counted: Measurement) -> Measurement:
        return counted if measure == counted.output_measure else make_approximate(counted)


def split(goal: Target, users: int, neighbors: str, scored: Scoring, *, asked: bool) -> tuple[Target, Other | None]:
    """The target of the release, and the count of all others if it is asked for.

    Raises:
        ParameterError: Items are ranked by sums.
    """
    if not asked:
        return goal, None
    if scored.column is not None:
        raise ParameterError("--other counts users: leave --sum out")
    other = Other(goal, users, neighbors)
    return other.rest, other


def relaxed(goal: Target, delta: float | None, other: Other | None) -> Target:
    """The target of a release from a list of candidates, with the delta that was given.

    Raises:
        ParameterError: All others are counted, too, which has no curve.
    """
    if delta is None:
        return goal
    if other is not None:
        raise ParameterError("--other and --delta do not go together where there are --candidates: leave one out")
    return goal.relaxed(delta)


def found(released: Any, other: Other | None) -> Winners:
    """What was released."""
    if other is None:
        return Winners.of(released)
    return replace(Winners.of(released[0]), other=int(released[1][0]))


def show_other(winners: Winners, other: Other | None) -> None:
    """Print the count of all others for people."""
    if other is not None:
        show.rows([("other", f"{winners.other} users, with noise, have another item{_part(other, 'of it')}")])


def plan_rows(other: Other | None, alpha: float) -> list[tuple[str, str]]:
    """The row of a plan."""
    if other is None:
        return []
    exactly, words = guarantees.sure(alpha)
    near = f"within {show.users(other.deviation(exactly))} of the true number"
    return [
        (
            "other",
            f"with probability at least {words}, the number of users with another item is {near}{_part(other, 'more')}",
        )
    ]


def _part(other: Other, how: str) -> str:
    return f" ({other.whole.symbol} = {show.rounded_up(other.loss)} {how})"
