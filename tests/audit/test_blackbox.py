"""The black-box auditor: valid where a claim is true, strong enough where it is false.

Its confidence bounds are held against their definition, computed by other means.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import estimate
from opendp_topk.apps.audit.blackbox import (
    EventChoice,
    _loss_lower_bound,
    bernoulli_rho_bound,
    choose_events,
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_ratio,
)
from tests.concepts.sentinels import raises_exactly

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
APPROXIMATE = tk.Approximate(PURE)


def biased(law: dict[int, list[float]], seed: int) -> Callable[[int], int]:
    """A function that draws outcome i with probability law[x][i]."""
    source = random.Random(seed)
    return lambda x: source.choices(range(len(law[x])), law[x])[0]


def losses(law: dict[int, list[float]], measure: tk.Measure, delta: float = 0.0) -> float:
    """The exact loss between law[0] and law[1]; for zCDP the supremum over a fine grid of orders."""
    p, q = law[0], law[1]
    logs = [math.log(b / a) for a, b in zip(p, q, strict=True)]
    if measure == PURE:
        return max(map(abs, logs))
    if measure == RANGE:
        return max(logs) - min(logs)
    if measure == ZCDP:
        return max(
            math.log(sum(a**alpha * b ** (1 - alpha) for a, b in zip(*pair, strict=True))) / (alpha - 1) / alpha
            for pair in ((p, q), (q, p))
            for alpha in (1 + 10 ** (i / 50) for i in range(-150, 100))
        )
    best = 0.0
    for first, second in ((p, q), (q, p)):
        ordered = sorted(zip(first, second, strict=True), key=lambda pair: -pair[0] / pair[1])
        for size in range(1, len(ordered) + 1):
            a, b = (sum(column) for column in zip(*ordered[:size], strict=True))
            if a > delta:
                best = max(best, math.log((a - delta) / b))
    return best


LAWS = {
    "three": {0: [0.5, 0.3, 0.2], 1: [0.3, 0.3, 0.4]},
    "rare": {0: [0.98, 0.01, 0.01], 1: [0.97, 0.0276, 0.0024]},
    "same": {0: [0.25, 0.75], 1: [0.25, 0.75]},
}


@pytest.mark.further
@pytest.mark.quick(name="same", measure="MaxDivergence()")
@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP, APPROXIMATE])
@pytest.mark.parametrize("name", LAWS)
def test_bounds_stay_below_the_true_loss_in_a_hundred_runs(name: str, measure: tk.Measure) -> None:
    """At 99 % family-wise confidence; the draws are reproducible, so the test is too."""
    law, delta = LAWS[name], 0.05 if measure == APPROXIMATE else 0.0
    truth = losses(law, measure, delta)
    for seed in range(100):
        found = estimate(biased(law, seed), 0, 1, samples=400, measure=measure, confidence=1 - 0.01 / 100, delta=delta)
        assert 0 <= found.lower <= truth + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "ratios"), [(PURE, 1), (RANGE, 2)])
def test_each_end_of_a_bound_has_its_share_of_the_error(measure: tk.Measure, ratios: int) -> None:
    counts, choice = [Counter(a=90, b=10), Counter(a=10, b=90)], EventChoice(False, frozenset("a"), frozenset("b"), 2.0)
    share = 0.04 / (2 * ratios)
    one = log_ratio(clopper_pearson_lower(90, 100, share), clopper_pearson_upper(10, 100, share))
    assert _loss_lower_bound(measure, 0.0, choice, counts, 100, 0.04) == ratios * one


def test_the_stated_confidence_is_needed() -> None:
    """At a low confidence some runs exceed the truth: the test above can fail."""
    law = LAWS["three"]
    assert any(
        estimate(biased(law, seed), 0, 1, samples=400, confidence=0.01).lower > losses(law, PURE) for seed in range(60)
    )


@pytest.mark.further
@pytest.mark.quick(measure="MaxDivergence()")
@pytest.mark.parametrize(("measure", "share"), [(PURE, 0.9), (RANGE, 0.9), (ZCDP, 0.75), (APPROXIMATE, 0.9)])
def test_many_samples_come_near_the_true_loss(measure: tk.Measure, share: float) -> None:
    law, delta = LAWS["three"], 0.02 if measure == APPROXIMATE else 0.0
    found = estimate(biased(law, 1), 0, 1, samples=60_000, measure=measure, delta=delta)
    assert share * losses(law, measure, delta) < found.lower <= losses(law, measure, delta)
    assert (found.samples, found.distinct_outcomes, found.delta) == (60_000, 3, delta)


@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP, APPROXIMATE])
def test_the_order_of_the_inputs_does_not_matter_for_finding_a_loss(measure: tk.Measure) -> None:
    law = {0: [0.5, 0.5], 1: [0.99, 0.01]}
    for pair in ((0, 1), (1, 0)):
        assert estimate(biased(law, 3), *pair, samples=4000, measure=measure).lower > 0.4


@pytest.mark.slow
def test_permute_and_flip_under_the_cost_of_the_exponential_mechanism_is_flagged() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    honest = space >> tk.then_permute_and_flip(ZCDP, scale=1)
    epsilon = (space >> tk.then_permute_and_flip(PURE, scale=1)).map(1)
    found = estimate(honest, [0, 0], [1, -1], samples=20_000, measure=ZCDP, confidence=1 - 1e-9)
    assert found.contradicts(epsilon**2 / 8)
    assert not found.contradicts(honest.map(1))


@pytest.mark.further
def test_floats_are_cut_into_cells() -> None:
    source = random.Random(5)
    found = estimate(lambda x: (source.gauss(2.0 * x, 1), "label"), 0, 1, samples=10_000)
    assert 1.5 < found.lower < 60
    assert found.distinct_outcomes <= 64


@pytest.mark.further
def test_a_gap_in_the_support_shows() -> None:
    source = random.Random(6)
    found = estimate(lambda x: source.randrange(3 + x), 0, 1, samples=20_000, measure=PURE)
    assert found.lower > 5


def test_few_different_floats_are_kept_apart() -> None:
    """However rare one of them is: a release that occurs on one side only would else hide beside its neighbour."""
    found = estimate(lambda x, n: [0.0] * (n - n // 50 * x) + [1e-9] * (n // 50 * x), 0, 1, samples=4000, batched=True)
    assert found.distinct_outcomes == 2
    assert found.lower > 1


def test_a_release_of_nan_shows() -> None:
    source = random.Random(8)
    found = estimate(lambda x: math.nan if x and source.random() < 0.05 else source.random(), 0, 1, samples=4000)
    assert found.lower > 1


def test_events_are_the_most_telling_ones() -> None:
    first, second = Counter(a=900, b=90, c=10), Counter(a=500, b=300, c=200)
    _, choice = choose_events(PURE, 0.0, first, second, 2.0)
    assert choice.swapped
    assert choice.high == {"c"}
    _, both = choose_events(RANGE, 0.0, first, second, 2.0)
    assert {both.high, both.low} == {frozenset("c"), frozenset("a")}


def test_elementary_bounds_lie_below() -> None:
    assert log_ratio(0.5, 0.25) < math.log(2) < log_ratio(0.5, 0.25) + 1e-10
    assert log_ratio(0.0, 0.25) == -math.inf
    assert log_ratio(0.25, 0.5) < -math.log(2)
    exact = math.log(0.7**3 / 0.4**2 + 0.3**3 / 0.6**2) / 2 / 3
    assert exact - 1e-9 < bernoulli_rho_bound(0.7, 0.4, 3.0) < exact
    assert bernoulli_rho_bound(0.4, 0.7, 3.0) == 0.0


@pytest.mark.further
def test_contradicts_compares_in_the_measure() -> None:
    law = {0: [0.5, 0.5], 1: [0.9, 0.1]}
    found = estimate(biased(law, 3), 0, 1, samples=20_000, measure=APPROXIMATE, delta=0.01)
    assert found.contradicts((0.5, 0.01))
    assert found.contradicts((0.5, 0.0))
    assert not found.contradicts((3.0, 0.01))
    raises_exactly(tk.errors.ParameterError, lambda: found.contradicts((0.5, 0.02)), "delta of claimed")
    raises_exactly(tk.errors.ParameterError, lambda: found.contradicts(0.5))


def test_bad_arguments() -> None:
    wrong: tuple[dict[str, Any], ...] = (
        *({"samples": samples} for samples in (99, 4_000_001)),
        *({"measure": measure} for measure in ("pure", tk.Approximate(ZCDP))),
        *({"confidence": confidence} for confidence in (1.0, 0, 1e-20, 1 - Fraction(1, 10**30))),
        *({"delta": 0.1}, {"delta": -0.1, "measure": APPROXIMATE}),
    )
    for arguments in wrong:
        raises_exactly(tk.errors.ParameterError, partial(estimate, len, "a", "b", **arguments))
    raises_exactly(tk.errors.ParameterTypeError, lambda: estimate(7, 0, 1))  # type: ignore[arg-type]
    raises_exactly(tk.errors.ParameterTypeError, lambda: estimate(len, "a", "b", samples=1e5))  # type: ignore[arg-type]


def tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """P(X >= hits) for X ~ Binomial(trials, p), exactly."""
    return sum((comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1)), Fraction(0))


@pytest.mark.quick(alpha=0.05, trials=(1, 7))
@pytest.mark.parametrize("alpha", [0.4, 0.05, 1e-4, 1e-11])
@pytest.mark.parametrize("trials", [1, 7, 40])
def test_bounds_solve_the_tail_equation_from_the_safe_side(trials: int, alpha: float) -> None:
    for hits in range(trials + 1):
        ends = clopper_pearson_lower(hits, trials, alpha), clopper_pearson_upper(hits, trials, alpha)
        low, high = map(Fraction, ends)
        assert 0 <= low <= Fraction(hits, trials) <= high <= 1
        if hits:
            assert tail(hits, trials, low) <= alpha
            assert tail(hits, trials, low * (1 + Fraction(1, 10**7))) > alpha * (1 - 1e-6)
        else:
            assert low == 0
        if hits < trials:
            assert 1 - tail(hits + 1, trials, high) <= alpha * (1 + 1e-9)
            assert tail(trials - hits, trials, 1 - high) <= alpha * (1 + 1e-9)


@pytest.mark.further
@pytest.mark.quick(alpha=0.005, hits=(123, 499_999))
@pytest.mark.parametrize(("hits", "trials"), [(1, 500_000), (123, 500_000), (250_000, 500_000), (499_999, 500_000)])
@pytest.mark.parametrize("alpha", [0.005, 1e-11])
def test_many_trials(hits: int, trials: int, alpha: float) -> None:
    low = clopper_pearson_lower(hits, trials, alpha)
    with mpmath.workdps(30):
        x = mpmath.mpf(low)
        term = mpmath.binomial(trials, hits) * x**hits * (1 - x) ** (trials - hits)
        p = term
        for j in range(hits, min(trials, hits + 20_000)):
            term *= x / (1 - x) * (trials - j) / (j + 1)
            p += term
    assert p <= alpha
    assert p > alpha * (1 - 1e-5)


@pytest.mark.further
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
def test_coverage_is_exact(p: Fraction) -> None:
    trials, alpha = 30, 0.1
    mass = [comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)]
    above = sum(m for j, m in enumerate(mass) if clopper_pearson_lower(j, trials, alpha) > p)
    below = sum(m for j, m in enumerate(mass) if clopper_pearson_upper(j, trials, alpha) < p)
    assert above <= alpha
    assert below <= alpha
    assert max(above, below) > 0
