"""Privacy losses between two exact laws, by their definitions alone: the oracle of the privacy maps."""

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from opendp_topk.spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
)

EPSILONS = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
ORDERS = (1.001, 1.25, 2, 3.5, 8, 32, 256)
Law = Mapping[Hashable, Any]


def number(value: Any) -> mpmath.mpf:
    """A probability as an mpmath number."""
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(value)


def realised(measure: Measure, law: Law, other: Law) -> mpmath.mpf:
    """The privacy loss between two laws in both directions, whichever is larger.

    For zCDP the largest D_alpha / alpha over a few orders: a lower bound of the true loss.
    """
    support = [outcome for outcome, mass in law.items() if mass > 0]
    if set(support) != {outcome for outcome, mass in other.items() if mass > 0}:
        return mpmath.inf
    with mpmath.workdps(40):
        losses = [mpmath.log(number(other[y]) / number(law[y])) for y in support]
        if isinstance(measure, MaxDivergence):
            return max(abs(loss) for loss in losses)
        if isinstance(measure, RangeDivergence):
            return max(losses) - min(losses)
        assert isinstance(measure, ZeroConcentratedDivergence)
        return max(_renyi(p, q, order) / order for p, q in ((law, other), (other, law)) for order in ORDERS)


def within(measure: Measure, law: Law, other: Law, claimed: Any) -> bool:
    """Whether the loss between two laws, known to 22 digits, is at most ``claimed``."""
    with mpmath.workdps(40):
        slack = mpmath.mpf("1e-22")
        if isinstance(measure, PrivacyProfile):
            return all(hockey_stick(law, other, epsilon) <= claimed.delta(epsilon) + slack for epsilon in EPSILONS)
        if isinstance(measure, Approximate):
            if claimed[1] == 0:
                return within(measure.measure, law, other, claimed[0])
            assert isinstance(measure.measure, MaxDivergence)
            return bool(hockey_stick(law, other, claimed[0]) <= claimed[1] + slack)
        return bool(realised(measure, law, other) <= claimed + slack)


def hockey_stick(law: Law, other: Law, epsilon: Any) -> mpmath.mpf:
    """The least delta for ``epsilon``, in the worse direction: the mass that e^epsilon does not cover."""
    with mpmath.workdps(40):
        factor = mpmath.exp(number(epsilon))
        outcomes = set(law) | set(other)
        pairs = [(number(law.get(y, 0)), number(other.get(y, 0))) for y in outcomes]
        return max(
            mpmath.fsum(max(0, q - factor * p) for p, q in pairs), mpmath.fsum(max(0, p - factor * q) for p, q in pairs)
        )


def free(measure: Measure) -> Any:
    """The distance of two equal laws."""
    if isinstance(measure, Approximate):
        return free(measure.measure), 0
    return 0


def _renyi(law: Law, other: Law, order: float) -> mpmath.mpf:
    """The Renyi divergence of ``other`` from ``law``."""
    moment = mpmath.fsum(
        number(mass) * (number(other[outcome]) / number(mass)) ** order for outcome, mass in law.items() if mass > 0
    )
    return mpmath.log(moment) / (order - 1)
