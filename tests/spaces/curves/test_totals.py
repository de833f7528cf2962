"""The curve of several steps: which bounds are added up, which are convolved, and in what order."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, UpToDelta, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed, compose
from opendp_topk.spaces.curves.covers import discretize
from opendp_topk.spaces.curves.curve import PrivacyCurve


def chosen(a: float = 0.25) -> PrivacyCurve:
    """What a choice of range a states."""
    return PrivacyCurve(ApproximateDP(a), ZCDPBound(a * a / 8), AdaptiveRangeBound(1, a))


RHO, PURE = PrivacyCurve(ZCDPBound(0.125)), PrivacyCurve(ApproximateDP(0.5))
FREE, NOTHING = PrivacyCurve(ApproximateDP(0.0)), PrivacyCurve(ApproximateDP(math.inf))


def others(curve: PrivacyCurve) -> tuple[Any, ...]:
    return tuple(bound for bound in curve.bounds if not isinstance(bound, Composed))


def test_nothing_and_one_and_all() -> None:
    assert compose([]).epsilon(0) == compose([FREE, FREE]).epsilon(0) == 0
    assert compose([FREE, RHO]) == RHO
    assert compose([RHO, NOTHING]) == NOTHING


def test_what_all_state_is_added_up() -> None:
    assert others(compose([chosen()] * 4)) == (ApproximateDP(1.0), ZCDPBound(0.03125), AdaptiveRangeBound(4, 0.25))
    assert others(compose([RHO, RHO])) == (ZCDPBound(0.25),)
    assert others(compose([RHO, PURE])) == ()
    assert others(compose([chosen(0.25), chosen(0.5)])) == (ApproximateDP(0.75), ZCDPBound(0.0390625))
    infinite = PrivacyCurve(ApproximateDP(math.inf), ZCDPBound(0.125))
    assert others(compose([infinite, RHO])) == (ZCDPBound(0.25),)


def test_no_float_is_added() -> None:
    tenth = PrivacyCurve(ApproximateDP(0.1))
    assert others(compose([tenth] * 10)) == (ApproximateDP(10 * Fraction(0.1)),)
    assert compose([tenth] * 10).epsilon(0) == math.nextafter(1.0, 2)
    sixth = PrivacyCurve(UpToDelta(ApproximateDP(Fraction(1, 6)), Fraction(1, 6)))
    assert others(compose([sixth] * 3)) == (UpToDelta(ApproximateDP(0.5), 0.5),)


def test_deltas_are_added_and_none_is_lost() -> None:
    pair, mixed = PrivacyCurve(ApproximateDP(0.5, 0.125)), PrivacyCurve(UpToDelta(ZCDPBound(0.125), 0.25))
    assert others(compose([pair, pair])) == (UpToDelta(ApproximateDP(1.0), 0.25),)
    assert others(compose([mixed, RHO])) == (UpToDelta(ZCDPBound(0.25), 0.25),)
    twice = PrivacyCurve(UpToDelta(ApproximateDP(0.5, 0.125), 0.25))
    assert others(compose([twice, pair])) == (UpToDelta(ApproximateDP(1.0), 0.5),)
    assert others(compose([pair] * 9)) == (UpToDelta(ApproximateDP(4.5), 1.0),)


def test_steps_of_one_kind_are_convolved_as_one() -> None:
    """Independent: wherever they stand. Adaptive: where they follow each other."""
    curves = [RHO, chosen(), RHO, chosen()]
    steps = Composed(((RHO, 2), (chosen(), 2)))
    rho_block = PrivacyCurve(ZCDPBound(0.25))
    choice_block = PrivacyCurve(ApproximateDP(0.5), ZCDPBound(0.015625), AdaptiveRangeBound(2, 0.25))
    assert compose(curves).bounds[:2] == (steps, Composed(((rho_block, 1), (choice_block, 1))))
    assert others(compose(curves, adaptive=True)) == compose(curves, adaptive=True).bounds[1:]
    assert compose([RHO, RHO, chosen(), chosen()], adaptive=True).bounds == compose(curves).bounds


def test_compositions_of_compositions_are_flat() -> None:
    inner = compose([chosen()] * 3)
    assert compose([inner, chosen(), inner]) == compose([chosen()] * 7)


def test_what_a_composed_curve_states_besides_is_kept() -> None:
    """Of a release in steps more may be known than of its steps: a smaller rho of the whole, say."""
    known = PrivacyCurve(Composed(((PURE, 3),)), ZCDPBound(0.01), ApproximateDP(1.25))
    whole = compose([known, known])
    assert others(whole) == (ApproximateDP(2.5), ZCDPBound(0.02), ApproximateDP(3.0))
    assert whole.bounds[:2] == (Composed(((PURE, 6),)), Composed(((known, 2),)))


@pytest.mark.slow
def test_no_order_and_no_nesting_changes_the_curve() -> None:
    parts = [RHO, PURE, chosen()]
    values = [compose(list(order)).delta(1.0) for order in itertools.permutations(parts)]
    assert max(values) <= min(values) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 30, 300])
def test_the_least_of_all_is_no_more_than_each(k: int) -> None:
    whole = compose([chosen(0.1)] * k)
    for delta in (1e-3, 1e-9):
        bounds = [PrivacyCurve(bound).epsilon(delta) for bound in whole.bounds]
        assert whole.epsilon(delta) == min(bounds)
        assert min(bounds) < 0.1 * k * (1 if k > 3 else 1.0001)
    assert whole.delta(Fraction(k, 10) + 1) == 0


class Counted:
    """A bound that counts how often it was hashed or compared."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self, epsilon: Any) -> float:
        return math.exp(-epsilon)

    def __hash__(self) -> int:
        self.looks += 1
        return 7

    def __eq__(self, other: object) -> bool:
        self.looks += 1
        return self is other


def test_a_step_that_is_made_often_is_looked_at_a_few_times() -> None:
    bound = Counted()
    composed = compose([RHO, *[PrivacyCurve(bound)] * 1000], adaptive=True)
    assert dict(composed.bounds[0].parts) == {RHO: 1, PrivacyCurve(bound): 1000}
    assert bound.looks < 50


def test_powers_that_two_bounds_have_in_common_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many steps and one more, and of the many alone, where both take one grid."""
    read: list[Any] = []
    monkeypatch.setattr(
        "opendp_topk.spaces.curves.composed.choose_grid", lambda parts: (Fraction(1, 80), [(1, 8) for _ in parts])
    )
    monkeypatch.setattr(
        "opendp_topk.spaces.curves.composed.discretize", lambda *given: read.append(given) or discretize(*given)
    )
    many, one = PrivacyCurve(LaplacePair(0.1)), PrivacyCurve(LaplacePair(0.07))
    for steps in ([*[many] * 50, one], [many] * 50):
        compose(steps).delta(1)
    assert [given[0] for given in read] == [many, one]
