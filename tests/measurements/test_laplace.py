"""Noise on every score, Laplace or Gaussian: maps against mass ratios and divergences, the laws of the releases."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.gaussian import make_gaussian
from opendp_topk.measurements.laplace import make_laplace
from opendp_topk.measurements.noisy_histogram import make_noisy_histogram
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
        (build(MAX, scale=7), 2, Fraction(2, 7)),
        (build(MAX, 3, scale=0.1), 2, 2 / Fraction(0.1)),
        (build(RANGE, scale=7), 2, Fraction(4, 7)),
        (build(ZCDP, scale=7), 2, rho(Fraction(2, 7), Fraction(1, 7))),
        (build(ZCDP, scale=Fraction(7, 3)), 1.3, rho(Fraction(3, 7), Fraction(3, 7))),
        (build(MAX, 4, float, **GRID), 2, Fraction(1, 4) * 11 / 7),
        (build(MAX, 4, float, **GRID), 1e-9, Fraction(1, 4) * 4 / 7),
        (build(MAX, 1, float, **THIRD), 2, Fraction(2, 7)),
        (build(RANGE, 2, float, **THIRD), 2, Fraction(2, 3) * 7 / 7),
        (build(ZCDP, 2, float, **THIRD), 2, rho(Fraction(1, 3), Fraction(1, 21))),
        (gaussian(scale=7), 2, Fraction(2, 49)),
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


def test_without_noise_the_scores_go_to_the_grid() -> None:
    assert build(MAX, 2, float, scale=0, granularity=0.5)([0.3, -1.3]).tolist() == [0.5, -1.5]


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
    raises_exactly(tk.SpaceError, lambda: gaussian(d=2, scale=1) >> tk.index_candidates(["a", "b"]), "releases indices")


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
        assert histogram(measure, scale=2).parameters == {
            "mechanism": "noisy_histogram",
            "gaussian": gaussian,
            "scale": 2,
        }
    laplace = histogram(ZCDP, 3, scale=2, gaussian=False)
    few = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=3, monotonic=True)
    assert laplace.map(1) == tk.make_laplace(*few, ZCDP, scale=2).map(1)
    assert histogram(ZCDP, 3, scale=2).map(2) == tk.make_gaussian(*few, ZCDP, scale=2).map(2) == 3 * 4 / 8


@pytest.mark.parametrize("gaussian", [True, False])
def test_histograms_follow_the_law(gaussian: bool) -> None:
    scale, n = Fraction(3, 2), 20_000
    found = histogram(ZCDP, scale=scale, gaussian=gaussian)(np.full(n, 5)) - 5
    name, reach = ("gaussian", 5) if gaussian else ("laplace", 9)
    law = discrete.pooled(discrete.masses(name, scale), -reach, reach)
    assert_follows(discrete.counted(found.tolist(), -reach, reach), law, detects=0.24)


def test_from_a_table_to_winners_with_counts() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"who": [1, 1, 2, 3, 3], "what": ["a", "b", "b", "z", "a"]})
    space = tk.FrameDomain("who", "what"), tk.UserDistance()
    for by in ("order", "random"):
        kept = space >> tk.then_keep_items(most=1, by=by, candidates=["a", "b"])
        counts = kept >> tk.then_count_by_item(candidates=["a", "b"], max_items=1)
        best = counts >> tk.then_noisy_histogram(MAX, scale=0.0) >> tk.largest_counts(2, ["a", "b"])
        assert sum(best(table).counts) == 3
        assert (counts >> tk.then_noisy_histogram(MAX, scale=10.0)).map(1) == 0.1
        assert (counts >> tk.then_laplace(MAX, scale=10.0)).map(2) == 0.2
