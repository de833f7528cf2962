"""PrivacyProfile: what its distances may be, and which losses are within which budgets.

Tries proofs/spaces/curves/curve.tex.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.errors import ParameterError
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, UpToDelta, ZCDPBound
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.measures import Approximate, MaxDivergence, PrivacyProfile
from tests.concepts.sentinels import raises_exactly
from tests.concepts.values import check_plain_value, check_value

THIRD = Fraction(1, 3)


def test_the_measure_is_a_value() -> None:
    check_value(PrivacyProfile, [MaxDivergence(), Approximate(MaxDivergence()), Approximate(PrivacyProfile())])
    check_plain_value(PrivacyProfile, {"PrivacyProfile": PrivacyProfile})


def test_numbers_and_pairs_stand_for_curves() -> None:
    measure = PrivacyProfile()
    assert measure.distance(THIRD, "d_out") == PrivacyCurve(ApproximateDP(THIRD))
    assert measure.distance((THIRD, 0.1), "d_out") == PrivacyCurve(ApproximateDP(THIRD, 0.1))
    curve = PrivacyCurve(ZCDPBound(0.5))
    assert measure.distance(curve, "d_out") is curve
    assert measure.symbol == "delta(epsilon)"
    assert measure.infinite.delta(1e308) == 1


def test_curves_are_within_pairs_exactly() -> None:
    measure, curve = PrivacyProfile(), PrivacyCurve(AdaptiveRangeBound(1, Fraction(1, 10)))
    assert measure.at_most(curve, Fraction(1, 10))
    assert measure.at_most(curve, 0.1), "the float 0.1 is above one tenth"
    assert not measure.at_most(curve, Fraction(1, 10) - Fraction(1, 10**400))
    delta = curve.delta(0.05)
    assert measure.at_most(curve, (0.05, delta))
    assert not measure.at_most(curve, (0.05, Fraction(delta) - Fraction(1, 10**400)))
    assert not measure.at_most(curve, (math.nextafter(0.05, 0), delta))
    assert measure.at_most(curve, (math.inf, 0))
    assert measure.at_most(curve, (0, 1))
    assert measure.at_most(curve, measure.infinite)
    assert not measure.at_most(measure.infinite, (1e308, 0.999))
    assert measure.at_most(0.5, (0.5, 0))


@pytest.mark.parametrize(
    ("loss", "budget", "answer"),
    [
        (ZCDPBound(0.5), ZCDPBound(0.5), True),
        (ZCDPBound(0.5), ZCDPBound(0.6), True),
        (ZCDPBound(0.6), ZCDPBound(0.5), False),
        (AdaptiveRangeBound(3, 0.5), AdaptiveRangeBound(4, 0.5), True),
        (AdaptiveRangeBound(4, 0.5), AdaptiveRangeBound(3, 0.5), False),
        (UpToDelta(ZCDPBound(0.5), 0.1), UpToDelta(ZCDPBound(0.5), 0.2), True),
        (UpToDelta(ZCDPBound(0.5), 0.2), UpToDelta(ZCDPBound(0.5), 0.1), False),
        (ApproximateDP(9), ZCDPBound(0.001), False),
        (ApproximateDP(0.001), ZCDPBound(9), None),
        (AdaptiveRangeBound(2, 0.01), ZCDPBound(9), None),
    ],
)
def test_curves_are_compared_where_it_is_known(loss: Any, budget: Any, answer: bool | None) -> None:
    measure, curves = PrivacyProfile(), (PrivacyCurve(loss), PrivacyCurve(budget))
    if answer is None:
        raises_exactly(ParameterError, lambda: measure.at_most(*curves), "compare with a pair (epsilon, delta)")
    else:
        assert measure.at_most(*curves) is answer


def test_all_bounds_of_a_budget_must_be_met() -> None:
    measure = PrivacyProfile()
    both = PrivacyCurve(ZCDPBound(0.5), ApproximateDP(2))
    assert measure.at_most(both, PrivacyCurve(ZCDPBound(0.5)))
    assert measure.at_most(both, 2)
    assert measure.at_most(PrivacyCurve(ApproximateDP(1), ZCDPBound(0.4)), both)
    assert not measure.at_most(PrivacyCurve(ZCDPBound(0.5)), both)


def own(epsilon: float) -> float:
    return math.exp(-epsilon) / 4


def test_a_caller_s_curve_is_within_itself_and_within_pairs() -> None:
    measure, curve = PrivacyProfile(), PrivacyCurve(own)
    assert measure.at_most(curve, PrivacyCurve(own))
    assert measure.at_most(curve, (0, 0.25))
    assert not measure.at_most(curve, (0, 0.2499))
    raises_exactly(ParameterError, lambda: measure.at_most(PrivacyCurve(ApproximateDP(0)), curve), "another kind")


@pytest.mark.parametrize(
    ("bad", "fragment"),
    [
        (-1, "d_out must be >= 0"),
        (math.nan, "d_out must be"),
        ("1", "d_out must be"),
        (True, "d_out must be"),
        ([1.0, 0.1], "d_out must be"),
        (own, "d_out must be"),
        ((1.0,), "a curve, a number epsilon or a pair"),
        ((1.0, 1.5), "delta of d_out must be at most 1"),
        ((1.0, -0.5), "delta of d_out"),
        ((-1.0, 0.5), "d_out must be >= 0"),
    ],
)
def test_bad_curves(bad: Any, fragment: str) -> None:
    raises_exactly(ParameterError, lambda: PrivacyProfile().distance(bad, "d_out"), fragment)
    raises_exactly(ParameterError, lambda: PrivacyProfile().at_most(0, bad), fragment)
