"""Integer scores are at whole distances from each other, so a fraction of one costs nothing more."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.spaces.metrics import ScoreMetric, attainable_distance

INTS, FLOATS = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.VectorDomain(tk.AtomDomain(float), size=3)
MAX, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
SELECTIONS = {
    "report_noisy_top_k": tk.then_report_noisy_top_k(MAX, k=2, scale=2),
    "exponential_mechanism": tk.then_exponential_mechanism(tk.RangeDivergence(), scale=2),
    "permute_and_flip": tk.then_permute_and_flip(tk.RangeDivergence(), scale=2),
    "peeled_top_k": tk.then_peeled_top_k(ZCDP, k=2, scale=2, mechanism="permute_and_flip"),
    "canonical_top_k": tk.then_canonical_top_k(MAX, k=2, scale=2),
    "joint_top_k": tk.then_joint_top_k(MAX, k=2, scale=2),
    "noisy_top_k_with_gaps": tk.then_noisy_top_k_with_gaps(MAX, k=2, scale=2),
}
METRICS: list[ScoreMetric] = [tk.LInfDistance(), tk.LInfDistance(monotonic=True), tk.RangeDistance()]
FRACTIONS = [(0.5, 0), (Fraction(1, 3), 0), (1.5, 1), (Fraction(7, 2), 3), (math.nextafter(2, 0), 1), (4.0, 4)]


@pytest.mark.parametrize("metric", METRICS, ids=repr)
@pytest.mark.parametrize("name", SELECTIONS)
def test_selections(name: str, metric: ScoreMetric) -> None:
    whole, real = (INTS, metric) >> SELECTIONS[name], (FLOATS, metric) >> SELECTIONS[name]
    for d_in, floor in FRACTIONS:
        assert whole.map(d_in) == whole.map(floor) == real.map(floor)
        assert d_in == floor or real.map(d_in) > real.map(floor), "floats may be at any distance"
    assert whole.map(math.inf) == math.inf


def test_noise_on_counts() -> None:
    one = (INTS, tk.L1Distance()) >> tk.then_laplace(MAX, scale=2)
    real = (FLOATS, tk.L1Distance()) >> tk.then_laplace(MAX, scale=2, granularity=1)
    for d_in, floor in FRACTIONS:
        assert one.map(d_in) == one.map(floor) == floor / 2
        assert d_in == floor or real.map(d_in) > one.map(d_in)
    both = (INTS, tk.LInfDistance()) >> tk.then_select_then_count(MAX, k=2, scale=2)
    for d_in, floor in FRACTIONS:
        assert both.map(d_in) == both.map(floor)


def test_the_square_of_a_euclidean_distance_is_whole() -> None:
    noisy = (INTS, tk.L2Distance()) >> tk.then_gaussian(ZCDP, scale=1)
    assert [noisy.map(d_in) for d_in in (0.9, 1, 1.4, 1.5, Fraction(7, 2), 4)] == [0, 0.5, 0.5, 1, 6, 8]
    real = (FLOATS, tk.L2Distance()) >> tk.then_gaussian(ZCDP, scale=1, granularity=1)
    assert real.map(0.9) > 0


@pytest.mark.parametrize("d_in", [0.5, 1, 1.5, Fraction(5, 2)])
def test_no_pair_of_integers_is_left_out(d_in: Any) -> None:
    """All pairs on a small box that are within d_in are within the distance at which the map is asked."""
    asked = attainable_distance(INTS, d_in)
    for x, y in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        moves = [b - a for a, b in zip(x, y, strict=True)]
        up, down = max(*moves, 0), max(*(-one for one in moves), 0)
        for distance in (max(up, down), up + down, max(moves) - min(moves), sum(map(abs, moves))):
            assert (distance <= d_in) == (distance <= asked)


def test_the_callers_own_maps_are_asked_as_they_are() -> None:
    asked: list[Any] = []
    own = tk.make_user_measurement(
        INTS, tk.LInfDistance(), MAX, function=len, privacy_map=lambda d_in: asked.append(d_in) or d_in
    )
    assert own.map(1.5) == 1.5
    assert asked == [1.5]
