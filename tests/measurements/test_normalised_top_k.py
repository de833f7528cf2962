"""The claims of make_normalised_top_k: its law, its loss on small cases, what is attained, arguments."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError, SpaceError
from opendp_topk.measurements.normalised_top_k import make_normalised_top_k
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles.chi_square import assert_follows

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
NOISES = (tk.noise.Exponential(), tk.noise.Gumbel())
BOUNDS = (4, 1, 1)


def build(
    measure: tk.Measure = MAX,
    bounds: Sequence[Any] = BOUNDS,
    monotonic: bool = False,
    element: type = int,
    **options: Any,
) -> tk.Measurement:
    domain = tk.VectorDomain(tk.AtomDomain(element), size=len(bounds))
    metric = tk.PerCandidateDistance(bounds=bounds, monotonic=monotonic)
    return make_normalised_top_k(domain, metric, measure, **{"scale": 2} | options)


# What the mechanism is, written down once more.
def units(x: Sequence[Any], bounds: Sequence[Any], monotonic: bool, penalty: Any = 0, sign: int = 1) -> list[Fraction]:
    q = [sign * Fraction(score) - Fraction(penalty) * Fraction(bound) for score, bound in zip(x, bounds, strict=True)]
    over = max if monotonic else lambda a, b: a + b
    return [
        min((one - other) / Fraction(over(a, b)) for other, b in zip(q, bounds, strict=True))
        for one, a in zip(q, bounds, strict=True)
    ]


def winners(noise: Noise, scores: Sequence[float]) -> dict[tuple[int], float]:
    """How likely each of some scores is the largest with noise of scale 1."""
    weights = np.exp(np.array(scores, dtype=float) - float(max(scores)))
    if noise == tk.noise.Gumbel():
        return {(i,): float(weight / weights.sum()) for i, weight in enumerate(weights)}
    found = {}
    for i, weight in enumerate(weights):
        others = np.poly1d([1.0])
        for other in np.delete(weights, i):
            others *= np.poly1d([-other, 1.0])
        found[(i,)] = float(weight * others.integ()(1.0))
    return found


def law(x: Sequence[Any], noise: Noise, scale: float, bounds: Sequence[Any], monotonic: bool, **other: Any) -> Any:
    return winners(noise, [float(unit) / scale for unit in units(x, bounds, monotonic, **other)])


def losses(one: dict[Any, float], other: dict[Any, float]) -> list[float]:
    return [math.log(other[y] / p) for y, p in one.items()]


def specimens() -> list[Specimen]:
    x, other = (1000, 0, -22), (901, 1, -23)
    return [
        Specimen(
            build(measure, (99, 1, 1), noise=noise, scale=9),
            (x, other),
            lambda s, n=noise: law(s, n, 9, (99, 1, 1), False),
        )
        for measure, noise in ((RANGE, tk.noise.Gumbel()), (RANGE, tk.noise.Exponential()))
    ]


@pytest.mark.further
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("bounds", [(4, 1, 1), (1, 2), (3, 3, 3), (2, 1, 1, 3)], ids=repr)
def test_no_pair_exceeds_the_map(noise: Noise, monotonic: bool, bounds: tuple[int, ...]) -> None:
    epsilon, width = (build(measure, bounds, monotonic, noise=noise).map(1) for measure in (MAX, RANGE))
    assert epsilon == (0.5 if bounds in ((1, 2), (3, 3, 3)) else 1.0)
    met, spread = 0.0, 0.0
    corners = [*itertools.product((0, 1), repeat=len(bounds))]
    scores = [x for x in itertools.product((0, 2, 7) if len(bounds) < 4 else (0, 5), repeat=len(bounds)) if min(x) == 0]
    for x, corner in itertools.product(scores, corners):
        moves = [b * (up if monotonic else 2 * up - 1) for up, b in zip(corner, bounds, strict=True)]
        other = [a + move for a, move in zip(x, moves, strict=True)]
        found = losses(*(law(s, noise, 2, bounds, monotonic) for s in (x, other)))
        met, spread = max(met, *map(abs, found)), max(spread, max(found) - min(found))
    assert 0.4 * epsilon < met <= epsilon + 1e-9
    assert spread <= width + 1e-9


def test_noise_by_the_bound_of_each_candidate_alone_would_leak() -> None:
    """Exponential noise of scale 2 b_i on score i, each as large as its own bound asks for: another one moves by 4."""
    claimed, bounds = build(MAX, (4, 1)).map(1), (4.0, 1.0)

    def second_wins(x: tuple[float, float]) -> float:
        lead, (slow, fast) = x[0] - x[1], (2 * bound for bound in bounds)  # noise of 1 less that of 0 is beyond it
        assert lead >= 0
        return fast / (slow + fast) * math.exp(-lead / fast)

    one, other = second_wins((10, 0)), second_wins((14, 0))
    assert math.log(one / other) == pytest.approx(2.0)
    assert claimed == 0.5


@pytest.mark.parametrize(
    ("bounds", "monotonic", "x", "other"),
    [
        ((99, 1, 1), False, (1000, 0, -22), (901, 1, -23)),
        ((100, 100, 1, 1), True, (1000, 0, 0, -11), (1000, 100, 1, -11)),
        ((1, 5), False, (0, 40), (1, 35)),
        ((2, 2, 2), True, (9, 3, 0), (9, 3, 2)),
    ],
)
def test_the_range_is_attained(bounds: Any, monotonic: bool, x: Any, other: Any) -> None:
    found = losses(*(law(s, tk.noise.Gumbel(), 2, bounds, monotonic) for s in (x, other)))
    assert max(found) - min(found) == pytest.approx(build(RANGE, bounds, monotonic, noise=tk.noise.Gumbel()).map(1))


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("optimize", "sign"), [("max", 1), ("min", -1)])
def test_the_declared_law_is_that_of_the_mechanism(noise: Noise, monotonic: bool, optimize: str, sign: int) -> None:
    bounds = (Fraction(1, 3), 2, 0.5, 2)
    measurement = build(MAX, bounds, monotonic, float, noise=noise, optimize=optimize, penalty=0.25)
    for x in ([0.1, -3.0, 2.0, 2.0], [1e-3, 1.0, 1.0, 1.5], [5.0, 5.0, 5.0, 5.0]):
        declared = measurement.distribution(x)
        expected = law(x, noise, 2, bounds, monotonic, penalty=0.25, sign=sign)
        assert declared.keys() == expected.keys()
        assert all(float(declared[y]) == pytest.approx(p, rel=1e-9) for y, p in expected.items())


@pytest.mark.further
def test_releases_follow_the_law() -> None:
    measurement = build(MAX, (4, 1, 1), True, float, scale=1, penalty=1)
    drawn = Counter(tuple(measurement([9.0, 3.5, 4.0]).tolist()) for _ in range(1500))
    assert_follows(drawn, law([9.0, 3.5, 4.0], tk.noise.Exponential(), 1, (4, 1, 1), True, penalty=1), detects=0.4)


def test_the_exact_best_is_that_of_the_comparisons() -> None:
    """Without noise, as a set and as a ranking; a penalty tells equal scores apart by their bounds."""
    exact = {"scale": 0, "k": 2}
    assert build(bounds=(10, 1, 1), **exact)([50, 20, 21]).tolist() == [0, 2]
    assert build(bounds=(10, 1, 1), **exact, release="set", optimize="min")([50, 20, 19]).tolist() == [1, 2]
    assert build(bounds=(10, 1, 1), scale=0, penalty=4)([50, 20, 21]).tolist() == [2]
    assert build(bounds=(1, 1), scale=0, element=float)([1.0, math.nextafter(1.0, 2)]).tolist() == [1]


def test_a_candidate_with_a_large_bound_does_not_drown_the_others() -> None:
    """The same epsilon and the same scores, under a metric with one bound for all and under one with a bound each."""
    bounds, x = (1000, 1, 1, 1), [0, 500, 0, 0]
    alike = tk.VectorDomain(tk.AtomDomain(int), size=4), tk.LInfDistance()
    usual = alike >> tk.then_permute_and_flip(MAX, scale=2000.0)
    apart = build(bounds=bounds, scale=2)
    assert usual.map(1000) == apart.map(1) == 1.0
    assert usual.distribution(x)[1] < 0.35
    found = apart.distribution(x)
    assert found[(1,)] > 0.6
    assert found[(2,)] + found[(3,)] < 1e-9


def test_k_winners_cost_what_they_do_elsewhere() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.RangeDistance()
    for measure, noise, release in itertools.product(
        (MAX, RANGE, ZCDP), (*NOISES, tk.noise.Laplace()), ("ranking", "set")
    ):
        options = {"k": 2, "scale": 2, "noise": noise, "release": release}
        usual = space >> tk.then_report_noisy_top_k(measure, **options)
        for d_in in (1, 3):
            assert build(measure, (4, 1, 1), **options).map(d_in) == usual.map(2 * d_in)
    assert build(k=3, release="set").map(1) == 0.0
    assert build(scale=0).map(1) == math.inf


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"bounds": (1, 0)}, ParameterError, "bounds must be > 0"),
        ({"bounds": (1, -1)}, ParameterError, "bounds"),
        ({"bounds": (1, math.inf)}, ParameterError, "bounds"),
        ({"bounds": ("1", 1)}, ParameterTypeError, "bounds"),
    ],
)
def test_bad_arguments(options: dict[str, Any], error: type[Exception], words: str) -> None:
    raises_exactly(error, lambda: build(**options), words)


def test_bounds_are_a_list() -> None:
    for bounds in ((), 3, "11", None):
        raises_exactly(ParameterTypeError, lambda bounds=bounds: tk.PerCandidateDistance(bounds=bounds), "bounds")
    assert tk.PerCandidateDistance(bounds=[1, 2]) == tk.PerCandidateDistance(bounds=(1, 2))


def test_only_it_takes_the_metric_and_it_takes_no_other() -> None:
    """A bound for each score, no less; and no other constructor of selection forgets them."""
    domain, metric = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.PerCandidateDistance(bounds=(4, 1, 1))
    for size in (None, 2):
        wrong = tk.VectorDomain(tk.AtomDomain(int), size=size), metric
        raises_exactly(SpaceError, lambda wrong=wrong: make_normalised_top_k(*wrong, MAX, scale=1), "measure")
    for make in (tk.make_report_noisy_top_k, tk.make_canonical_top_k, tk.make_joint_top_k):
        raises_exactly(ParameterTypeError, lambda make=make: make(domain, metric, MAX, k=1, scale=1), "input_metric")
    other = domain, tk.LInfDistance()
    raises_exactly(ParameterTypeError, lambda: make_normalised_top_k(*other, MAX, scale=1), "PerCandidateDistance")
