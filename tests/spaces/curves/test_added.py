"""A curve and a delta: the sum, rounded up, and what implies what."""

from __future__ import annotations

from fractions import Fraction

from opendp_topk.spaces.curves.closed_forms import Added, ApproximateDP, Concentrated, Mixture, RangeSteps
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve


def test_the_sum_is_rounded_up_and_at_most_one() -> None:
    third = Added(ApproximateDP(1, Fraction(1, 3)), Fraction(1, 3))
    assert 0 <= Fraction(third(2)) - Fraction(2, 3) < Fraction(1, 2**52)
    assert Added(ApproximateDP(1, 0.75), 0.5)(1) == 1.0
    assert PrivacyCurve(Added(ApproximateDP(1), 0.125)).delta(3) == 0.125
    assert Added(ApproximateDP(1, 0.25), 0.5)(1) > Mixture(ApproximateDP(1, 0.25), 0.5)(1)


def test_what_implies_what() -> None:
    curve = Added(Concentrated(0.5), 0.25)
    assert curve.implies(Added(Concentrated(0.5), 0.25))
    assert curve.implies(Added(Concentrated(1), 0.5))
    assert not curve.implies(Added(Concentrated(1), 0.125))
    assert not curve.implies(Added(Concentrated(0.25), 0.5))
    assert not curve.implies(Mixture(Concentrated(1), 0.5))
    assert Added(ApproximateDP(1, 0.25), 0.5).implies(Added(ApproximateDP(2, 0.25), 0.5))


def test_inner_bounds_of_which_nothing_is_known_imply_themselves_alone() -> None:
    """Laws that obey the sum need not obey the inner bound, so what that implies for laws is no matter."""
    steps = [PrivacyCurve(RangeSteps(1, loss)) for loss in (0.5, 1)]
    for inner, wider in (
        (Mixture(Concentrated(0.5), 0.1), Mixture(Concentrated(1), 0.1)),
        (Composed(((steps[0], 2),)), Composed(((steps[1], 2),))),
        (lambda epsilon: 0.25, lambda epsilon: 0.5),
    ):
        assert Added(inner, 0.25).implies(Added(inner, 0.25))
        assert not Added(inner, 0.25).implies(Added(wider, 0.25))
