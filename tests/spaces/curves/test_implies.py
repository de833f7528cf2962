"""Whenever one bound says that it implies another, its deltas are not above those of the other.

Tries proofs/spaces/curves/added.tex, proofs/spaces/curves/covers.tex, proofs/spaces/curves/guesses.tex and
proofs/spaces/curves/largest.tex.
"""

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from opendp_topk.errors import ParameterError
from opendp_topk.spaces.curves.closed_forms import (
    AdaptiveRangeBound,
    ApproximateDP,
    ArrivalTimes,
    DiscreteGaussian,
    DiscreteLaplace,
    LaplacePair,
    PlusDelta,
    UpToDelta,
    ZCDPBound,
    attack_accuracy,
    total_variation,
)
from opendp_topk.spaces.curves.composed import Composed, Largest, largest_of_curves
from opendp_topk.spaces.curves.curve import PrivacyCurve

LOSSES = (0, Fraction(1, 7), 0.5, Fraction(1, 2), 1.5, math.inf)
DELTAS = (0, 1e-9, Fraction(1, 4), 1)
EPSILONS = (0, 0.05, Fraction(1, 2), 1, 3)
SCALES = (Fraction(1, 3), Fraction(2), Fraction(2000))
CHOICE = PrivacyCurve(AdaptiveRangeBound(1, 0.5))
WIDER = PrivacyCurve(AdaptiveRangeBound(1, Fraction(1, 2)), ZCDPBound(Fraction(1, 9)))
STEPS = (CHOICE, WIDER, PrivacyCurve(ZCDPBound(0.5)), PrivacyCurve(LaplacePair(Fraction(1, 4))))
GRID_ROOM = 1e-3  # the bounds of two compositions may stand on two grids, each of which is an upper bound
RESOLVED = 1e-25  # and less than this no composition resolves


def simple() -> Iterator[Any]:
    """Bounds of every kind but compositions."""
    for loss in LOSSES:
        yield from (ApproximateDP(loss, delta) for delta in DELTAS)
        yield from (ZCDPBound(loss), LaplacePair(loss), AdaptiveRangeBound(1, loss), AdaptiveRangeBound(2, loss))
    for shift, scale in itertools.product((0, 1, 3), SCALES):
        yield from (DiscreteLaplace(shift, scale), DiscreteGaussian(shift, scale), ArrivalTimes(1 / scale, shift + 1))


def wrapped() -> Iterator[Any]:
    inner = [ApproximateDP(0.5), ApproximateDP(1, 1e-9), ZCDPBound(Fraction(1, 7)), AdaptiveRangeBound(2, 0.5)]
    for bound, delta in itertools.product(inner, DELTAS):
        yield from (UpToDelta(bound, delta), PlusDelta(bound, delta), PlusDelta(UpToDelta(bound, delta), 1e-9))


def disordered(bounds: list[Any], room: float) -> list[tuple[Any, ...]]:
    """Pairs of bounds of which one implies the other, and an epsilon where its delta is larger."""
    values = [[bound(epsilon) for epsilon in EPSILONS] for bound in bounds]
    return [
        (one, other, epsilon)
        for (one, own), (other, others) in itertools.product(zip(bounds, values, strict=True), repeat=2)
        if one.implies(other)
        for epsilon, low, high in zip(EPSILONS, own, others, strict=True)
        if low > high * (1 + room) + (RESOLVED if room else 0)
    ]


@pytest.mark.parametrize("kind", [simple, wrapped])
def test_what_is_implied_is_above(kind: Any) -> None:
    bounds = list(kind())
    assert sum(one.implies(other) for one, other in itertools.permutations(bounds, 2)) > len(bounds)
    assert disordered(bounds, 0) == []


@pytest.mark.slow
def test_what_a_composition_implies_is_above() -> None:
    """Among lists of parts in which one curve may stand twice."""
    parts = [(step, count) for step in STEPS for count in (1, 2)]
    draw = random.Random(1)
    bounds = [Composed((part,)) for part in parts] + [
        Composed(tuple(draw.choices(parts, k=draw.randint(2, 3)))) for _ in range(8)
    ]
    assert sum(one.implies(other) for one, other in itertools.permutations(bounds, 2)) > len(bounds)
    assert disordered(bounds, GRID_ROOM) == []


@pytest.mark.slow
def test_counts_of_one_curve_are_added_up() -> None:
    """Else the last of them stands for all: four steps would imply three."""
    four, three = Composed(((CHOICE, 2), (CHOICE, 2))), Composed(((CHOICE, 1), (CHOICE, 2)))
    assert four == Composed(((CHOICE, 4),))
    assert four(0) > 1.1 * three(0)
    assert not four.implies(three)
    assert three.implies(four)
    mixed = Composed(((CHOICE, 1), (WIDER, 1), (CHOICE, 1)))
    assert mixed == Composed(((CHOICE, 2), (WIDER, 1)))
    assert not Composed(((CHOICE, 2), (WIDER, 1))).implies(Composed(((CHOICE, 1), (WIDER, 3))))


@pytest.mark.parametrize("count", [0, -1])
def test_a_part_is_one_step_at_least(count: int) -> None:
    with pytest.raises(ParameterError, match="count must be an integer >= 1"):
        Composed(((CHOICE, 3), (CHOICE, count)))


# A curve and a delta: the sum, rounded up, and what implies what.


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


# The largest of several curves: its values, and what it implies.


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


# How often a guess is right: against the worst laws there are, with other arithmetic.


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_of_pure_privacy_the_share_of_right_guesses_is_exact_and_rounded_up(epsilon: float) -> None:
    share = 100 / (1 + mpmath.exp(-epsilon))
    found = attack_accuracy(total_variation(epsilon))
    assert 0 <= found - float(share) <= 0.1
    assert (attack_accuracy(0.0), attack_accuracy(1.0)) == (50.0, 100.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (0.0, 0.3), (3.0, 1e-6)])
def test_of_a_pair_it_is_that_of_the_worst_pair_of_laws(epsilon: float, delta: float) -> None:
    """The worst laws: with probability delta they differ for sure, else they are those of randomised response."""
    kept = 1 - delta
    likely = kept * math.exp(epsilon) / (1 + math.exp(epsilon))
    laws = [delta, likely, kept - likely, 0.0], [0.0, kept - likely, likely, delta]
    apart = sum(abs(p - q) for p, q in zip(*laws, strict=True)) / 2
    assert total_variation(epsilon, delta) == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 20.0])
def test_of_rho_it_is_above_that_of_a_gaussian(rho: float) -> None:
    """Gaussian laws at distance sqrt(2 rho) have this rho, and total variation erf(sqrt(rho) / 2)."""
    apart = float(mpmath.erf(mpmath.sqrt(rho) / 2))
    found = total_variation(rho, concentrated=True)
    assert apart <= found <= min(1.0, 1.45 * apart)
    assert found <= total_variation(rho, 0.01, concentrated=True) <= found + 0.01
