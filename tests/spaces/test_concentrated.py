"""The rho of four hypotheses: evaluated upward, never exceeded by laws that obey them, and met by one that does.

Tries proofs/spaces/renyi.tex.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.spaces.costs import (
    best_order,
    conversion_overhead,
    renyi_of_laplace,
    renyi_of_pure,
    renyi_of_range,
    rho_of_discrete_laplace,
    rho_of_laplace,
    rho_of_pure,
    rho_of_range,
)
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.stated import renyi_of, rho_of
from tests.oracles import renyi

from ..oracles import rhos

TINY, LARGE = Fraction(5e-324), Fraction(10) ** 300
POINTS = [Fraction(0), TINY, Fraction(1, 10**100), Fraction(1, 10**9), Fraction(1, 513), Fraction(1, 512)]
POINTS += [Fraction(1, 511), Fraction(1, 3), Fraction(0.1), Fraction(1), Fraction(22, 7), Fraction(8), Fraction(90)]
ORDERS = (1 + 1e-7, 1.1, 1.5, 2.0, 4.0, 16.0, 100.0)
PRICES = [(rho_of_pure, rhos.of_pure), (rho_of_range, rhos.of_range), (rho_of_laplace, rhos.of_laplace)]


@pytest.mark.parametrize(("rho", "oracle"), PRICES, ids=lambda one: one.__name__)
def test_evaluated_upward_and_nearly_exactly(rho: Callable[..., Fraction], oracle: Callable[..., Fraction]) -> None:
    for x in POINTS:
        exact = oracle(x)
        assert exact * (1 - Fraction(1, 10**60)) <= rho(x) <= exact * (1 + Fraction(1, 2**99)), x
    values = [rho(x) for x in sorted(POINTS)]
    assert values == sorted(values)


@pytest.mark.parametrize("rho", [rho for rho, _ in PRICES], ids=lambda one: one.__name__)
def test_huge_losses(rho: Callable[..., Fraction]) -> None:
    """Beyond the reach of e^-x the three are between x - 1 - ln(x + 1) and x."""
    for x in (Fraction(10**6), Fraction(1e150), LARGE):
        assert x * (1 - Fraction(1, 10**4)) < rho(x) <= x


def test_integer_noise_evaluated_upward_and_nearly_exactly() -> None:
    for step, times in itertools.product(
        (Fraction(1, 10**20), Fraction(1, 512), Fraction(1, 500), Fraction(5)), (1, 3, 100)
    ):
        exact = rhos.of_discrete_laplace(step * times, step)
        assert exact <= rho_of_discrete_laplace(step * times, step) <= exact * (1 + Fraction(1, 2**99))
    assert rho_of_discrete_laplace(Fraction(0), Fraction(1)) == 0
    assert LARGE - 1 <= rho_of_discrete_laplace(LARGE, LARGE) <= LARGE
    assert rho_of_discrete_laplace(Fraction(2), Fraction(2)) == pytest.approx(
        float(rhos.of_pure(Fraction(2))), rel=1e-15
    )


def dearest(p: Any, q: Any) -> float:
    """The largest D_alpha / alpha over some orders, in both directions, of rows of laws."""
    losses = np.log(q / p)
    moments = []
    for start, sign, alpha in ((start, sign, alpha) for start, sign in ((p, 1), (q, -1)) for alpha in ORDERS[1:]):
        exponents = sign * alpha * losses
        top = exponents.max(-1, keepdims=True)
        moment = np.log((start * np.exp(exponents - top)).sum(-1)) + top[..., 0]
        moments.append(moment.max() / (alpha - 1) / alpha)
    return float(max(*moments, (q * losses).sum(-1).max(), -(p * losses).sum(-1).min()))


@pytest.mark.parametrize("a", [0.01, 0.5, 1.0, 4.0, 12.0])
def test_no_laws_of_that_range_cost_more_and_some_cost_that(a: float) -> None:
    """Random losses in an interval of length a on up to four points, and two points at all odds."""
    draw = np.random.default_rng(7)
    claimed = float(rho_of_range(Fraction(a)))
    for points in (2, 3, 4):
        p = draw.dirichlet(np.full(points, 0.5), 3000) + 1e-12
        q = p * np.exp(a * np.where(draw.random(p.shape) < 0.7, draw.integers(0, 2, p.shape), draw.random(p.shape)))
        assert dearest(p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)) <= claimed * (1 + 1e-6) + 1e-13
    odds = np.exp(np.linspace(-a - 3, 3, 4001))[:, None]
    pairs = [np.hstack([1 / (1 + t * odds), t * odds / (1 + t * odds)]) for t in (1, np.exp(a))]
    assert claimed * (1 - 1e-5) < dearest(*pairs) <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_no_bounded_losses_cost_more_than_randomised_response(epsilon: float) -> None:
    draw = np.random.default_rng(8)
    claimed = float(rho_of_pure(Fraction(epsilon)))
    top, bottom = np.exp(epsilon), np.exp(-epsilon)
    third = np.exp(epsilon * draw.uniform(-1, 1, 4000))
    weight = draw.random(4000)
    first = (1 - third * weight - (1 - weight) * bottom) / (top - bottom)  # so that both laws sum to 1
    p = np.stack([first, 1 - weight - first, weight], -1)
    density = np.stack([np.full(4000, top), np.full(4000, bottom), third], -1)
    p, density = p[(p > 0).all(-1)], density[(p > 0).all(-1)]
    assert len(p) > 100
    assert dearest(p, p * density) <= claimed * (1 + 1e-6)
    response = np.array([[1, np.exp(epsilon)]]) / (1 + np.exp(epsilon))
    assert dearest(response, response[:, ::-1]) == pytest.approx(claimed, rel=1e-6)


@pytest.mark.parametrize("loss", [0.05, 1.0, 6.0])
def test_laplace_laws_have_that_rho(loss: float) -> None:
    """By integration; the supremum over orders is the limit at 1."""
    x, step = np.linspace(-60, 60 + loss, 480_001, retstep=True)
    p, q = (np.exp(-np.abs(x - at)) / 2 * step for at in (0, loss))
    claimed = float(rho_of_laplace(Fraction(loss)))
    assert dearest(p[None], q[None]) == pytest.approx(claimed, rel=1e-5)


@pytest.mark.parametrize(("step", "moves"), [(1.0, (1,)), (1.0, (3,)), (0.25, (8,)), (0.5, (2, 1)), (2.0, (1, 1))])
def test_integer_noise_has_that_rho_where_one_entry_moves(step: float, moves: tuple[int, ...]) -> None:
    """By summation; several entries that move by as much in all cost no more, and less unless all but one stay."""
    n = np.arange(-400, 400)
    found = 0.0
    for alpha in ORDERS[1:]:
        found = max(found, sum(_renyi(n, step, move, alpha) for move in moves) / alpha)
    limit = sum(_kullback(n, step, move) for move in moves)
    claimed = float(rho_of_discrete_laplace(Fraction(step) * sum(moves), Fraction(step)))
    assert max(found, limit) <= claimed * (1 + 1e-9)
    assert found <= limit
    assert (limit == pytest.approx(claimed, rel=1e-9)) == (len(moves) == 1)


def _renyi(n: Any, step: float, move: int, alpha: float) -> float:
    log_p, log_q = -step * np.abs(n), -step * np.abs(n - move)
    total = np.exp(log_p).sum()
    return float(np.log(np.exp(alpha * log_q + (1 - alpha) * log_p).sum() / total) / (alpha - 1))


def _kullback(n: Any, step: float, move: int) -> float:
    q = np.exp(-step * np.abs(n - move))
    return float((q * step * (np.abs(n) - np.abs(n - move))).sum() / q.sum())


# Renyi divergences of one order, against those of laws and the largest that a search finds.


RENYI_ORDERS = Fraction(101, 100), Fraction(2), Fraction(35, 4), Fraction(60)
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
        for order in RENYI_ORDERS:
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
        for order in RENYI_ORDERS:
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
