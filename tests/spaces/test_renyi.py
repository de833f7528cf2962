"""Renyi divergences of one order, against those of laws and the largest that a search finds.

Tries proofs/spaces/renyi.tex.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from opendp_topk.spaces.costs import best_order, conversion_overhead, renyi_of_laplace, renyi_of_pure, renyi_of_range
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.stated import renyi_of, rho_of

from ..oracles import renyi

ORDERS = Fraction(101, 100), Fraction(2), Fraction(35, 4), Fraction(60)
LOSSES = Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(8)
BUDGETS = [(Fraction(e), Fraction(d)) for e, d in (("1/10", "1e-9"), ("1", "1e-6"), ("3", "1e-4"), ("9", "0.3"))]


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bound", "oracle"),
    [(renyi_of_pure, renyi.of_response), (renyi_of_range, renyi.of_range), (renyi_of_laplace, renyi.of_laplace)],
)
def test_the_worst_laws_have_that_divergence(bound: Any, oracle: Any) -> None:
    found = []
    with mpmath.workdps(30):
        for order in ORDERS:
            for loss in LOSSES[:: 3 if oracle is renyi.of_laplace else 1]:
                claimed, most = real(bound(order, loss)), oracle(real(order), real(loss))
                if not most * (1 - mpmath.mpf(10) ** -8) <= claimed <= most * (1 + mpmath.mpf(10) ** -6):
                    found.append((order, loss, claimed / most))
    assert found == []


def formulas(order: Any, loss: Any) -> tuple[Any, Any, Any]:
    """What the theorem says, with all the digits that mpmath has: of a pure loss, of a range, of Laplace laws."""
    beta, e = order - 1, lambda x: -mpmath.expm1(-x)
    odds = mpmath.exp(-loss) * e(2 * beta * loss) / (1 + mpmath.exp(-(2 * beta + 1) * loss))
    u, v = order * e(beta * loss) / (beta * e(order * loss)), order * e(loss) / e(order * loss)
    x = beta * e((2 * beta + 1) * loss) / (2 * beta + 1)
    return (
        loss - mpmath.log1p(odds) / beta,
        loss - mpmath.log(u) - mpmath.log(v) / beta,
        loss + mpmath.log1p(-x) / beta,
    )


def test_bounds_err_upward_and_after_thirty_digits() -> None:
    below = []
    with mpmath.workdps(80):
        for order in ORDERS:
            for loss in LOSSES:
                bounds = renyi_of_pure(order, loss), renyi_of_range(order, loss), renyi_of_laplace(order, loss)
                for bound, true in zip(map(real, bounds), formulas(real(order), real(loss)), strict=True):
                    if not true <= bound <= true + mpmath.mpf(10) ** -30:
                        below.append((order, loss, float(bound - true)))
            for share in (Fraction(1, 10**9), Fraction(1, 3)):
                beta, most = real(order - 1), real(conversion_overhead(order, share))
                true = (mpmath.log(1 / real(share)) - mpmath.log1p(beta)) / beta - mpmath.log1p(1 / beta)
                if not true <= most <= true + mpmath.mpf(10) ** -11:
                    below.append((order, share, float(most - true)))
    assert below == []


def attack(order: float, divergence: float, epsilon: float) -> float:
    """The largest delta of laws of two answers that have this divergence, over the higher of their losses."""

    def moment(p: float, loss: float) -> float:
        q = p * math.exp(loss)
        return p * math.exp(order * loss) + (1 - q) * ((1 - q) / (1 - p)) ** (order - 1)

    def delta(share: float) -> float:
        loss = epsilon + share * (divergence + 20 / order)
        low, high = 0.0, math.exp(-loss)
        for _ in range(80):
            middle = (low + high) / 2
            fits = moment(middle, loss) <= math.exp((order - 1) * divergence)
            low, high = (middle, high) if fits else (low, middle)
        return low * (math.exp(loss) - math.exp(epsilon))

    return float(renyi.largest(lambda share: delta(float(share))))


@pytest.mark.further
def test_a_budget_is_kept_and_nearly_reached_by_some_laws() -> None:
    for epsilon, delta, reached in (("1/10", "1e-9", 0.95), ("1", "1e-6", 0.99), ("3", "1e-4", 0.99), ("9", "0.3", 0)):
        order = best_order(Fraction(epsilon), Fraction(delta))
        most = Fraction(epsilon) - conversion_overhead(order, Fraction(delta))
        worst, promised = attack(float(order), float(most), float(Fraction(epsilon))), float(delta)
        assert promised * reached <= worst <= promised * (1 + 1e-9), (epsilon, delta, worst)
        assert reached < 0.5 or attack(float(order), float(most) * 1.05, float(Fraction(epsilon))) > promised


def test_the_order_has_the_largest_rho() -> None:
    for epsilon, delta in BUDGETS:
        order = best_order(epsilon, delta)
        chosen = (epsilon - conversion_overhead(order, delta)) / order
        others = [1 + (order - 1) * Fraction(n, 20) for n in (2, 10, 19, 21, 40, 200)]
        assert all((epsilon - conversion_overhead(one, delta)) / one < chosen for one in others)


def test_a_budget_beyond_floats_has_an_order() -> None:
    assert 1 < best_order(Fraction(10**400), Fraction(1, 10**9)) < float("inf")
    assert best_order(Fraction(10**400), Fraction(1, 10**9)) == best_order(Fraction(10**300), Fraction(1, 10**9))


def test_what_a_curve_says_of_one_order() -> None:
    half, order = Fraction(1, 2), Fraction(9)
    pure = PrivacyCurve(ApproximateDP(half))
    ranged = PrivacyCurve(AdaptiveRangeBound(3, half))
    twice = PrivacyCurve(Composed(((PrivacyCurve(LaplacePair(half)), 2),)))
    assert renyi_of(pure, order) == renyi_of_pure(order, half) < order * Fraction(rho_of(pure)) / 2
    assert renyi_of(ranged, order) == 3 * renyi_of_range(order, half) < order * Fraction(rho_of(ranged))
    assert renyi_of(twice, order) == 2 * renyi_of_laplace(order, half) < order * Fraction(rho_of(twice))
    assert renyi_of(PrivacyCurve(ZCDPBound(half)), order) == 9 * half
    assert renyi_of(PrivacyCurve(ApproximateDP(half, half)), order) == float("inf")
    assert renyi_of(PrivacyCurve(ApproximateDP(0)), order) == 0
