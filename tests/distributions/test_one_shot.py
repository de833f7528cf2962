"""Exact laws and accuracy bounds of one-shot top-k, against the independent oracle.

Tries proofs/distributions/one_shot_success.tex.
"""

import itertools
import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import CapacityError, ParameterError
from opendp_topk.sampling.distributions import one_shot, one_shot_success
from opendp_topk.sampling.distributions import quadrature as departures
from opendp_topk.sampling.distributions.events import EVENTS, event_ranks
from opendp_topk.sampling.distributions.one_shot_accuracy import accuracy
from opendp_topk.sampling.noises import Exponential, Gumbel
from tests.concepts.sentinels import raises_exactly
from tests.oracles import success as integrals

from ..oracles import one_shot as oracle
from ..oracles.noise import number

MEASURES = {"Exponential": [tk.MaxDivergence()], "Gumbel": [tk.RangeDivergence(), tk.ZeroConcentratedDivergence()]}
DIGITS = mpmath.mpf(10) ** -28

VECTORS: list[list[Any]] = [
    [3],
    [0, 1],
    [2, 2, 2],
    [5, -1, 3, 3],
    [0.5, -0.25, 1.125, 0.1],
    [1, 0, 2, 0, 3],
    [0, 40, 40, 1],
    [0, -400, 1, -401],
    [0.0, 400.0, 0.5, 40.0],
    [2**53 + 1, 2**53 + 2, 2**53],
    [10**20, 10**20 + 1, 10**20 - 1],
]


def _measurement(measure: Any, scores: list[Any], k: int, scale: Any, optimize: str, release: str) -> Any:
    space = tk.VectorDomain(tk.AtomDomain(type(scores[0]))), tk.RangeDistance()
    return tk.make_report_noisy_top_k(*space, measure, k=k, scale=scale, optimize=optimize, release=release)


def _oracle(name: str, scores: list[Any], k: int, scale: Any, optimize: str, release: str) -> dict[Any, Any]:
    sign = 1 if optimize == "max" else -1
    units = [sign * Fraction(score) / Fraction(scale) for score in scores]
    units = [unit - max(units) for unit in units]
    with mpmath.workdps(120 + 3 * len(scores) * int(max(map(abs, units)))):
        law = oracle.rankings(name, [mpmath.exp(number(unit)) for unit in units], k)
        return law if release == "ranking" else oracle.sets(law)


def _agree(law: dict[Hashable, Any], expected: dict[Any, Any]) -> None:
    assert law.keys() == expected.keys()
    with mpmath.workdps(60):
        for outcome, p in law.items():
            assert abs(p - expected[outcome]) <= DIGITS * expected[outcome]
        assert abs(mpmath.fsum(law.values()) - 1) < DIGITS / 100


@pytest.mark.further
@pytest.mark.quick(optimize="max", release="ranking")
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("release", ["ranking", "set"])
@pytest.mark.parametrize("optimize", ["max", "min"])
@pytest.mark.parametrize("scores", VECTORS, ids=str)
def test_distribution_is_the_independent_law(name: str, release: str, optimize: str, scores: list[Any]) -> None:
    for k in sorted({1, 2, 3, len(scores)} & set(range(1, len(scores) + 1))):
        expected = _oracle(name, scores, k, 1, optimize, release)
        for measure in MEASURES[name]:
            _agree(_measurement(measure, scores, k, 1, optimize, release).distribution(scores), expected)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("scale", [3, 0.1, Fraction(1, 3), 1e-300, Fraction(10) ** 400])
def test_distribution_in_units_of_any_scale(name: str, scale: Any) -> None:
    scores = [0.0, 1e-300, 3e-300] if scale == 1e-300 else [0.0, 1.5, 2.0]
    measure = MEASURES[name][0]
    law = _measurement(measure, scores, 2, scale, "max", "ranking").distribution(scores)
    _agree(law, _oracle(name, scores, 2, scale, "max", "ranking"))


@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.RangeDivergence()], ids=repr)
def test_distribution_without_noise_is_one_outcome(measure: Any) -> None:
    scores = [3, 7, 3, 7, 1]
    for optimize, release, outcome in [
        ("max", "ranking", (1, 3, 0)),
        ("max", "set", (0, 1, 3)),
        ("min", "ranking", (4, 0, 2)),
        ("min", "set", (0, 2, 4)),
    ]:
        assert _measurement(measure, scores, 3, 0, optimize, release).distribution(scores) == {outcome: 1}


def test_four_ninths() -> None:
    """Weights 1, 1/2, 1/3 and exponential noise: the exact ranking of the two best has probability 4/9."""
    law = oracle.rankings("Exponential", [Fraction(1), Fraction(1, 2), Fraction(1, 3)], 2)
    assert law[0, 1] == Fraction(4, 9)
    assert sum(law.values()) == 1
    with mpmath.workdps(60):
        units = [Fraction(0), *(-Fraction(int(mpmath.log(n) * 10**50), 10**50) for n in (2, 3))]
        found = one_shot.output_distribution(Exponential(), units, False, 2, True)
        for outcome, p in law.items():
            assert abs(found[outcome] - number(p)) < mpmath.mpf(10) ** -45


@pytest.mark.quick(k=(1, 2, 3))
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_rational_weights_give_rational_laws(name: str, k: int) -> None:
    weights = [Fraction(1), Fraction(3, 4), Fraction(1, 5), Fraction(1, 5), Fraction(1, 100)]
    exact = oracle.rankings(name, weights, k)
    assert sum(exact.values()) == 1
    with mpmath.workdps(80):
        units = [Fraction(int(mpmath.log(number(w)) * 10**60), 10**60) for w in weights]
        found = one_shot.output_distribution(
            {"Gumbel": Gumbel(), "Exponential": Exponential()}[name], units, False, k, True
        )
        for outcome, p in exact.items():
            assert abs(found[outcome] - number(p)) < number(p) * mpmath.mpf(10) ** -40


@pytest.mark.quick(outcome=("(0,)", "(2,)"))
@pytest.mark.parametrize("outcome", [(0,), (2,), (0, 1), (2, 0)], ids=str)
def test_oracle_of_exponential_rankings_agrees_with_quadrature(outcome: tuple[int, ...]) -> None:
    """The density of the last winner's value, times the chance that earlier winners are above it in order."""
    scores = [0.0, 0.7, -0.4, 0.2]
    expected = oracle.rankings("Exponential", [mpmath.exp(s) for s in scores], len(outcome))[outcome]

    def above(winners: tuple[int, ...], v: Any) -> Any:
        if not winners:
            return mpmath.mpf(1)
        *rest, last = winners
        start = max(v, mpmath.mpf(scores[last]))
        breaks = sorted({start, *(mpmath.mpf(s) for s in scores if s > start)})
        return mpmath.quad(lambda x: mpmath.exp(scores[last] - x) * above(tuple(rest), x), [*breaks, mpmath.inf])

    def density(v: Any) -> Any:
        losers = mpmath.fprod(max(1 - mpmath.exp(s - v), 0) for i, s in enumerate(scores) if i not in outcome)
        return mpmath.exp(scores[outcome[-1]] - v) * losers * above(outcome[:-1], v)

    with mpmath.workdps(12):
        start = mpmath.mpf(max(scores[outcome[-1]], *(s for i, s in enumerate(scores) if i not in outcome)))
        breaks = sorted({start, *(mpmath.mpf(s) for s in scores if s > start)})
        assert abs(mpmath.quad(density, [*breaks, mpmath.inf]) - expected) < 1e-8


def test_enumerations_that_are_too_large_are_refused() -> None:
    scores = list(range(100))
    with pytest.raises(CapacityError, match="970200 rankings"):
        _measurement(tk.MaxDivergence(), scores, 3, 1, "max", "ranking").distribution(scores)


def test_law_needs_k_scores() -> None:
    with pytest.raises(ParameterError, match="at least k"):
        one_shot.output_distribution(Gumbel(), [Fraction(0)], False, 2, True)
    raises_exactly(ParameterError, lambda: accuracy(Gumbel(), 1, 2, Fraction(1), 0.05), "at least k")


@pytest.mark.quick(alpha="1/100")
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.5, 0.1, Fraction(1, 100)])
def test_accuracy_bound_fails_no_more_often_than_it_says(name: str, k: int, alpha: Any) -> None:
    for scores in ([10, 8, 7, 0], [3, 3, 3, 0, 0], [5, 4, 3, 2], [9, 0, 0, 0, 0]):
        for optimize in ("max", "min"):
            measurement = _measurement(MEASURES[name][0], scores, k, 1, optimize, "ranking")
            bound = measurement.accuracy(len(scores), alpha)
            sign = 1 if optimize == "max" else -1
            best = sorted((sign * score for score in scores), reverse=True)
            law = _oracle(name, scores, k, 1, optimize, "ranking")
            missed = [y for y in law if any(sign * scores[i] < best[t] - bound for t, i in enumerate(y))]
            failure = mpmath.fsum(law[y] for y in missed)
            assert failure <= float(alpha)


@pytest.mark.parametrize("name", MEASURES)
def test_accuracy_bound_is_not_vacuous(name: str) -> None:
    """One score a little above the bound, all others equal: the failure has nearly the odds allowed."""
    alpha, d = 0.05, 5
    bound = _measurement(MEASURES[name][0], [0.0], 1, 1, "max", "ranking").accuracy(d, alpha)
    scores = [bound + 1e-9, *[0.0] * (d - 1)]
    law = _oracle(name, scores, 1, 1, "max", "ranking")
    assert alpha / 3 < 1 - law[(0,)] <= alpha


@pytest.mark.parametrize("name", MEASURES)
def test_accuracy_is_the_formula_rounded_up(name: str) -> None:
    for k, n in [(1, 1), (1, 10), (3, 7), (10, 10**6)]:
        for scale in (1, 0.1, 20.0, Fraction(1, 3), 1e-300, 1e300, 0):
            for alpha in (0.05, 1e-9, Fraction(1, 3), 0.999):
                measurement = _measurement(MEASURES[name][0], [0], k, scale, "max", "set")
                value = measurement.accuracy(n, alpha)
                with mpmath.workdps(60):
                    choices = n * (k if name == "Gumbel" else 1)
                    true = number(Fraction(scale)) * mpmath.log(number(choices / Fraction(alpha)))
                    assert true <= value
                    assert value - true <= 2 * math.ulp(value)


# Enclosures of success: against all orders of small instances, and against other integrals of large ones.


NOISES = [tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic()]
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
                expected = integrals.probability([sign * x for x in scores], law, sure, reach)
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
            expected = integrals.probability(scores, law, *event_ranks(event, k, len(scores)))
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
    expected = integrals.exact_by_quadrature(noise.name, scores, k)
    assert expected > 1e-4
    assert found.upper - found.lower < 1e-9
    assert abs(expected - found.lower) < 1e-8 * expected + found.upper - found.lower


@pytest.mark.slow
@pytest.mark.parametrize(("k", "sure", "reach"), [(5, 1, 7), (10, 2, 14), (10, 10, 11), (12, 3, 12)])
def test_counts_of_the_middle_against_another_integral(k: int, sure: int, reach: int) -> None:
    scores = 30 / np.arange(1, 301) ** 0.5 + np.linspace(0, 1, 300)[::-1]
    found = one_shot_success.success_probability(tk.noise.Gumbel(), scores, Fraction(1), k, 1, sure, reach)
    expected = integrals.counts_by_quadrature(scores, k, sure, reach)
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
    scores, k, noise = np.random.default_rng(6).integers(0, 10**5, 1000), 60, tk.noise.Laplace()
    whole = one_shot_success.success_probability(noise, scores, Fraction(3), k, 1, k, k)
    largest, rate = [0], departures.departure_rate

    def watched(groups: Any, law: Any, *options: Any) -> Any:
        largest[0] = max(largest[0], law.rate.size)
        return rate(groups, law, *options)

    monkeypatch.setattr(departures, "departure_rate", watched)
    monkeypatch.setattr(one_shot_success, "_MOST_CELLS", 2**15)
    assert one_shot_success.success_probability(noise, scores, Fraction(3), k, 1, k, k) == whole
    assert 2**14 < largest[0] <= 2**15


def test_bounds_are_moved_outward_by_the_errors_of_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_shot_success, "_late_event_bound", lambda *_: 0.25)
    for noise, added in ((tk.noise.Gumbel(), 0.25), (tk.noise.Exponential(), 0)):  # the barred one of these has arrived
        low, high = one_shot_success.success_probability(noise, np.array([3, 2, 5]), Fraction(1), 1, 1, 1, 1, 1)
        assert high - low == pytest.approx(added, abs=1e-9)
    monkeypatch.setattr(one_shot_success, "_enclose_probability", lambda *_: (0.5, 0.5))
    low, high = one_shot_success.success_probability(tk.noise.Gumbel(), np.array([9, 5, 3]), Fraction(1), 2, 1, 2, 2)
    error = 2 * (6 * 2.0**-50 + 2.0**-48)  # of scores up to 6 apart, and so twice in each of two choices
    assert [(0.5 - low) / error, (high - 0.5) / error] == pytest.approx([1, 2], rel=0.01)


def test_the_end_is_where_the_event_has_been_left_and_the_work_is_bounded() -> None:
    groups = one_shot_success.group_ranks(np.arange(10**4)[::-1], 1, 1, 1)
    with np.errstate(divide="ignore"):  # ln 2^50 = 34.7 is between 2^-9 and 2^-8 times the 9,999 others
        assert one_shot_success._find_end_time(tk.noise.Gumbel(), np.ones(10**4), groups, 1) == 2.0**-8
    for rows in (1, 10**3):
        assert 2 * rows <= departures.rounding_count_bound(groups, rows) <= 9 * (rows + 100)
    ties = [departures.RankGroups(0, *top, 0, *low, 10) for top in ((8, 4), (0, 0)) for low in ((8, 4), (0, 0))]
    both, *one, none = [group.product_sum_count for group in ties]
    assert both - none == sum(one) - 2 * none > 100


def test_certain_events() -> None:
    for measurement in (lipschitz(tk.noise.Laplace(), 2, 0), lipschitz(tk.noise.Laplace(), 3, 5)):
        assert measurement.success_probability([1, 1, 1]) == tk.audit.Enclosure(1.0, 1.0)
    assert lipschitz(tk.noise.Laplace(), 2, 0).success_probability([5, 4, 4, 4]) == (1.0, 1.0)


def test_chains_push_it_forward() -> None:
    double = tk.make_user_transformation(
        *INTEGERS, *INTEGERS, function=lambda x: 2 * np.asarray(x), stability_map=lambda d_in: 2 * d_in
    )
    scores = [5, 1, 9, 2]
    plain = lipschitz(tk.noise.Gumbel(), 2, 3)
    assert (double >> plain).success_probability(scores) == plain.success_probability([10, 2, 18, 4])
    assert (plain >> tk.index_candidates(list("abcd")) >> str).success_probability(scores) == plain.success_probability(
        scores
    )
    counted = INTEGERS >> tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=2, scale=3)
    assert counted.success_probability(scores) == plain.success_probability(scores)


def test_single_choices_and_peeling() -> None:
    pure, scores = tk.MaxDivergence(), [4, 1, 2, 4, 0]
    for single, noise in (
        (INTEGERS >> tk.then_exponential_mechanism(pure, scale=2), tk.noise.Gumbel()),
        (INTEGERS >> tk.then_permute_and_flip(pure, scale=2), tk.noise.Exponential()),
    ):
        assert single.success_probability(scores) == lipschitz(noise, 1, 2).success_probability(scores)
    peeled = INTEGERS >> tk.then_peeled_top_k(pure, k=2, scale=2, mechanism="exponential")
    assert peeled.success_probability(scores) == lipschitz(tk.noise.Gumbel(), 2, 2).success_probability(scores)


def test_what_is_refused() -> None:
    measurement = lipschitz(tk.noise.Gumbel(), 3, 1)
    raises_exactly(
        tk.errors.ParameterError, lambda: measurement.success_probability([1, 2, 3, 4], "perfect"), "event", "great"
    )
    raises_exactly(tk.errors.ParameterTypeError, lambda: measurement.success_probability([1, 2, 3, 4], 1), "event")
    raises_exactly(tk.errors.DataError, lambda: measurement.success_probability([1, 2]), "k elements")
    raises_exactly(tk.errors.DataTypeError, lambda: measurement.success_probability([1.5, 2.0, 3.0, 4.0]))
    flip = INTEGERS >> tk.then_peeled_top_k(tk.MaxDivergence(), k=2, scale=2, mechanism="permute_and_flip")
    raises_exactly(tk.errors.NotDeclaredError, lambda: flip.success_probability([1, 2, 3]), "no probability of success")
    user = tk.make_user_measurement(*INTEGERS, tk.MaxDivergence(), function=lambda x: 0, privacy_map=lambda d_in: 0.0)
    raises_exactly(tk.errors.NotDeclaredError, lambda: user.success_probability([1]), "no probability of success")
    large = lipschitz(tk.noise.Gumbel(), 4000, 1)
    raises_exactly(CapacityError, lambda: large.success_probability(list(range(10**4)), "good"), "too many sums")
