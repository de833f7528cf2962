"""Exact laws and accuracy bounds of one-shot top-k, against the independent oracle."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk import Exponential, Gumbel
from opendp_topk.errors import CapacityError, ParameterError
from opendp_topk.sampling.distributions import one_shot
from opendp_topk.sampling.distributions.one_shot_accuracy import accuracy

from ..oracles import one_shot as oracle
from ..oracles.noise import number

MEASURES = {
    "Exponential": [tk.MaxDivergence()],
    "Gumbel": [tk.RangeDivergence(), tk.ZeroConcentratedDivergence()],
}
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
    with pytest.raises(ParameterError, match="at least k"):
        accuracy(Gumbel(), 1, 2, Fraction(1), 0.05)


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
            failure = mpmath.fsum(
                p
                for outcome, p in law.items()
                if any(sign * scores[i] < best[t] - bound for t, i in enumerate(outcome))
            )
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
