"""Curves of bounded range against explicit mechanisms: never below them, and hardly above.

Tries proofs/spaces/curves/closed_forms.tex.
"""

import math
from fractions import Fraction

import mpmath
import pytest

from opendp_topk.spaces.curves import closed_forms as range_steps
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, ZCDPBound
from opendp_topk.spaces.curves.curve import PrivacyCurve
from tests.oracles import range_curves

WIDTHS = (1e-6, 0.01, 0.5, 1.0, 3.0, 12.0)


@pytest.mark.slow
@pytest.mark.parametrize("a", WIDTHS)
def test_one_range_has_the_curve_of_the_best_two_outcomes(a: float) -> None:
    for share in (0, 0.1, 0.5, 0.9, 0.999):
        exact = range_curves.best_of_two_outcomes(a, share * a)
        found = mpmath.mpf(AdaptiveRangeBound(1, a)(share * a))
        assert exact <= found * (1 + mpmath.mpf("1e-30"))
        assert found - exact <= min(mpmath.mpf("1e-9"), exact * mpmath.mpf("1e-9"))


@pytest.mark.further
@pytest.mark.quick(a=(0.5, 3.0))
@pytest.mark.parametrize("a", WIDTHS)
def test_no_two_outcomes_exceed_the_curve_of_one_range(a: float) -> None:
    with mpmath.workdps(40):
        for share in (0, 0.01, 0.2, 0.5, 0.8, 0.99, 1, 1.5):
            claimed = AdaptiveRangeBound(1, a)(share * a)
            for i in range(101):
                t = mpmath.mpf(a) * i / 100
                assert range_curves.two_outcomes(mpmath.mpf(a), t, mpmath.mpf(share * a)) <= claimed


@pytest.mark.quick(k=(2, 3))
@pytest.mark.parametrize(("k", "a"), [(2, 0.25), (2, 1.0), (2, 6.0), (3, 0.01), (3, 1.0), (5, 0.5), (6, 2.0)])
def test_no_adaptive_steps_exceed_the_curve_and_some_come_close(k: int, a: float) -> None:
    curve, lower = AdaptiveRangeBound(k, a), range_curves.adaptive(k, a, 16)
    for index, least in enumerate(lower):
        found = curve(Fraction(a) * index / 16)
        assert found >= least * (1 - mpmath.mpf("1e-30")), index
        if index < (k - 1) * 16:
            assert found <= 1.2 * least + 1e-12, index
    assert curve(k * Fraction(a)) == 0


def test_points_between_the_nodes_are_bounded_too() -> None:
    """Mechanisms whose losses are multiples of a / 15 have nodes that fall between those of the curve."""
    for k, a in ((2, 1.0), (3, 0.5)):
        for index, least in enumerate(range_curves.adaptive(k, a, 15)):
            assert AdaptiveRangeBound(k, a)(Fraction(a) * index / 15) >= least * (1 - mpmath.mpf("1e-30"))


@pytest.mark.further
@pytest.mark.quick(k=(2, 10, 100))
@pytest.mark.parametrize(("k", "a"), [(2, 1.0), (10, 0.1), (10, 1.0), (100, 0.05), (1000, 0.01)])
def test_the_curve_beats_concentrated_and_pure_privacy(k: int, a: float) -> None:
    for delta in (1e-3, 1e-6, 1e-10):
        steps = PrivacyCurve(AdaptiveRangeBound(k, a)).epsilon(delta)
        assert steps < PrivacyCurve(ZCDPBound(Fraction(k) * Fraction(a) ** 2 / 8)).epsilon(delta)
        assert steps < PrivacyCurve(ApproximateDP(k * Fraction(a))).epsilon(delta)


@pytest.mark.quick(k=(2, 7))
@pytest.mark.parametrize(("k", "a"), [(2, 0.5), (7, 0.3), (50, 0.1)])
def test_the_curve_falls_with_epsilon_and_grows_with_k_and_a(k: int, a: float) -> None:
    points = [Fraction(k) * Fraction(a) * i / 97 for i in range(98)]
    values = [AdaptiveRangeBound(k, a)(point) for point in points]
    assert values == sorted(values, reverse=True)
    assert all(x <= y for x, y in zip(values, [AdaptiveRangeBound(k + 1, a)(p) for p in points], strict=True))
    wider = [AdaptiveRangeBound(k, 2 * a)(point) for point in points]
    assert all(x <= y for x, y in zip(values, wider, strict=True))


@pytest.mark.parametrize(
    ("k", "a", "epsilon", "delta"),
    [
        (0, 1.0, 0.0, 0.0),
        (3, 0, 0.0, 0.0),
        (3, math.inf, 5.0, 1.0),
        (3, 1.0, 3.0, 0.0),
        (3, 65.0, 100.0, 1.0),
        (3, 65.0, 195.0, 0.0),
        (10**6, 0.001, 1.0, 1.0),
        (1, math.inf, 1e308, 1.0),
        (1, 1e308, 0.0, 1.0),
    ],
)
def test_the_ends(k: int, a: float, epsilon: float, delta: float) -> None:
    assert AdaptiveRangeBound(k, a)(epsilon) == delta


def test_the_end_of_the_curve_is_compared_exactly() -> None:
    """3 * 0.7 in float64 is below three times the float 0.7: at that epsilon delta is not 0."""
    assert 3 * Fraction(0.7) > 3 * 0.7
    assert AdaptiveRangeBound(3, 0.7)(3 * 0.7) > 0
    assert AdaptiveRangeBound(3, 0.7)(3 * Fraction(0.7)) == 0


def test_tiny_and_large_ranges_stay_bounded() -> None:
    """A range below 2^-500 is raised to it where there are several steps."""
    assert 3 / 8 < AdaptiveRangeBound(3, Fraction(1, 2**500))(0.0) * 2.0**500 < 0.3751
    assert AdaptiveRangeBound(3, 5e-324)(0.0) == AdaptiveRangeBound(3, Fraction(1, 2**500))(0.0)
    assert AdaptiveRangeBound(3, Fraction(1, 10**400))(0.0) == AdaptiveRangeBound(3, Fraction(1, 2**500))(0.0)
    assert 0 < AdaptiveRangeBound(1, Fraction(1, 10**400))(0.0) < 1e-320
    assert 0.99 < AdaptiveRangeBound(3, 60.0)(100.0) <= 1
    assert 0 < AdaptiveRangeBound(3, 60.0)(179.999) < 1e-3


def test_what_implies_what() -> None:
    assert AdaptiveRangeBound(2, 0.5).implies(AdaptiveRangeBound(3, 0.5))
    assert AdaptiveRangeBound(2, 0.5).implies(AdaptiveRangeBound(2, 0.75))
    assert not AdaptiveRangeBound(3, 0.5).implies(AdaptiveRangeBound(2, 0.75))
    assert not AdaptiveRangeBound(2, 0.8).implies(AdaptiveRangeBound(3, 0.75))
    assert not AdaptiveRangeBound(2, 0.5).implies(ZCDPBound(9))


@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1), Fraction(5)], ids=str)
@pytest.mark.parametrize("cells", [8, 13])
def test_every_node_exceeds_the_exact_recursion_by_more_than_rounding_can_take(a: Fraction, cells: int) -> None:
    """Sums and products of floats lose a few units of 2^-53; what is added for them is 2^-49, and hardly more."""
    size = 3 * cells
    before = range_steps._adaptive_delta_grid(1, a, cells, size)
    for k in (2, 3):
        after = range_steps._adaptive_delta_grid(k, a, cells, size)
        assert not after[k * cells :].any()
        for found, exact in zip(after.tolist(), range_curves.one_more_step(before, a, cells), strict=True):
            if found > 0 and exact < 1:
                assert exact * (1 + mpmath.mpf(2) ** -50) <= found <= exact * (1 + mpmath.mpf(2) ** -46) + 2.0**-1000
        before = after


@pytest.mark.slow
@pytest.mark.parametrize(("k", "a"), [(1000, Fraction(1, 10)), (400, Fraction(1))])
def test_beyond_the_grid_the_curve_still_bounds_mechanisms(k: int, a: Fraction) -> None:
    """The grid of many steps ends before k a, and delta is 0 only there."""
    end = Fraction(range_steps._epsilon_span(k, a)) * a
    assert end < k * a
    for epsilon in (end, (end + k * a) / 2, k * a * Fraction(999, 1000)):
        share = epsilon / (k * a)
        least = max(range_curves.independent(k, a, (share + (1 - share) * part / 3) * a, epsilon) for part in (1, 2))
        assert 0 < least <= AdaptiveRangeBound(k, a)(epsilon) < 1e-30
