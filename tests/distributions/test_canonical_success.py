"""Enclosures of the canonical mechanism's success: against all subsets, and against sums over all classes."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from math import lgamma
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions import canonical_success
from opendp_topk.sampling.distributions import canonical_success as permute_and_flip_success
from opendp_topk.sampling.distributions.events import EVENTS, event_ranks
from tests.oracles import canonical as laws
from tests.oracles import success as oracle

NOISES = [tk.Gumbel(), tk.Exponential()]
SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
GAMMAS = [Fraction(0), Fraction(1, 3), Fraction(1)]


def canonical(noise: Any, k: int, scale: Any, **options: Any) -> tk.Measurement:
    measurement = SPACE >> tk.then_canonical_top_k(tk.MaxDivergence(), k=k, scale=scale, noise=noise, **options)
    assert isinstance(measurement, tk.Measurement)
    return measurement


@functools.cache
def law_of(noise: Any, scores: tuple[int, ...], k: int, tau: Fraction, gamma: Fraction, kind: str) -> Any:
    return (laws.gumbel_law if noise == tk.Gumbel() else laws.flip_law)(list(scores), k, tau, gamma, kind)


def enclosed(
    noise: Any, scores: list[int], k: int, tau: Fraction, gamma: Fraction, kind: str, sure: int, reach: int
) -> None:
    law = law_of(noise, tuple(scores), k, tau, gamma, kind)
    expected = oracle.probability(scores, law, sure, reach)
    low, high = canonical_success.success_probability(
        noise, np.array(scores), tau, gamma, k, 1, kind == "distance", sure, reach
    )
    assert 0 <= low <= high <= 1
    assert high - low < 1e-9
    slack = mpmath.mpf("1e-25")
    assert low - slack <= expected <= high + slack, (noise, scores, k, tau, gamma, kind, sure, reach)


@pytest.mark.quick(noise="Gumbel()", gamma="1/3", kind="margin")
@pytest.mark.parametrize("kind", ["margin", "distance"])
@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_law_of_small_instances_lies_within(noise: Any, gamma: Fraction, kind: str) -> None:
    generator = np.random.default_rng(1)
    with mpmath.workdps(40):
        for _ in range(12):
            d = int(generator.integers(2, 7))
            k = int(generator.integers(1, d))
            scores = generator.integers(0, int(generator.integers(1, 9)), d).tolist()
            tau = Fraction(int(generator.integers(1, 9)), 4)
            for sure, reach in itertools.product(range(1, k + 1), range(k, d + 1)):
                enclosed(noise, scores, k, tau, gamma, kind, sure, reach)


@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_ties_across_both_ends(noise: Any) -> None:
    with mpmath.workdps(40):
        for scores, k in (([9, 7, 4, 4, 4, 4, 0], 4), ([8, 6, 6, 6, 5, 2, 2], 5), ([5, 5, 5, 3, 1, 1, 1], 4)):
            for sure, reach in itertools.product(range(1, k + 1), range(k, len(scores) + 1)):
                enclosed(noise, scores, k, Fraction(2), Fraction(1, 2), "margin", sure, reach)


def by_classes(scores: np.ndarray, k: int, scale: float, gamma: float) -> list[float]:
    """Gumbel noise, no ties: for each event a direct sum over all classes with logarithms of binomials."""
    x = np.sort(scores)[::-1] / scale
    h, t = np.arange(k)[:, None], np.arange(k + 1, len(x) + 1)[None, :]
    log_factorial = np.array([lgamma(n + 1) for n in range(len(x) + 1)])
    n, m = t - h - 2, k - 1 - h + 0 * t
    log = log_factorial[n] - log_factorial[m] - log_factorial[n - m] + gamma * x[t - 1] - (1 - gamma) * x[h]
    best = gamma * x[k - 1] - (1 - gamma) * x[k]
    top = max(float(log.max()), best)
    weights, best = np.exp(log - top), float(np.exp(best - top))
    ends = [event_ranks(event, k, len(x)) for event in EVENTS]
    right = [weights[sure:, : reach - k].sum() + best for sure, reach in ends]
    return [float(part / (weights.sum() + best)) for part in right]


@pytest.mark.quick(d=3000)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("d", "k", "scale"), [(3000, 40, 60.0), (8000, 600, 0.2), (5000, 300, 2.0)])
def test_many_candidates_against_sums_over_all_classes(d: int, k: int, scale: float, gamma: float) -> None:
    scores = 1e5 / np.sqrt(np.arange(1, d + 1))
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    measurement = space >> tk.then_canonical_top_k(tk.MaxDivergence(), k=k, scale=scale, gamma=gamma)
    for event, expected in zip(EVENTS, by_classes(scores, k, scale, gamma), strict=True):
        found = measurement.success_probability(scores, event)
        assert found.upper - found.lower < 1e-9
        assert abs(found.lower - expected) < 1e-8


def test_permute_and_flip_against_another_integral() -> None:
    """The best set of 34,220: the integral over 0 < x < 1 of the product of 1 - w x over all others, by classes."""
    scores, k, scale = [60 // (i + 1) for i in range(60)], 3, 2
    x = sorted(scores, reverse=True)
    sizes = {label: n for label, n in laws.sizes(60, k).items() if label != (k, k)}
    best = x[k - 1] - x[k]
    w = np.exp([(x[t - 1] - x[h] - best) / (2 * scale) for h, t in sizes])
    n = np.array(list(sizes.values()), dtype=np.float64)
    expected = oracle.integral(lambda y: float(np.exp(np.sum(n * np.log1p(-w * y)))), 0, 1, 200)
    found = canonical(tk.Exponential(), k, scale).success_probability(scores)
    assert found.upper - found.lower < 1e-9
    assert found.lower - 1e-12 < expected < found.upper + 1e-12


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("gamma", [0, 0.5, 1])
@pytest.mark.parametrize("gap", [0, 30])
def test_the_margin_loss_finds_the_best_at_least_as_often(noise: Any, gamma: float, gap: int) -> None:
    """At equal cost, and more often just if gamma < 1 and the k-th and the next score differ."""
    d, k = 500, 20
    scores = np.concatenate([np.arange(k)[::-1] * 40 + gap, np.zeros(1, dtype=np.int64), -200 - np.arange(d - k - 1)])
    found = [canonical(noise, k, 4, gamma=gamma, utility=kind) for kind in ("margin", "distance")]
    assert found[0].map(1) == found[1].map(1)
    margin, distance = (m.success_probability(scores) for m in found)
    assert 1e-4 < distance.lower < margin.upper
    assert (margin.lower > distance.upper) == (gamma < 1 and gap > 0)
    if gamma == 1 or gap == 0:
        assert margin == distance


def test_what_is_refused() -> None:
    with pytest.raises(tk.CapacityError, match="too many classes"):
        canonical(tk.Gumbel(), 3, 1, gamma=Fraction(1, 10**400)).success_probability([5, 4, 3, 2])
    with pytest.raises(tk.CapacityError, match="too many classes"):
        canonical(tk.Gumbel(), 50_000, 1).success_probability(np.arange(10**5))
    with pytest.raises(tk.DataError):
        canonical(tk.Gumbel(), 3, 1).success_probability([1, 2])
    assert canonical(tk.Gumbel(), 3, 1).success_probability([1, 2, 3]) == (1.0, 1.0)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_extreme_scores(noise: Any) -> None:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    for gamma in (0, 0.5, 1):
        partial = tk.then_canonical_top_k(tk.MaxDivergence(), k=2, scale=1, gamma=gamma, noise=noise)
        found = (space >> partial).success_probability([1e308, 1e300, 5.0, 4.0, -1e308])
        expected = {0: 0.25, 0.5: 1.0, 1: 1.0}[gamma]
        assert found.upper - found.lower < 1e-9
        if gamma:
            assert abs(found.lower - expected) < 1e-9


def test_bounds_lie_apart_by_all_that_is_said_to_be_rounded() -> None:
    """Of the Gumbel law, whose probability is a quotient: what (8) of the proof allows for each of the two sums."""
    d, k = 60, 20
    low, high = canonical_success.success_probability(
        tk.Gumbel(), np.arange(d), Fraction(4), Fraction(1, 2), k, 1, False, 1, d
    )
    assert high - low >= low * 2.0**-45 * (k + 400 + lgamma(d + 1) - lgamma(k + 1) - lgamma(d - k + 1))


def test_a_value_is_moved_outward_by_its_roundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that arrive by one, as likely at any time, one is right: nobody was there before x with 1 - x."""
    found: dict[str, Any] = {}

    def integral(ends: Any, values: Any, greatest: Any) -> tuple[float, float]:
        found["values"] = values
        return 0.0, 0.0

    monkeypatch.setattr(permute_and_flip_success, "integral_bounds", integral)
    powers = np.ones(permute_and_flip_success.arrivals.TERMS)
    outcomes = permute_and_flip_success.WeightedOutcomes({1.0: 2}, {1.0: 1}, 2 * powers, powers, 0.0)
    permute_and_flip_success.first_correct_bounds(outcomes, True)
    count = (2 + 4 + 64) * 2.0**-50
    for x in (0.1, 0.25):
        (low,), (high,) = found["values"](np.array([x]), np.array([x]), np.array([x]))
        assert (1 - x) * (1 - 2.0**-40) < low < (1 - x) * (1 - count)
        assert (1 - x) * (1 + count) < high < (1 - x) * (1 + 2.0**-40)
