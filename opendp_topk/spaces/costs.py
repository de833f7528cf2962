"""What a release costs at one distance, exactly, and what each measure reads in it.

Proof: proofs/spaces/costs.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import ParameterTypeError
from ..errors.checks import Number
from ..numerics.arithmetic import shortened_up
from .concentrated import rho_of_laplace, rho_of_pure, rho_of_range
from .curves.closed_forms import ApproximateDP, Concentrated, LaplacePair
from .curves.composed import Composed
from .curves.curve import PrivacyCurve
from .curves.range_steps import RangeSteps
from .measures import MaxDivergence, Measure, PrivacyProfile, RangeDivergence, ZeroConcentratedDivergence


# proof-region: costs
@dataclass(frozen=True)
class Cost:
    """Exact bounds of one pair of distributions under each measure; None where nothing is bounded.

    ``pure`` is an epsilon, ``width`` a range, ``rho`` that of zCDP. ``steps`` is a pair (n, a), where it is known: the
    release is made in n steps, or is a function of such a release, and each has range a whatever came before.
    ``joined`` is a pair (n, E) that says of each of n steps, in the same way, that its two laws are joined at the cost
    E: for every share of E there is a law between them, that far from one and no further than the rest from the other.
    For n > 1 they are the n steps of ``steps``, each with an n-th of ``rho``.
    """

    pure: Fraction | None = None
    width: Fraction | None = None
    rho: Fraction | None = None
    steps: tuple[int, Fraction] | None = None
    joined: tuple[int, Fraction] | None = None

    @staticmethod
    def bounded(pure: Fraction, width: Fraction) -> Cost:
        """The cost of what has this epsilon and this range."""
        return Cost(pure, width, min(rho_of_pure(pure), rho_of_range(width)))  # [bounded]

    @staticmethod
    def linear(pure: Fraction, width: Fraction) -> Cost:
        """The cost of what has this range, and is joined at the cost ``pure``: an epsilon linear in the distance."""
        return Cost(pure, width, min(rho_of_laplace(pure), rho_of_range(width)), joined=(1, pure))  # [linear]

    def under(self, measure: Measure) -> Any:
        """The cost as a distance of ``measure``; infinite where nothing is bounded."""
        for kind, read in _READINGS:
            if isinstance(measure, kind):
                return read(self)  # [read]
        return measure.infinite


FREE = Cost.bounded(Fraction(0), Fraction(0))


def _curve(cost: Cost) -> PrivacyCurve:
    """All that is known, as one privacy curve; but for a long rho, exactly."""
    count, each = cost.steps or (1, _exact(cost.width))
    known = ApproximateDP(_exact(cost.pure)), Concentrated(_short(cost.rho)), RangeSteps(count, each)
    if cost.joined is None:
        return PrivacyCurve(*known)  # [all-bounds]
    count, loss = cost.joined
    laplace = LaplacePair(count * loss)
    if count < 2 or cost.rho is None:
        return PrivacyCurve(*known, laplace)  # [laplace-bound]
    once = PrivacyCurve(
        ApproximateDP(loss), Concentrated(_short(cost.rho / count)), RangeSteps(1, each), LaplacePair(loss)
    )
    return PrivacyCurve(*known, laplace, Composed(((once, count),)))  # [composed-steps]


def _short(value: Fraction | None) -> Number:
    return math.inf if value is None else shortened_up(value)  # [up]


def _exact(value: Fraction | None) -> Number:
    return math.inf if value is None else value  # [exact]


_READINGS: tuple[tuple[type[Measure], Callable[[Cost], Any]], ...] = (
    (MaxDivergence, lambda cost: _short(cost.pure)),  # [pure]
    (RangeDivergence, lambda cost: _short(cost.width)),  # [width]
    (ZeroConcentratedDivergence, lambda cost: _short(cost.rho)),  # [rho]
    (PrivacyProfile, _curve),
)
SCALAR = (MaxDivergence, RangeDivergence, ZeroConcentratedDivergence)


def require_measure(measure: Any, *kinds: type[Measure], note: str = "") -> None:
    """Raise unless ``measure`` is one of ``kinds``; ``note`` ends the message."""
    if not isinstance(measure, kinds):  # [one-of]
        *others, last = [f"{kind.__name__}()" for kind in kinds]
        named = f"{', '.join(others)} or {last}" if others else last
        raise ParameterTypeError(f"output_measure must be {named}{note}")


# end-proof-region: costs
