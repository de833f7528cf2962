"""A curve and a delta: the sum, rounded up, and what implies what."""

from __future__ import annotations

from fractions import Fraction

from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, PlusDelta, UpToDelta, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve


def test_the_sum_is_rounded_up_and_at_most_one() -> None:
    third = PlusDelta(ApproximateDP(1, Fraction(1, 3)), Fraction(1, 3))
    assert 0 <= Fraction(third(2)) - Fraction(2, 3) < Fraction(1, 2**52)
    assert PlusDelta(ApproximateDP(1, 0.75), 0.5)(1) == 1.0
    assert PrivacyCurve(PlusDelta(ApproximateDP(1), 0.125)).delta(3) == 0.125
    assert PlusDelta(ApproximateDP(1, 0.25), 0.5)(1) > UpToDelta(ApproximateDP(1, 0.25), 0.5)(1)


def test_what_implies_what() -> None:
    curve = PlusDelta(ZCDPBound(0.5), 0.25)
    assert curve.implies(PlusDelta(ZCDPBound(0.5), 0.25))
    assert curve.implies(PlusDelta(ZCDPBound(1), 0.5))
    assert not curve.implies(PlusDelta(ZCDPBound(1), 0.125))
    assert not curve.implies(PlusDelta(ZCDPBound(0.25), 0.5))
    assert not curve.implies(UpToDelta(ZCDPBound(1), 0.5))
    assert PlusDelta(ApproximateDP(1, 0.25), 0.5).implies(PlusDelta(ApproximateDP(2, 0.25), 0.5))


def test_inner_bounds_of_which_nothing_is_known_imply_themselves_alone() -> None:
    """Laws that obey the sum need not obey the inner bound, so what that implies for laws is no matter."""
    steps = [PrivacyCurve(AdaptiveRangeBound(1, loss)) for loss in (0.5, 1)]
    for inner, wider in (
        (UpToDelta(ZCDPBound(0.5), 0.1), UpToDelta(ZCDPBound(1), 0.1)),
        (Composed(((steps[0], 2),)), Composed(((steps[1], 2),))),
        (lambda epsilon: 0.25, lambda epsilon: 0.5),
    ):
        assert PlusDelta(inner, 0.25).implies(PlusDelta(inner, 0.25))
        assert not PlusDelta(inner, 0.25).implies(PlusDelta(wider, 0.25))
