"""Privacy maps against formulas in exact rationals, to the last digit: small and large k, sizes known and unknown."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.spaces.metrics import ScoreMetric, attainable_distance
from tests.concepts.spaces import MONOTONIC, RANGE
from tests.oracles import maps, rhos

MEASURES = (tk.MaxDivergence(), RANGE, tk.ZeroConcentratedDivergence())
NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
SHAPES = [(size, k) for size in (None, 2, 3, 4, 5, 7, 1000) for k in (1, 2, 3, 5, 600) if size is None or k <= size]
SHAPES += [(None, 1000), (None, 10**6)]


def vectors(size: int | None, T: type = int) -> tk.VectorDomain:
    return tk.VectorDomain(tk.AtomDomain(T), size)


def spaces(size: int | None) -> Iterator[tuple[Any, int]]:
    """Spaces, each with how far differences of scores move at d_in = 1."""
    yield (vectors(size), MONOTONIC), 1
    yield (vectors(size), tk.LInfDistance()), 2
    yield (vectors(size), tk.RangeDistance()), 1


def is_rounded_up(found: float, exact: Fraction) -> bool:
    """Whether ``found`` is the least float64 that is not below ``exact``."""
    return found >= exact and (exact == 0 or math.nextafter(found, -math.inf) < exact)


def check(make: Callable[..., Any], size: int | None, cost: Callable[[Fraction], maps.Costs], **options: Any) -> None:
    """A constructor under the three measures, in all spaces; ``cost`` takes r to the three losses."""
    for scale, d_in in ((3, 1), (0.7, 2)):
        for space, factor in spaces(size):
            for measure, exact in zip(MEASURES, cost(factor * d_in / Fraction(scale)), strict=True):
                made = make(*space, measure, scale=scale, **options)
                assert is_rounded_up(made.map(d_in), exact), (measure, space)
                assert made.map(0) == 0


@pytest.mark.further
@pytest.mark.quick(noise=("Gumbel()", "Laplace()", "Exponential()"))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("release", ["ranking", "set"])
def test_one_shot(noise: Any, release: str) -> None:
    for size, k in SHAPES:

        def cost(r: Fraction, k: int = k, size: int | None = size) -> maps.Costs:
            return maps.one_shot(noise.name, k, size, release, r)

        check(tk.make_report_noisy_top_k, size, cost, k=k, release=release, noise=noise)


@pytest.mark.further
def test_the_noise_follows_the_measure() -> None:
    for size, k in SHAPES:
        for space, factor in spaces(size):
            for place, measure in enumerate(MEASURES):
                made = tk.make_report_noisy_top_k(*space, measure, k=k, scale=3)
                noise = "Exponential" if place == 0 else "Gumbel"
                exact = maps.one_shot(noise, k, size, "ranking", Fraction(factor, 3))[place]
                assert is_rounded_up(made.map(1), exact)


def test_single_choices() -> None:
    check(tk.make_exponential_mechanism, 4, maps.exponential_mechanism)
    check(tk.make_permute_and_flip, 4, maps.permute_and_flip)


@pytest.mark.further
def test_peeled() -> None:
    for size, k in SHAPES:
        options = {"k": k, "mechanism": "permute_and_flip"}
        check(tk.make_peeled_top_k, size, lambda r, k=k, size=size: maps.peeled(k, size, r), **options)
        options = {"k": k, "mechanism": "exponential"}
        loss = partial(maps.one_shot, "Gumbel", k, size, "ranking")
        check(tk.make_peeled_top_k, size, loss, **options)


@pytest.mark.parametrize("gamma", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("utility", ["margin", "distance"])
def test_canonical(utility: str, gamma: float) -> None:
    for size, k in [(5, 2), (5, 4), (None, 3), (None, 1000)] + [(5, 1)] * (utility == "margin"):
        options = {"k": k, "gamma": gamma, "utility": utility}
        check(tk.make_canonical_top_k, size, maps.exponential_mechanism, noise=tk.noise.Gumbel(), **options)
        check(tk.make_canonical_top_k, size, maps.permute_and_flip, noise=tk.noise.Exponential(), **options)


@pytest.mark.parametrize("release", ["ranking", "set"])
def test_joint(release: str) -> None:
    for size, k in ((None, 1), (None, 2), (None, 5), (None, 1000), (4, 1), (4, 2), (4, 3), (900, 600)):
        check(tk.make_joint_top_k, size, lambda r, k=k: maps.joint(k, r), k=k, release=release)


@pytest.mark.further
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_gaps(noise: Any) -> None:
    for size, k in [(None, k) for k in (1, 2, 3, 5, 1000)] + [(size, k) for size in (4, 5, 900) for k in (1, 2, 3)]:

        def cost(r: Fraction, k: int = k, size: int | None = size) -> maps.Costs:
            return maps.gaps(noise.name, k, size, r)

        check(tk.make_noisy_top_k_with_gaps, size, cost, k=k, noise=noise)


def test_noise_on_every_count() -> None:
    space = vectors(None), tk.L1Distance()
    for scale, d_in in ((3, 1), (0.7, 2)):
        r = d_in / Fraction(scale)
        for measure, exact in zip(MEASURES, (r, 2 * r, rhos.of_discrete_laplace(r, 1 / Fraction(scale))), strict=True):
            assert is_rounded_up(tk.make_laplace(*space, measure, scale=scale).map(d_in), exact)
    for d_in, sigma in ((1, 3), (2, 0.7)):
        made = tk.make_gaussian(vectors(None), tk.L2Distance(), tk.ZeroConcentratedDivergence(), scale=sigma)
        assert is_rounded_up(made.map(d_in), Fraction(d_in) ** 2 / (2 * Fraction(sigma) ** 2))


@pytest.mark.parametrize("d_in", [0.25, 0.3, 1.1])
def test_rounding_to_a_grid_may_move_every_score_by_a_step_more(d_in: float) -> None:
    step, size = Fraction(1, 4), 3
    space = vectors(size, float), tk.L1Distance()
    laplace = tk.make_laplace(*space, tk.MaxDivergence(), scale=3, granularity=0.25)
    assert is_rounded_up(laplace.map(d_in), step * (size + -(-Fraction(d_in) // step) - 1) / 3)
    rounded = tk.make_select_then_count(
        vectors(None, float), MONOTONIC, tk.MaxDivergence(), k=1, scale=3, count_scale=5, granularity=0.25
    )
    assert is_rounded_up(rounded.map(d_in), Fraction(d_in) / 3 + step * -(-Fraction(d_in) // step) / 5)


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5, 1000])
def test_winners_with_noisy_counts(k: int, monotonic: bool) -> None:
    space = vectors(None), tk.LInfDistance(monotonic=monotonic)
    for d_in in (1, 2):
        r, each = d_in * (1 if monotonic else 2) / Fraction(3), d_in / Fraction(5)
        options = {"k": k, "scale": 3, "count_scale": 5}
        pure = tk.make_select_then_count(*space, tk.MaxDivergence(), **options)
        assert is_rounded_up(pure.map(d_in), k * r + k * each)
        zcdp = tk.make_select_then_count(*space, tk.ZeroConcentratedDivergence(), **options)
        assert is_rounded_up(zcdp.map(d_in), k * rhos.of_range(r) + k * each * each / 2)


# Integer scores are at whole distances from each other, so a fraction of one costs nothing more.


INTS, FLOATS = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.VectorDomain(tk.AtomDomain(float), size=3)
MAX, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
SELECTIONS = {
    "report_noisy_top_k": tk.then_report_noisy_top_k(MAX, k=2, scale=2),
    "exponential_mechanism": tk.then_exponential_mechanism(RANGE, scale=2),
    "permute_and_flip": tk.then_permute_and_flip(RANGE, scale=2),
    "peeled_top_k": tk.then_peeled_top_k(ZCDP, k=2, scale=2, mechanism="permute_and_flip"),
    "canonical_top_k": tk.then_canonical_top_k(MAX, k=2, scale=2),
    "joint_top_k": tk.then_joint_top_k(MAX, k=2, scale=2),
    "noisy_top_k_with_gaps": tk.then_noisy_top_k_with_gaps(MAX, k=2, scale=2),
}
METRICS: list[ScoreMetric] = [tk.LInfDistance(), MONOTONIC, tk.RangeDistance()]
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
