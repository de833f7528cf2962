"""What measures read in a cost up to a delta, against randomised response with a part that reveals everything."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.spaces.costs import FREE, STRICT, Cost, require_with_delta, with_delta
from tests.concepts.losses import hockey_stick
from tests.concepts.sentinels import raises_exactly

MAX, ZCDP, PROFILE = STRICT
COST = Cost.from_bounded_range(Fraction(1), Fraction(2))
DELTA = Fraction(1, 3)


def laws(strict: bool) -> tuple[dict[str, mpmath.mpf], dict[str, mpmath.mpf]]:
    """Randomised response of loss 1; with probability 1/3 the truth instead, or a third of it moved to the truth."""
    e = mpmath.e
    true, other = (e / (1 + e), 1 / (1 + e))
    if strict:
        share = 1 - mpmath.mpf(1) / 3
        first = {"a": share * true, "b": share * other, "A": mpmath.mpf(1) / 3}
        second = {"a": share * other, "b": share * true, "B": mpmath.mpf(1) / 3}
        return first, second
    return {"a": true - mpmath.mpf(1) / 3, "b": other, "A": mpmath.mpf(1) / 3}, {"a": other, "b": true}


@pytest.mark.parametrize("strict", [True, False])
def test_the_curve_is_attained_at_the_pure_loss_and_exceeded_nowhere(strict: bool) -> None:
    curve = with_delta(PROFILE, COST, DELTA, strict=strict)
    for epsilon in (0, 0.25, 0.5, 1, 2):
        assert hockey_stick(*laws(strict), epsilon) <= curve.delta(epsilon) + 1e-20
    assert float(hockey_stick(*laws(strict), 1)) == pytest.approx(curve.delta(1))
    looser = with_delta(PROFILE, COST, DELTA, strict=False)
    assert curve.delta(0.5) <= looser.delta(0.5)


def test_pairs_are_rounded_up() -> None:
    for measure, loss in ((MAX, mpmath.mpf(1)), (ZCDP, mpmath.tanh(0.5))):
        distance = with_delta(measure, COST, DELTA, strict=True)
        assert 0 <= distance[0] - loss < 2**-52
        assert 0 < Fraction(distance[1]) - DELTA < Fraction(1, 2**53)
        assert with_delta(measure, FREE, Fraction(0), strict=True) == (0, 0)


def test_measures_without_a_delta_are_refused() -> None:
    for measure in (tk.MaxDivergence(), tk.Approximate(tk.RangeDivergence()), None):
        raises_exactly(
            tk.ParameterTypeError, lambda one=measure: require_with_delta(one, STRICT, "!"), "PrivacyProfile()!"
        )
