"""Enclosures of success: against all orders of small instances, and against other integrals of large ones."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import CapacityError
from opendp_topk.sampling.distributions import one_shot_success
from opendp_topk.sampling.distributions import quadrature as departures
from opendp_topk.sampling.distributions.events import EVENTS, event_ranks
from tests.concepts.sentinels import raises_exactly
from tests.oracles import success as oracle

NOISES = [tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic()]
INTEGERS = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
FLOATS = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)


def lipschitz(noise: Any, k: int, scale: Any, space: Any = INTEGERS, **options: Any) -> tk.Measurement:
    measurement = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=k, scale=scale, noise=noise, **options)
    assert isinstance(measurement, tk.Measurement)
    return measurement


def contains(pair: tuple[float, float], p: Any, width: float = 1e-9) -> bool:
    with mpmath.workdps(40):
        slack = mpmath.mpf("1e-25")
        return 0 <= pair[0] <= pair[1] <= 1 and pair[0] - slack <= p <= pair[1] + slack and pair[1] - pair[0] < width


def instances(count: int, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    for _ in range(count):
        d = int(generator.integers(2, 6))
        k = int(generator.integers(1, d))
        scores = generator.integers(0, int(generator.integers(1, 9)), d).tolist()
        yield scores, k, Fraction(int(generator.integers(1, 9)), 3), int(generator.choice([-1, 1]))


@pytest.mark.slow
@pytest.mark.quick(noise="Exponential()")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_law_of_small_instances_lies_within(noise: Any) -> None:
    """Every pair (sure, reach), with ties among the scores."""
    checked = 0
    with mpmath.workdps(40):
        for scores, k, tau, sign in instances(25, 1):
            optimize = "max" if sign == 1 else "min"
            law = lipschitz(noise, k, tau, release="set", optimize=optimize).distribution(scores)
            for sure, reach in itertools.product(range(1, k + 1), range(k, len(scores) + 1)):
                found = one_shot_success.success_probability(noise, np.array(scores), tau, k, sign, sure, reach)
                expected = oracle.probability([sign * x for x in scores], law, sure, reach)
                assert contains(found, expected), (scores, k, tau, sure, reach)
                checked += 1
    assert checked > 100


@pytest.mark.further
@pytest.mark.quick(release="set", noise=("Gumbel()", "Logistic()"))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("release", ["set", "ranking"])
def test_events_by_name(noise: Any, release: str) -> None:
    """A ranking of the same winners succeeds as often as the set."""
    scores, k = [7, 3, 3, 0, 3], 2
    measurement = lipschitz(noise, k, 2, release=release)
    with mpmath.workdps(40):
        law = measurement.distribution(scores)
        for event in EVENTS:
            expected = oracle.probability(scores, law, *event_ranks(event, k, len(scores)))
            assert contains(measurement.success_probability(scores, event), expected)


def test_the_ranks_of_the_events() -> None:
    assert event_ranks("exact", 10, 1000) == (10, 10)
    assert event_ranks("great", 10, 1000) == (1, 11)
    assert event_ranks("good", 10, 1000) == (1, 15)
    assert event_ranks("great", 1000, 10**6) == (100, 1100)
    assert event_ranks("good", 1000, 10**6) == (10, 1500)
    assert event_ranks("good", 101, 120) == (2, 120)
    for k in range(1, 300):
        for event in EVENTS:
            sure, reach = event_ranks(event, k, k + 7)
            assert 1 <= sure <= k <= reach <= k + 7


@pytest.mark.further
@pytest.mark.quick(shape="powers", noise=("Gumbel()", "Exponential()"))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("shape", ["uniform", "powers"])
def test_many_candidates_against_another_integral(noise: Any, shape: str) -> None:
    generator = np.random.default_rng(2)
    d, k = 2000, 8
    scores = generator.uniform(0, 4000, d) if shape == "uniform" else 60 / np.arange(1, d + 1) ** 0.5
    found = lipschitz(noise, k, 1, FLOATS).success_probability(scores)
    expected = oracle.exact_by_quadrature(noise.name, scores, k)
    assert expected > 1e-4
    assert found.upper - found.lower < 1e-9
    assert abs(expected - found.lower) < 1e-8 * expected + found.upper - found.lower


@pytest.mark.slow
@pytest.mark.parametrize(("k", "sure", "reach"), [(5, 1, 7), (10, 2, 14), (10, 10, 11), (12, 3, 12)])
def test_counts_of_the_middle_against_another_integral(k: int, sure: int, reach: int) -> None:
    scores = 30 / np.arange(1, 301) ** 0.5 + np.linspace(0, 1, 300)[::-1]
    found = one_shot_success.success_probability(tk.Gumbel(), scores, Fraction(1), k, 1, sure, reach)
    expected = oracle.counts_by_quadrature(scores, k, sure, reach)
    assert expected > 1e-4
    assert abs(expected - found[0]) < 1e-8


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_crowd_of_equal_scores(noise: Any) -> None:
    """Half of the winners are drawn from a tie: equal candidates beyond the first ranks may replace each other."""
    scores = np.concatenate([[40, 30], np.zeros(10**5, dtype=np.int64)])
    found = lipschitz(noise, 4, 1).success_probability(scores)
    alone = lipschitz(noise, 2, 1).success_probability(scores)
    assert 0.99 < alone.lower < found.lower or found.lower > alone.lower
    assert found.upper - found.lower < 1e-6
    assert lipschitz(noise, 4, 1).success_probability(np.zeros(1000, dtype=np.int64)) == (1.0, 1.0)


@pytest.mark.slow
def test_a_million_candidates() -> None:
    scores = (1e6 / np.arange(1, 10**6 + 1)).astype(np.int64)
    for noise, event in zip(NOISES, itertools.cycle(EVENTS), strict=False):
        found = lipschitz(noise, 10, 2000).success_probability(scores, event)
        assert 0 < found.lower <= found.upper <= 1
        assert found.upper - found.lower < 1e-9


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_wider_events_and_less_noise_help(noise: Any) -> None:
    scores = np.random.default_rng(5).integers(0, 10**4, 3000)
    by_event = [lipschitz(noise, 30, 100).success_probability(scores, event) for event in EVENTS]
    assert by_event[0].upper < by_event[1].lower
    assert by_event[1].upper < by_event[2].lower
    by_scale = [lipschitz(noise, 5, scale).success_probability(scores) for scale in (100, 10, 1)]
    assert by_scale[0].upper < by_scale[1].lower < by_scale[1].upper < by_scale[2].lower


@pytest.mark.further
@pytest.mark.quick(noise=("Gumbel()", "HalfLogistic()"))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_extreme_scores_and_scales(noise: Any) -> None:
    far = np.array([1e308, 1e300, 5.0, 4.0, -1e308])
    assert lipschitz(noise, 2, 1, FLOATS).success_probability(far).lower > 1 - 1e-9
    assert lipschitz(noise, 1, Fraction(1, 10**400), FLOATS).success_probability(far).lower > 1 - 1e-9
    even = lipschitz(noise, 2, Fraction(10**400), FLOATS).success_probability(far)
    assert contains(even, mpmath.mpf(1) / 10)
    big = [10**40, 10**40 - 1, 0]
    with mpmath.workdps(40):
        law = lipschitz(noise, 1, 1).distribution([1, 0, -60])
        assert abs(lipschitz(noise, 1, 1).success_probability(big).lower - law[0,]) < 1e-9


def test_many_winners_are_summed_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array holds more than a bounded number of (candidate, point) pairs, and the bounds do not depend on it."""
    scores, k, noise = np.random.default_rng(6).integers(0, 10**5, 1000), 60, tk.Laplace()
    whole = one_shot_success.success_probability(noise, scores, Fraction(3), k, 1, k, k)
    largest, rate = [0], departures.departure_rate

    def watched(groups: Any, law: Any, *options: Any) -> Any:
        largest[0] = max(largest[0], law.rate.size)
        return rate(groups, law, *options)

    monkeypatch.setattr(departures, "departure_rate", watched)
    monkeypatch.setattr(one_shot_success, "_MOST_CELLS", 2**15)
    assert one_shot_success.success_probability(noise, scores, Fraction(3), k, 1, k, k) == whole
    assert 2**14 < largest[0] <= 2**15


def test_certain_events() -> None:
    for measurement in (lipschitz(tk.Laplace(), 2, 0), lipschitz(tk.Laplace(), 3, 5)):
        assert measurement.success_probability([1, 1, 1]) == tk.Enclosure(1.0, 1.0)
    assert lipschitz(tk.Laplace(), 2, 0).success_probability([5, 4, 4, 4]) == (1.0, 1.0)


def test_chains_push_it_forward() -> None:
    double = tk.make_user_transformation(
        *INTEGERS, *INTEGERS, function=lambda x: 2 * np.asarray(x), stability_map=lambda d_in: 2 * d_in
    )
    scores = [5, 1, 9, 2]
    plain = lipschitz(tk.Gumbel(), 2, 3)
    assert (double >> plain).success_probability(scores) == plain.success_probability([10, 2, 18, 4])
    assert (plain >> tk.index_candidates(list("abcd")) >> str).success_probability(scores) == plain.success_probability(
        scores
    )
    counted = INTEGERS >> tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=2, scale=3)
    assert counted.success_probability(scores) == plain.success_probability(scores)


def test_single_choices_and_peeling() -> None:
    pure, scores = tk.MaxDivergence(), [4, 1, 2, 4, 0]
    for single, noise in (
        (INTEGERS >> tk.then_exponential_mechanism(pure, scale=2), tk.Gumbel()),
        (INTEGERS >> tk.then_permute_and_flip(pure, scale=2), tk.Exponential()),
    ):
        assert single.success_probability(scores) == lipschitz(noise, 1, 2).success_probability(scores)
    peeled = INTEGERS >> tk.then_peeled_top_k(pure, k=2, scale=2, mechanism="exponential")
    assert peeled.success_probability(scores) == lipschitz(tk.Gumbel(), 2, 2).success_probability(scores)


def test_what_is_refused() -> None:
    measurement = lipschitz(tk.Gumbel(), 3, 1)
    raises_exactly(
        tk.ParameterError, lambda: measurement.success_probability([1, 2, 3, 4], "perfect"), "event", "great"
    )
    raises_exactly(tk.ParameterTypeError, lambda: measurement.success_probability([1, 2, 3, 4], 1), "event")
    raises_exactly(tk.DataLengthError, lambda: measurement.success_probability([1, 2]), "k elements")
    with pytest.raises(tk.DataTypeError):
        measurement.success_probability([1.5, 2.0, 3.0, 4.0])
    flip = INTEGERS >> tk.then_peeled_top_k(tk.MaxDivergence(), k=2, scale=2, mechanism="permute_and_flip")
    raises_exactly(tk.NotDeclaredError, lambda: flip.success_probability([1, 2, 3]), "no probability of success")
    user = tk.make_user_measurement(*INTEGERS, tk.MaxDivergence(), function=lambda x: 0, privacy_map=lambda d_in: 0.0)
    raises_exactly(tk.NotDeclaredError, lambda: user.success_probability([1]), "no probability of success")
    large = lipschitz(tk.Gumbel(), 4000, 1)
    with pytest.raises(CapacityError, match="too many sums"):
        large.success_probability(list(range(10**4)), "good")
