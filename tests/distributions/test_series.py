"""Exact laws with half-logistic, Laplace and logistic noise, against quadrature, closed forms and symmetries.

Tries proofs/distributions/one_shot_success.tex and proofs/distributions/quadrature.tex.
"""

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest

from opendp_topk.errors import CapacityError
from opendp_topk.sampling.distributions import one_shot
from opendp_topk.sampling.distributions.one_shot_accuracy import accuracy
from opendp_topk.sampling.distributions.quadrature import MOST_PANELS, gauss_legendre_rule, integral_bounds
from opendp_topk.sampling.noises import Exponential, Gumbel, HalfLogistic, Laplace, Logistic
from opendp_topk.sampling.noises.noise import Factor, Noise
from tests.concepts.sentinels import raises_exactly

from ..oracles import quadrature
from ..oracles.noise import number

NOISES = [HalfLogistic(), Laplace(), Logistic()]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)
VECTORS = [
    [Fraction(0), Fraction(1), Fraction(-5, 2)],
    [Fraction(0), Fraction(-9), Fraction(1, 10**12)],
    [Fraction(2)] * 3 + [Fraction(5, 3)],
]


def law(noise: Noise, scores: list[Any], k: int, ordered: bool = True) -> dict[Any, Any]:
    with mpmath.workdps(50):
        return one_shot.output_distribution(noise, [Fraction(score) for score in scores], False, k, ordered)


def agree(found: dict[Any, Any], expected: dict[Any, Any]) -> None:
    assert found.keys() == expected.keys()
    with mpmath.workdps(50):
        for outcome, p in expected.items():
            assert abs(found[outcome] - p) <= p * mpmath.mpf("1e-30"), outcome


@pytest.mark.quick(scores="[Fraction(0, 1), Fraction(1, 1), Fraction(-5, 2)]")
@every_noise
@pytest.mark.parametrize("scores", VECTORS, ids=str)
def test_law_is_the_integral_over_the_last_winner(noise: Noise, scores: list[Fraction]) -> None:
    for k in (1, 2):
        agree(law(noise, scores, k), quadrature.rankings(noise.name, scores, k))


@pytest.mark.further
@pytest.mark.quick(noise="Exponential()")
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_the_quadrature_is_right_where_laws_have_closed_forms(noise: Noise) -> None:
    agree(law(noise, VECTORS[0], 2), quadrature.rankings(noise.name, VECTORS[0], 2))


@pytest.mark.further
@pytest.mark.parametrize("gap", [Fraction(1, 1000), Fraction(1), Fraction(7, 2), Fraction(60)])
def test_two_candidates_in_closed_form(gap: Fraction) -> None:
    with mpmath.workdps(80):
        e = mpmath.exp(number(gap))
        lower = {"Laplace": (2 + number(gap)) / (4 * e), "Logistic": 1 - e * (e - 1 - number(gap)) / (e - 1) ** 2}
        for noise in (Laplace(), Logistic()):
            expected = {(0,): 1 - lower[noise.name], (1,): lower[noise.name]}
            agree(law(noise, [gap, 0], 1), expected)


@pytest.mark.further
@pytest.mark.quick(noise="HalfLogistic()")
@every_noise
def test_three_winners_extend_two(noise: Noise) -> None:
    scores = [0, 2, Fraction(1, 3), -1]
    two, three, four = (law(noise, scores, k) for k in (2, 3, 4))
    with mpmath.workdps(50):
        merged = {y: mpmath.fsum(p for longer, p in three.items() if longer[:2] == y) for y in two}
        agree(merged, two)
        agree({y[:3]: p for y, p in four.items()}, three)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [Laplace(), Logistic()], ids=repr)
def test_symmetric_noise_ranks_backwards_alike(noise: Noise) -> None:
    scores = [0, 2, Fraction(1, 3), -1]
    backwards = law(noise, [-score for score in scores], 4)
    agree({y[::-1]: p for y, p in backwards.items()}, law(noise, scores, 4))


@every_noise
def test_equal_scores_have_equal_odds(noise: Noise) -> None:
    with mpmath.workdps(50):
        uniform = {y: mpmath.mpf(1) / 24 for y in permutations(range(4), 3)}
    agree(law(noise, [5, 5, 5, 5], 3), uniform)


@pytest.mark.further
@every_noise
def test_sets_add_up_their_orders(noise: Noise) -> None:
    scores = [0, 1, 3]
    ranked, sets = law(noise, scores, 2), law(noise, scores, 2, ordered=False)
    with mpmath.workdps(50):
        agree(sets, {(i, j): ranked[i, j] + ranked[j, i] for i, j in ((0, 1), (0, 2), (1, 2))})


@pytest.mark.further
@pytest.mark.quick(noise="HalfLogistic()")
@every_noise
def test_small_probabilities_keep_their_digits(noise: Noise) -> None:
    """Far below: the odds of the last to come first, against quadrature with as many digits as they need."""
    scores = [Fraction(0), Fraction(-45)]
    agree(law(noise, scores, 1), quadrature.rankings(noise.name, scores, 1, digits=60))


@pytest.mark.further
@every_noise
def test_the_callers_precision_is_neither_used_nor_changed(noise: Noise) -> None:
    expected = law(noise, [0, 1, 3], 2)
    with gmpy2.context(precision=5, round=gmpy2.RoundUp), mpmath.workdps(50):
        assert law(noise, [0, 1, 3], 2) == expected
        assert gmpy2.get_context().precision == 5


@every_noise
def test_laws_that_cost_too_much_are_refused(noise: Noise) -> None:
    raises_exactly(CapacityError, lambda: law(noise, [0, 2000], 1), "closer to each other")
    raises_exactly(CapacityError, lambda: one_shot.ranking_probability(noise, [Fraction(0)] * 9, 5), "too many steps")


@pytest.mark.further
@pytest.mark.quick(k=1, alpha="1/20")
@every_noise
@pytest.mark.parametrize("alpha", [0.5, Fraction(1, 20)])
@pytest.mark.parametrize("k", [1, 2])
def test_accuracy_bound_fails_no_more_often_than_it_says(noise: Noise, k: int, alpha: Any) -> None:
    for scores in ([9, 6, 0], [3, 3, 0, 0], [7, 0, 0, 0]):
        bound = accuracy(noise, len(scores), k, Fraction(1), alpha)
        best = sorted(scores, reverse=True)
        failure = mpmath.fsum(
            p for y, p in law(noise, scores, k).items() if any(scores[i] < best[t] - bound for t, i in enumerate(y))
        )
        assert failure <= float(alpha)


@pytest.mark.parametrize(("noise", "sides", "odds"), [(HalfLogistic(), 1, 2), (Laplace(), 2, 1), (Logistic(), 2, 2)])
def test_accuracy_is_the_formula_rounded_up(noise: Noise, sides: int, odds: int) -> None:
    for n in (3, 1000):
        for scale in (Fraction(1), Fraction(1, 3), Fraction(0)):
            value = accuracy(noise, n, 3, scale, 0.05)
            with mpmath.workdps(60):
                true = sides * number(scale) * mpmath.log(number(odds * n / Fraction(0.05)))
                assert true <= value
                assert value - true <= 2 * math.ulp(value)


def test_a_factor_multiplies_a_series() -> None:
    given = [1, 2, 3, 4, 5]
    for constant, slope, rho, power in product((0, 1, 3), (0, 1, -2), (0, 0.5), (0, 1, 2)):
        made = Factor(*map(gmpy2.mpfr, (constant, slope, rho)), power).multiply_series(list(map(gmpy2.mpfr, given)))
        undone = np.convolve([float(one) for one in made], [[1], [1, rho], [1, 2 * rho, rho**2]][power])
        assert np.array_equal(undone[:5], np.convolve([constant, slope], given)[:5]), (constant, slope, rho, power)


# The rule and its error bound, on integrals that are known.


ENDS = 2.0 ** np.linspace(-30, 2, 4 * 32 + 1)


def test_polynomials_and_steep_functions() -> None:
    def power(n: int) -> tuple[float, float]:
        return integral_bounds(
            ENDS, lambda x, left, right: (x**n, x**n * (1 + 1e-15)), lambda low, high, left, right: high**n
        )

    for n in (0, 1, 7, 40, 300):
        low, high = power(n)
        true = (4.0 ** (n + 1) - ENDS[0] ** (n + 1)) / (n + 1)
        assert low <= true * (1 + 1e-13)
        assert true * (1 - 1e-13) <= high


def test_exponentials() -> None:
    for rate in (0.1, 3.0, 200.0):
        low, high = integral_bounds(
            ENDS,
            lambda x, left, right, r=rate: (r * np.exp(-r * x) * (1 - 1e-13), r * np.exp(-r * x) * (1 + 1e-13)),
            lambda low, high, left, right, r=rate: r * np.exp(-r * low),
        )
        true = np.exp(-rate * ENDS[0]) - np.exp(-rate * ENDS[-1])
        assert low <= true <= high
        assert high - low < 1e-10


def test_what_cannot_be_resolved_is_said_to_be_wide_or_refused() -> None:
    """A bound that never shrinks: either an error, or an enclosure that still holds."""
    with pytest.raises(CapacityError, match="too many panels"):
        integral_bounds(ENDS, lambda x, left, right: (x, x), lambda low, high, left, right: np.full_like(low, np.inf))


def test_no_round_has_more_panels_than_the_error_allows() -> None:
    def greatest(low: Any, high: Any, left: Any, right: Any) -> Any:
        assert np.allclose((low + high, high - low), (left + right, 4 * (right - left)), rtol=1e-6)
        return np.ones_like(low)

    def constant(n: int) -> tuple[float, float]:
        return integral_bounds(np.linspace(1, 2, n + 1), lambda x, left, right: (x / x, x / x), greatest)

    low, high = constant(MOST_PANELS)
    assert 1 - 1e-9 <= low <= 1 <= high <= 1 + 1e-9
    raises_exactly(CapacityError, lambda: constant(MOST_PANELS + 1), "too many panels")


def test_the_rule_is_checked() -> None:
    nodes, weights = gauss_legendre_rule()
    assert len(nodes) == len(weights) == 12
    assert (np.abs(nodes) < 1).all()
    assert (weights > 0).all()
