"""Noise on every score, Laplace or Gaussian: maps against mass ratios and divergences, the laws of the releases.

Tries proofs/measurements/gaussian.tex, proofs/measurements/grid.tex and proofs/measurements/noisy_histogram.tex.
"""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError, SpaceError
from opendp_topk.measurements._grid import Grid, build_grid
from opendp_topk.measurements.additive_noise import make_gaussian, make_laplace, make_noisy_histogram
from tests.concepts.sentinels import raises_exactly
from tests.oracles.noise import number

from ..oracles import discrete
from ..oracles.chi_square import assert_follows
from ..oracles.rhos import of_discrete_laplace as rho

MAX, RANGE, ZCDP = MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
ORDERS = (Fraction(3, 2), 2, 5)


def build(measure: tk.Measure = MAX, d: int | None = None, kind: type = int, **options: Any) -> tk.Measurement:
    return make_laplace(tk.VectorDomain(tk.AtomDomain(kind), size=d), tk.L1Distance(), measure, **options)


def gaussian(d: int | None = None, kind: type = int, **options: Any) -> tk.Measurement:
    return make_gaussian(tk.VectorDomain(tk.AtomDomain(kind), size=d), tk.L2Distance(), ZCDP, **options)


def realised(measure: tk.Measure, scale: Fraction, move: tuple[int, ...]) -> Any:
    """The loss of independent coordinates that move so: losses, ranges and Renyi divergences add up."""
    reach = max(map(abs, move)) + 3
    if measure == MAX:
        return sum(discrete.max_loss("laplace", scale, shift, reach) for shift in move)
    if measure == RANGE:
        return sum(discrete.loss_range("laplace", scale, shift, reach) for shift in move)
    return max(sum(discrete.renyi("laplace", scale, shift, order) for shift in move) / order for order in ORDERS)


@pytest.mark.quick(scale="1/2", measure=("MaxDivergence()", "RangeDivergence()"))
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3)], ids=str)
def test_no_neighbour_exceeds_the_map(measure: tk.Measure, scale: Fraction) -> None:
    measurement = build(measure, scale=scale)
    for move in itertools.product((-2, -1, 0, 1, 3), repeat=2):
        found = realised(measure, scale, tuple(sorted(map(abs, move))))
        claimed = measurement.map(sum(map(abs, move)))
        assert found <= claimed * (1 + 1e-25), move
        if measure != ZCDP:
            assert found >= claimed * (1 - 1e-15), "attained"


GRID, THIRD = {"scale": 7, "granularity": 0.25}, {"scale": 7, "granularity": Fraction(1, 3)}
HALF = {"scale": 7, "granularity": 0.5}


@pytest.mark.parametrize(
    ("measurement", "d_in", "cost"),
    [
        (build(ZCDP, scale=Fraction(7, 3)), 1.3, rho(Fraction(3, 7), Fraction(3, 7))),
        (build(MAX, 4, float, **GRID), 2, Fraction(1, 4) * 11 / 7),
        (build(MAX, 4, float, **GRID), 1e-9, Fraction(1, 4) * 4 / 7),
        (build(MAX, 1, float, **THIRD), 2, Fraction(2, 7)),
        (build(RANGE, 2, float, **THIRD), 2, Fraction(2, 3) * 7 / 7),
        (build(ZCDP, 2, float, **THIRD), 2, rho(Fraction(1, 3), Fraction(1, 21))),
        (gaussian(3, scale=0.1), math.sqrt(2), 2 / (2 * Fraction(0.1) ** 2)),
        (gaussian(scale=Fraction(7, 3)), Fraction(4, 3), Fraction(9, 98)),
        (gaussian(1, float, **HALF), 2, Fraction(1, 4) * (15 + 2 * 3 + 1) / 98),
        (gaussian(4, float, **HALF), 1e-9, Fraction(1, 4) * 4 / 98),
        (gaussian(4, float, **HALF), 2, Fraction(1, 4) * (15 + 2 * 7 + 4) / 98),
    ],
)
def test_the_map_is_the_formula_rounded_up_once(measurement: tk.Measurement, d_in: Any, cost: Fraction) -> None:
    found = measurement.map(d_in)
    assert isinstance(found, float)
    assert math.nextafter(found, 0) < cost <= found


def test_the_floats_pay_for_the_pairs_that_rounding_drives_apart() -> None:
    """Two floats a hair apart on either side of a middle: the releases are a step apart, which costs g / b."""
    measurement = build(MAX, 1, float, scale=2, granularity=1)
    x, y = [math.nextafter(0.5, 0)], [0.5]
    assert build(MAX, 1, float, scale=0, granularity=1)(x).tolist() == [0.0]
    assert build(MAX, 1, float, scale=0, granularity=1)(y).tolist() == [1.0]
    assert measurement.map(y[0] - x[0]) == 0.5


@pytest.mark.parametrize(
    ("make", "name", "reach", "detects"),
    [(build, "laplace", (15, 12), (0.2, 0.28)), (gaussian, "gaussian", (9, 9), (0.23, 0.32))],
)
def test_releases_follow_the_law(make: Any, name: str, reach: tuple[int, int], detects: tuple[float, float]) -> None:
    """Those of all scores, and those of every other one."""
    scale, n = Fraction(5, 2), 20_000
    x = np.array([7, -3] * (n // 2))
    found = make(scale=scale)(x)
    assert found.shape == (n,)
    for errors, far, least in zip((found - x, (found - x)[::2]), reach, detects, strict=True):
        law = discrete.pooled(discrete.masses(name, scale), -far, far)
        assert_follows(discrete.counted(errors.tolist(), -far, far), law, detects=least)


@pytest.mark.further
@pytest.mark.parametrize(
    ("make", "name", "reach", "detects"), [(build, "laplace", 20, 0.43), (gaussian, "gaussian", 12, 0.49)]
)
def test_releases_of_floats_follow_the_law_on_the_grid(make: Any, name: str, reach: int, detects: float) -> None:
    scale, step, n = Fraction(1), Fraction(1, 4), 8000
    found = make(d=n, kind=float, scale=scale, granularity=step)([0.3] * n)
    steps = [Fraction(value) / step - 1 for value in found.tolist()]
    assert all(value.denominator == 1 for value in steps)
    law = discrete.pooled(discrete.masses(name, scale / step), -reach, reach)
    assert_follows(discrete.counted(map(int, steps), -reach, reach), law, detects=detects)


def test_coordinates_are_independent() -> None:
    pairs = build(scale=1)([0] * 40_000).reshape(-1, 2).clip(-2, 2)
    mass = discrete.pooled(discrete.masses("laplace", Fraction(1)), -1, 1)
    names = dict(zip((-2, -1, 0, 1, 2), mass, strict=True))
    law = {(a, b): p * q for a, p in mass.items() for b, q in mass.items()}
    counts: dict[Any, int] = {}
    for a, b in pairs.tolist():
        counts[names[a], names[b]] = counts.get((names[a], names[b]), 0) + 1
    assert_follows(counts, law, detects=0.19)


@pytest.mark.further
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3)], ids=str)
@pytest.mark.parametrize("order", [Fraction(5, 4), Fraction(3, 2), 2, 3, Fraction(7, 2)], ids=str)
def test_no_neighbour_exceeds_the_map_and_whole_orders_attain_it(scale: Fraction, order: int | Fraction) -> None:
    measurement = gaussian(scale=scale)
    for move in itertools.product((-1, 0, 2), repeat=2):
        square = sum(shift * shift for shift in move)
        claimed = square / (2 * scale * scale)
        with mpmath.workdps(40):
            found = sum(discrete.renyi("gaussian", scale, shift, order) for shift in move) / number(Fraction(order))
            assert found <= number(claimed) + mpmath.mpf(10) ** -22, move
            if order in (2, 3):
                assert found >= number(claimed) - mpmath.mpf(10) ** -22, "attained"
        if square in (0, 1, 4):
            assert measurement.map(math.isqrt(square)) >= claimed


def test_noisy_scores_are_no_indices() -> None:
    raises_exactly(SpaceError, lambda: gaussian(d=2, scale=1) >> tk.index_candidates(["a", "b"]), "releases indices")


def histogram(measure: tk.Measure, changes: int = 1, size: int | None = None, **options: Any) -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(int), size=size), tk.L01InfDistance(changes=changes, monotonic=True)
    return make_noisy_histogram(*space, measure, **options)


def test_twenty_winners_with_counts_for_people_of_one_item_cost_what_one_count_costs() -> None:
    """Fifty candidates at epsilon .1: scale 10, where a selection and counts of its winners need 400."""
    twenty = histogram(MAX, size=50, scale=10) >> tk.largest_counts(20)
    assert twenty.map(1) == 0.1
    space = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.LInfDistance(monotonic=True)

    def counted(scale: float) -> tk.Measurement:
        return space >> tk.then_select_then_count(MAX, k=20, scale=scale)

    assert tk.binary_search_param(counted, 1, 0.1) == pytest.approx(400)
    released = twenty(np.arange(50) * 10_000)
    assert released.indices.tolist() == list(range(49, 29, -1))


def test_the_noise_follows_the_measure_or_the_word() -> None:
    for measure, gaussian in ((MAX, False), (RANGE, False), (ZCDP, True), (tk.PrivacyProfile(), True)):
        parameters = histogram(measure, scale=2).parameters
        assert parameters == {"mechanism": "noisy_histogram", "gaussian": gaussian, "scale": 2}
    laplace = histogram(ZCDP, 3, scale=2, gaussian=False)
    few = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=3, monotonic=True)
    assert laplace.map(1) == tk.make_laplace(*few, ZCDP, scale=2).map(1)
    assert histogram(ZCDP, 3, scale=2).map(2) == tk.make_gaussian(*few, ZCDP, scale=2).map(2) == 3 * 4 / 8


def test_from_a_table_to_winners_with_counts() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"who": [1, 1, 2, 3, 3], "what": ["a", "b", "b", "z", "a"]})
    space = tk.FrameDomain("who", "what"), tk.UserDistance()
    for by in ("order", "random"):
        kept = space >> tk.then_bound_contributions(most=1, by=by, candidates=["a", "b"])
        counts = kept >> tk.then_count_by_item(candidates=["a", "b"], max_items=1)
        best = counts >> tk.then_noisy_histogram(MAX, scale=0.0) >> tk.largest_counts(2, ["a", "b"])
        assert sum(best(table).counts) == 3
        assert (counts >> tk.then_noisy_histogram(MAX, scale=10.0)).map(1) == 0.1
        assert (counts >> tk.then_laplace(MAX, scale=10.0)).map(2) == 0.2


# Rounding to the grid: what it returns, and how far it moves neighbours apart.


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
def test_integer_sums_are_exact_and_int64(scores: np.ndarray, noise: np.ndarray, sums: list[int], kind: type) -> None:
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
        (INT, 1, False, ParameterError, "granularity must be omitted"),
        (FLOAT, None, False, ParameterError, "granularity must be given for float scores"),
        (FLOAT, 0, False, ParameterError, "granularity must be > 0"),
        (FLOAT, 0.0, False, ParameterError, "granularity must be > 0"),
        (FLOAT, -1, False, ParameterError, "granularity must be >= 0"),
        (FLOAT, math.inf, False, ParameterError, "granularity must be finite"),
        (FLOAT, math.nan, False, ParameterError, "granularity must be finite"),
        (FLOAT, "1", False, ParameterTypeError, "granularity must be a number"),
        (FLOAT, True, False, ParameterTypeError, "granularity must be a number"),
        (FLOAT, 0.5, True, ParameterError, "input_domain must declare its size"),
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
