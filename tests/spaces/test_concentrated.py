"""The rho of four hypotheses: evaluated upward, never exceeded by laws that obey them, and met by one that does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.spaces.costs import rho_of_discrete_laplace, rho_of_laplace, rho_of_pure, rho_of_range

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
