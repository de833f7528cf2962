"""Noise on integers of which few move, against products of the laws of one integer: no code of the library in them.

Tries proofs/measurements/moved.tex.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements import _moved

from ..oracles import discrete

MAX, RANGE, ZCDP, PROFILE = (
    tk.MaxDivergence(),
    tk.RangeDivergence(),
    tk.ZeroConcentratedDivergence(),
    tk.PrivacyProfile(),
)
MAKERS: dict[str, Any] = {"laplace": tk.make_laplace, "gaussian": tk.make_gaussian}
WHOLE = {"laplace": tk.L1Distance(), "gaussian": tk.L2Distance()}
EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.7)
ERROR = 1e-11  # of sums of 10^5 floats, and far above what the laws are cut off by


def build(
    name: str, metric: tk.Metric, measure: tk.Measure, scale: Fraction, size: int | None = None
) -> tk.Measurement:
    measurement: tk.Measurement = MAKERS[name](
        tk.VectorDomain(tk.AtomDomain(int), size=size), metric, measure, scale=scale
    )
    return measurement


@functools.cache
def pair(name: str, scale: Fraction, move: int) -> tuple[Any, Any]:
    """The masses of one integer, and of one that moved, at the same outcomes."""
    masses = discrete.masses(name, scale)
    reach = max(masses) + move
    law = np.array([float(masses.get(z, 0)) for z in range(-reach, reach + 1)])
    moved = np.array([float(masses.get(z - move, 0)) for z in range(-reach, reach + 1)])
    kept = law + moved > 1e-17
    return law[kept], moved[kept]


@functools.cache
def product(name: str, scale: Fraction, moves: tuple[int, ...]) -> tuple[Any, Any]:
    """The masses of several independent integers, without those outcomes that hardly occur."""
    law, moved = np.ones(1), np.ones(1)
    for move in moves:
        one, other = pair(name, scale, move)
        law, moved = np.outer(law, one).ravel(), np.outer(moved, other).ravel()
        kept = law + moved > 1e-18
        law, moved = law[kept], moved[kept]
    return law, moved


def hockey_stick(name: str, scale: Fraction, moves: tuple[int, ...], epsilon: float) -> float:
    law, moved = product(name, scale, moves)
    return float(np.maximum(moved - math.exp(epsilon) * law, 0).sum())


def shapes(each: int, total: int, squares: int, size: int) -> Iterator[tuple[int, ...]]:
    """All moves of ``size`` integers within the bounds, in falling order."""
    for moves in itertools.combinations_with_replacement(range(each, -1, -1), size):
        if sum(moves) <= total and sum(move * move for move in moves) <= squares:
            yield moves


# Metrics, the distance, and what it allows of three integers: each, all together, their squares.
CASES = [
    (tk.L01InfDistance(changes=1), 1, (1, 1, 99)),
    (tk.L01InfDistance(changes=2), 1, (1, 2, 99)),
    (tk.L01InfDistance(changes=7, monotonic=True), 1.5, (1, 7, 99)),
    (tk.L01InfDistance(changes=1), 2, (2, 2, 99)),
    (tk.L01InfDistance(changes=2, monotonic=True), 2, (2, 4, 99)),
    (None, 1, (1, 1, 1)),
    (None, 2, {"laplace": (2, 2, 99), "gaussian": (2, 99, 4)}),
    (None, 3, {"laplace": (3, 3, 99), "gaussian": (3, 99, 9)}),
]


@pytest.mark.quick(case=(1, 6), name="gaussian")
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_moves_exceed_a_curve_and_the_worst_ones_meet_it(case: int, name: str) -> None:
    """All moves of three integers; the largest loss of any is within a hundredth of the curve."""
    scale, (metric, d_in, allowed) = Fraction(5, 2), CASES[case]
    bounds = allowed[name] if isinstance(allowed, dict) else allowed
    curve = build(name, metric or WHOLE[name], PROFILE, scale, size=3).map(d_in)
    for epsilon in EPSILONS:
        met = max(hockey_stick(name, scale, moves, epsilon) for moves in shapes(*bounds, 3))
        assert met - ERROR <= curve.delta(epsilon) <= met * 1.01 + ERROR, epsilon


@pytest.mark.further
@pytest.mark.quick(name="gaussian")
@pytest.mark.parametrize("name", MAKERS)
def test_no_moves_exceed_a_rho_and_the_most_that_move_attain_it(name: str) -> None:
    scale, order = Fraction(7, 3), Fraction(2) if name == "gaussian" else Fraction(1001, 1000)
    for metric, d_in, allowed in CASES:
        bounds = allowed[name] if isinstance(allowed, dict) else allowed
        claimed = build(name, metric or WHOLE[name], ZCDP, scale, size=3).map(d_in)
        met = max(
            float(mpmath.fsum(discrete.renyi(name, scale, move, order) for move in moves) / order)
            for moves in shapes(*bounds, 3)
        )
        assert met <= claimed * (1 + 1e-12), (metric, d_in)
        assert claimed <= met * (1.001 if metric or d_in != 2 else 1.01), (metric, d_in)


def test_pure_losses_and_ranges_are_those_of_all_that_move() -> None:
    scale = Fraction(7, 3)
    for changes, d_in, size, total in ((1, 1, None, 1), (3, 1, None, 3), (3, 2, None, 6), (3, 2, 2, 4), (9, 1, 4, 4)):
        metric = tk.L01InfDistance(changes=changes)
        assert build("laplace", metric, MAX, scale, size).map(d_in) == pytest.approx(float(total / scale), rel=1e-15)
        assert build("laplace", metric, RANGE, scale, size).map(d_in) == pytest.approx(float(2 * total / scale))


@pytest.mark.further
def test_a_hundred_counts_cost_a_hundred_times_one() -> None:
    """The numbers of one user with a hundred items: the sum of what each count loses, not the square of the sum."""
    hundred = tk.L01InfDistance(changes=100, monotonic=True)
    assert build("laplace", hundred, ZCDP, Fraction(50)).map(1) == pytest.approx(0.0200, abs=5e-5)
    ten = tk.L01InfDistance(changes=10)
    assert build("laplace", ten, PROFILE, Fraction(10)).map(1).delta(0.5) == pytest.approx(0.00993, abs=1e-5)


def test_moves_of_many_shapes_are_told_by_their_rho() -> None:
    for name in MAKERS:
        metric = tk.L01InfDistance(changes=40)
        curve, rho = (build(name, metric, one, Fraction(30)).map(3) for one in (PROFILE, ZCDP))
        assert 0 < curve.delta(rho + 2 * math.sqrt(rho * math.log(1e6))) <= 1e-6


def test_no_distance_costs_nothing_and_no_noise_everything() -> None:
    for name in MAKERS:
        metric = tk.L01InfDistance(changes=2)
        for measure in (ZCDP, PROFILE):
            noisy, bare = (build(name, metric, measure, Fraction(scale)) for scale in (2, 0))
            for free in (noisy.map(0), bare.map(0), noisy.map(0.5)):
                assert measure.at_most(free, 0.0)
            assert noisy.map(math.inf) == bare.map(1) == measure.infinite


@pytest.mark.slow
def test_curves_lie_within_the_bounds_of_another_accountant() -> None:
    """dp-accounting composes the same discrete laws, rounding losses down and up."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for name, scale, changes in (("laplace", 10, 7), ("gaussian", 6, 12), ("laplace", 3, 2), ("gaussian", 20, 50)):
        curve = build(name, tk.L01InfDistance(changes=changes), PROFILE, Fraction(scale)).map(1)
        make = getattr(accounting, f"from_discrete_{name}_mechanism")
        first = {"laplace": 1 / scale, "gaussian": scale}[name]
        low, high = (
            make(first, sensitivity=1, value_discretization_interval=1e-4, pessimistic_estimate=one).self_compose(
                changes
            )
            for one in (False, True)
        )
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            delta = curve.delta(epsilon)
            assert low.get_delta_for_epsilon(epsilon) <= delta * (1 + 1e-9) + 1e-15, (name, epsilon)
            assert delta <= high.get_delta_for_epsilon(epsilon) * 1.005 + 1e-12, (name, epsilon)


def test_the_rho_by_odds_noise_is_a_bound_and_a_tight_one() -> None:
    with mpmath.workdps(120):  # much cancels where h is small
        for h in (Fraction(1, 2**20), Fraction(1, 4), Fraction(1), Fraction(3), Fraction(40)):
            exact = mpmath.mpf(h.numerator) / h.denominator
            exact = exact * mpmath.coth(exact / 2) - 2
            found = _moved._rho_by_odds(h)
            assert exact <= mpmath.mpf(found.numerator) / found.denominator <= exact * (1 + mpmath.mpf("1e-9"))


def test_where_all_may_move_by_the_most_there_is_one_shape_however_large() -> None:
    assert _moved.maximal_change_shapes(_moved.ChangedScores(1000, 2000, 2 * 10**6, 2)) == (Counter({1000: 2}),)
    assert _moved.maximal_change_shapes(_moved.ChangedScores(1000, 2000, 2 * 10**6 - 1, 2)) == ()
