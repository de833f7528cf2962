"""Privacy losses between two exact laws, by their definitions alone: the oracle of the privacy maps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from opendp_topk.measures import MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence

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


def _renyi(law: Law, other: Law, order: float) -> mpmath.mpf:
    """The Renyi divergence of ``other`` from ``law``."""
    moment = mpmath.fsum(
        number(mass) * (number(other[outcome]) / number(mass)) ** order for outcome, mass in law.items() if mass > 0
    )
    return mpmath.log(moment) / (order - 1)
