"""The largest of several curves: its values, and what it implies."""

from __future__ import annotations

from fractions import Fraction

from opendp_topk.spaces.curves.closed_forms import ApproximateDP, ZCDPBound
from opendp_topk.spaces.curves.composed import Largest, largest_of_curves
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.curves.discrete import DiscreteLaplace

CURVES = [PrivacyCurve(ApproximateDP(Fraction(1, 2))), PrivacyCurve(DiscreteLaplace(2, Fraction(3)), ApproximateDP(1))]


def test_it_is_nowhere_below_any_of_them() -> None:
    both = PrivacyCurve(Largest(tuple(CURVES)))
    for step in range(12):
        epsilon = Fraction(step, 8)
        assert both.delta(epsilon) == max(curve.delta(epsilon) for curve in CURVES)
    assert both.epsilon(0) == max(curve.epsilon(0) for curve in CURVES)


def test_fewer_curves_imply_more() -> None:
    one, both = Largest((CURVES[0],)), Largest((CURVES[1], CURVES[0]))
    assert one.implies(both)
    assert both.implies(Largest(tuple(CURVES)))
    assert not both.implies(one)
    assert not one.implies(ApproximateDP(Fraction(1, 2)))


def test_what_all_curves_state_is_stated_of_their_largest() -> None:
    """Of two epsilons the larger, and no rho where one of the curves has none."""
    narrow = PrivacyCurve(ApproximateDP(1), ZCDPBound(Fraction(1, 8)))
    wide = PrivacyCurve(ZCDPBound(Fraction(1, 2)), ApproximateDP(2))
    found = largest_of_curves([narrow, wide, narrow])
    assert found.bounds[0] == Largest((narrow, wide))
    assert set(found.bounds[1:]) == {ApproximateDP(2), ZCDPBound(Fraction(1, 2))}
    bare = PrivacyCurve(ApproximateDP(Fraction(1, 2)))
    assert largest_of_curves([narrow, bare]).bounds == (Largest((narrow, bare)), ApproximateDP(1))
    for step in range(12):
        assert found.delta(Fraction(step, 4)) == max(one.delta(Fraction(step, 4)) for one in (narrow, wide))
    assert largest_of_curves([bare, bare]) == bare
