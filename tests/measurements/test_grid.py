"""Rounding to the grid: what it returns, and how far it moves neighbours apart."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements._grid import Grid, build_grid

from ..concepts.sentinels import raises_exactly

STEPS = [Fraction(1), Fraction(1, 4), Fraction(3, 7), Fraction(0.1), Fraction(2**20)]
INTEGERS = Grid(Fraction(1), rounds=False)
SIZED = tk.VectorDomain(tk.AtomDomain(float), size=100)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_score_goes_to_the_nearest_multiple_upward_halfway(step: Fraction) -> None:
    grid, generator = Grid(step, rounds=True), random.Random(str(step))
    for _ in range(200):
        x = generator.uniform(-20, 20) * float(step)
        n = grid.nearest_step_count(x)
        assert -Fraction(1, 2) < n - Fraction(x) / step <= Fraction(1, 2)
    assert [grid.nearest_step_count(float(step / 2) * m) for m in (1, 3, -1)] == [1, 2, 0] or step.denominator in (7, 5)


def test_extreme_scores_are_rounded_exactly() -> None:
    grid = Grid(Fraction(5e-324), rounds=True)
    assert grid.nearest_step_count(1.7e308) == Fraction(1.7e308) / Fraction(5e-324)
    assert Grid(Fraction(1.7e308), rounds=True).nearest_step_count(-5e-324) == 0
    assert Grid(Fraction(3), rounds=True).nearest_step_count(2.0**60 + 2**10) == (2**60 + 2**10 + 1) // 3


def moves(grid: Grid, x: list[float], y: list[float]) -> list[int]:
    return [abs(grid.nearest_step_count(a) - grid.nearest_step_count(b)) for a, b in zip(x, y, strict=True)]


@pytest.mark.quick(size=(1, 2, 3))
@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_no_pair_moves_further_on_the_grid_than_the_bounds(step: Fraction, size: int) -> None:
    grid, generator = Grid(step, rounds=True), random.Random(f"{step} {size}")
    for _ in range(300):
        x = [generator.uniform(-3, 3) * float(step) for _ in range(size)]
        reach = generator.choice([0.01, 0.6, 1.0, 4.0])
        y = [a + generator.uniform(-reach, reach) * float(step) * generator.choice([0, 1, 1]) for a in x]
        change = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True)]
        if not any(change):
            continue
        on_grid = [step * m for m in moves(grid, x, y)]
        assert max(on_grid) <= grid.largest_change(max(change))
        assert sum(on_grid) <= grid.l1_distance_bound(sum(change), size)
        euclidean = Fraction(math.isqrt(int(sum(c * c for c in change) * 10**40)) + 1, 10**20)
        assert sum(m * m for m in on_grid) <= grid.squared_l2_bound(euclidean, size)


@pytest.mark.parametrize(("size", "distance"), list(itertools.product([1, 2, 4], [0.25, 1.0, 2.5, 3.0])))
def test_the_bounds_on_single_moves_and_on_sums_are_attained(size: int, distance: float) -> None:
    """All scores a hair below the middle of two multiples: a hair carries each of them over."""
    grid, hair = Grid(Fraction(1), rounds=True), 2.0**-30
    x = [0.5 - hair] * size
    y = [0.5] * size
    y[0] += math.ceil(distance) - 1
    change = [b - a for a, b in zip(x, y, strict=True)]
    assert max(change) <= distance
    assert max(moves(grid, x, y)) == grid.largest_change(Fraction(distance))
    if sum(change) <= distance:
        assert sum(moves(grid, x, y)) == grid.l1_distance_bound(Fraction(distance), size)
    else:
        pytest.fail("the pair must be within the distance")


@pytest.mark.parametrize("distance", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_bound_on_squares_is_below_that_of_the_triangle(size: int, distance: Fraction) -> None:
    found = Grid(Fraction(1, 3), rounds=True).squared_l2_bound(distance, size)
    assert distance**2 <= found <= (float(distance) + math.sqrt(size) / 3) ** 2 * (1 + 1e-12)


def test_the_bound_on_squares_is_attained_where_all_move_alike() -> None:
    """Four scores that move by 1 + a hair each, and so by two steps, are at distance 2 and a hair."""
    grid, hair = Grid(Fraction(1), rounds=True), 2.0**-20
    x, y = [0.5 - hair] * 4, [1.5] * 4
    distance = 2 * (Fraction(1) + Fraction(hair))
    assert sum(m * m for m in moves(grid, x, y)) == 16 == grid.squared_l2_bound(distance, 4)


def test_integers_move_by_whole_numbers() -> None:
    assert INTEGERS.largest_change(Fraction(7, 2)) == INTEGERS.l1_distance_bound(Fraction(7, 2), 5) == 3
    assert INTEGERS.squared_l2_bound(Fraction(3, 2), 5) == 2


@pytest.mark.parametrize(
    ("scores", "noise", "sums", "kind"),
    [
        (np.array([1, -2]), np.array([3, 4]), [4, 2], np.int64),
        (np.array([2**63 - 1, -(2**63)]), np.array([1, -1]), [2**63, -(2**63) - 1], object),
        (np.array([2**63 - 1, 5]), np.array([1, 0]), [2**63, 5], object),
        (np.array([5, -(2**63)]), np.array([0, -1]), [5, -(2**63) - 1], object),
        (np.array([2**63 - 1, -(2**63)]), np.array([-1, 1]), [2**63 - 2, 1 - 2**63], np.int64),
        (np.array([2**64 - 1, 5], dtype=np.uint64), np.array([1, -6]), [2**64, -1], object),
        (np.array([2**53 + 1, 5], dtype=np.uint64), np.array([2, -6]), [2**53 + 3, -1], np.int64),
        (np.array([1, 2]), np.array([2**70, -(2**70)], dtype=object), [2**70 + 1, 2 - 2**70], object),
        (np.array([2**70, 7], dtype=object), np.array([-(2**70), 0], dtype=object), [0, 7], np.int64),
    ],
)
def test_integer_sums_are_exact_and_int64_wherever_all_fit(
    scores: np.ndarray, noise: np.ndarray, sums: list[int], kind: type
) -> None:
    found = INTEGERS.add_noise(scores, noise)
    assert found.dtype == kind
    assert found.tolist() == sums


def test_floats_become_the_numbers_nearest_to_multiples() -> None:
    grid = Grid(Fraction(1, 10), rounds=True)
    found = grid.add_noise(np.array([0.26, -1.0, 1e300]), np.array([4, 0, -3]))
    assert found.dtype == np.float64
    assert found.tolist() == [0.7, -1.0, 1e300]
    huge = Grid(Fraction(2**1023), rounds=True)
    assert huge.add_noise(np.array([0.0, 0.0]), np.array([2, -2])).tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize("build", [
    partial(tk.make_laplace, SIZED, tk.L1Distance(), tk.MaxDivergence()),
    partial(tk.make_gaussian, SIZED, tk.L2Distance(), tk.ZeroConcentratedDivergence()),
    partial(tk.make_select_then_count, SIZED, tk.LInfDistance(), tk.MaxDivergence(), k=100, count_scale=0),
])  # fmt: skip
def test_a_step_that_is_a_float_is_the_decimal_that_it_prints_as(build: Callable[..., tk.Measurement]) -> None:
    """Some multiples of the float64 0.01 are nearest to other numbers, and a distance of 0.1 is more than one tenth."""
    scores = [n / 100 for n in range(100, 0, -1)]
    noisy = build(scale=0, granularity=0.01)(scores)
    assert getattr(noisy, "counts", noisy).tolist() == scores
    tenth, written = (build(scale=2, granularity=step) for step in (Fraction(1, 10), 0.1))
    for d_in in (0.1, Fraction(1, 10), 0.25, 1):
        assert written.map(d_in) == tenth.map(d_in)


INT, FLOAT = tk.VectorDomain(tk.AtomDomain(int)), tk.VectorDomain(tk.AtomDomain(float))


@pytest.mark.parametrize(
    ("domain", "granularity", "sized", "error", "required"),
    [
        (INT, 1, False, tk.ParameterError, "granularity must be left out"),
        (FLOAT, None, False, tk.ParameterError, "granularity must be given for float scores"),
        (FLOAT, 0, False, tk.ParameterError, "granularity must be > 0"),
        (FLOAT, 0.0, False, tk.ParameterError, "granularity must be > 0"),
        (FLOAT, -1, False, tk.ParameterError, "granularity must be >= 0"),
        (FLOAT, math.inf, False, tk.ParameterError, "granularity must be finite"),
        (FLOAT, math.nan, False, tk.ParameterError, "granularity must be finite"),
        (FLOAT, "1", False, tk.ParameterTypeError, "granularity must be a number"),
        (FLOAT, True, False, tk.ParameterTypeError, "granularity must be a number"),
        (FLOAT, 0.5, True, tk.ParameterError, "input_domain must declare its size"),
    ],
)
def test_bad_grids(
    domain: tk.VectorDomain, granularity: object, sized: bool, error: type[Exception], required: str
) -> None:
    raises_exactly(error, lambda: build_grid(domain, granularity, sized=sized), required)


def test_good_grids() -> None:
    assert build_grid(INT, None, sized=True) == INTEGERS
    assert build_grid(FLOAT, np.float64(0.25), sized=False) == Grid(Fraction(1, 4), rounds=True)
    assert build_grid(tk.VectorDomain(tk.AtomDomain(float), size=2), Fraction(1, 3), sized=True).step == Fraction(1, 3)
