"""Merged laws against the masses and densities by their definitions."""

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import merged_laws
from tests.oracles import discrete

INTEGERS = tk.AtomDomain(int)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(1, 5)])
def test_cells_have_the_masses_of_the_noise(name: str, scale: Fraction) -> None:
    make, metric = {"laplace": (tk.make_laplace, tk.L1Distance()), "gaussian": (tk.make_gaussian, tk.L2Distance())}[
        name
    ]
    noisy = make(tk.VectorDomain(INTEGERS), metric, tk.ZeroConcentratedDivergence(), scale=scale)
    masses = discrete.masses(name, scale)
    with mpmath.workdps(40):
        for score in (0, 3, -20):
            law = merged_laws.noisy_score_distribution(noisy, reach=4)([score])
            expected: dict[Any, Any] = {(n,): masses.get(n - score, 0) for n in range(-4, 5)}
            expected[("below",)] = mpmath.fsum(p for z, p in masses.items() if z + score < -4)
            expected[("above",)] = mpmath.fsum(p for z, p in masses.items() if z + score > 4)
            assert set(law) == set(expected)
            assert all(abs(law[cell] - expected[cell]) < mpmath.mpf("1e-33") for cell in law)
            assert all(mass > 0 for mass in law.values())
        both = merged_laws.noisy_score_distribution(noisy, reach=3)([1, -1])
        single = [merged_laws.noisy_score_distribution(noisy, reach=3)([score]) for score in (1, -1)]
        assert all(abs(p - single[0][a,] * single[1][b,]) < mpmath.mpf("1e-40") for (a, b), p in both.items())


def test_far_tails_keep_their_digits() -> None:
    """The mass beyond 60 standard deviations, from its first term and the bounds on a Gaussian's ratio."""
    noisy = tk.make_gaussian(tk.VectorDomain(INTEGERS), tk.L2Distance(), tk.ZeroConcentratedDivergence(), scale=1)
    tail = merged_laws.noisy_score_distribution(noisy, reach=59)([0])[("above",)]
    with mpmath.workdps(40):
        first = mpmath.exp(-1800) / (1 + 2 * mpmath.nsum(lambda z: mpmath.exp(-z * z / 2), [1, mpmath.inf]))
        assert first * (1 + mpmath.exp(-60.5)) <= tail * (1 + mpmath.mpf("1e-35"))
        assert tail <= first / (1 - mpmath.exp(-60.5)) * (1 + mpmath.mpf("1e-35"))


@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence()], ids=repr)
def test_counts_are_independent_given_the_winners(measure: tk.Measure) -> None:
    space = tk.VectorDomain(INTEGERS, size=3), tk.LInfDistance()
    both = tk.make_select_then_count(*space, measure, k=2, scale=2, count_scale=3)
    select = tk.make_report_noisy_top_k(*space, measure, k=2, scale=2)
    law, winners = merged_laws.winner_count_distribution(both, reach=3)([3, 0, 1]), select.distribution([3, 0, 1])
    name = "laplace" if measure == tk.MaxDivergence() else "gaussian"
    masses = discrete.masses(name, Fraction(3))
    with mpmath.workdps(40):
        for pair, chance in winners.items():
            assert abs(mpmath.fsum(p for (w, _), p in law.items() if w == pair) - chance) < mpmath.mpf("1e-35")
            expected = chance * masses[2 - [3, 0, 1][pair[0]]] * masses[-1 - [3, 0, 1][pair[1]]]
            assert abs(law[pair, (2, -1)] - expected) < mpmath.mpf("1e-33")


def gaps(noise: str, k: int, optimize: str = "max") -> tk.Measurement:
    """Parameters such as those of a ranking with gaps."""
    space = tk.VectorDomain(INTEGERS), tk.RangeDistance(), tk.MaxDivergence()
    functions = {"function": lambda scores: 0, "privacy_map": lambda d_in: k * d_in}
    parameters = {"noise": noise, "k": k, "scale": 1, "optimize": optimize}
    return tk.make_user_measurement(*space, **functions, parameters=parameters)


@pytest.mark.parametrize("noise", ["Gumbel", "Exponential"])
def test_the_gap_of_one_winner(noise: str) -> None:
    """Two candidates, s = (1, 0): the difference of the noises is logistic, or Laplace."""
    law = merged_laws.gap_ranking_distribution(gaps(noise, 1), cuts=(Fraction(2),))([1, 0])
    with mpmath.workdps(40):

        def beyond(z: int) -> Any:
            if noise == "Gumbel":
                return 1 / (1 + mpmath.exp(z))
            return mpmath.exp(-z) / 2 if z >= 0 else 1 - mpmath.exp(z) / 2

        expected = {
            ((0,), (0,)): beyond(-1) - beyond(1),
            ((0,), (1,)): beyond(1),
            ((1,), (0,)): beyond(1) - beyond(3),
            ((1,), (1,)): beyond(3),
        }
        assert set(law) == set(expected)
        assert all(abs(law[key] - p) < mpmath.mpf("1e-35") for key, p in expected.items())


@pytest.mark.parametrize("optimize", ["max", "min"])
def test_cells_of_gaps_sum_to_the_ranking(optimize: str) -> None:
    law = merged_laws.gap_ranking_distribution(gaps("Exponential", 2, optimize), cuts=(Fraction(1), Fraction(3)))(
        [2, 0, 1]
    )
    ranking = tk.make_report_noisy_top_k(
        tk.VectorDomain(INTEGERS), tk.RangeDistance(), tk.MaxDivergence(), k=2, scale=1, noise=tk.noise.Exponential(),
        optimize=optimize,
    )  # fmt: skip
    with mpmath.workdps(40):
        for winners, chance in ranking.distribution([2, 0, 1]).items():
            cells = [law[winners, levels] for levels in itertools.product(range(3), repeat=2)]
            assert min(cells) > 0
            assert abs(mpmath.fsum(cells) - chance) < mpmath.mpf("1e-35")


def test_the_gaps_are_free_under_pure_privacy_and_no_more_than_that() -> None:
    measurement = gaps("Exponential", 2)
    law, pairs = merged_laws.gap_ranking_distribution(measurement), [((1, 0, 0), (1, 1, 1)), ((0, 0, 0), (1, 0, 1))]
    report = tk.audit.verify(measurement, law=law, pairs=pairs, relative_error=Fraction(1, 10**20))
    assert 0.999 < report.tightness <= 1
    with pytest.raises(tk.errors.ParameterError, match="be scores of the domain"):
        merged_laws.gap_ranking_distribution(measurement, cuts=(Fraction(1, 2),))([1, 0, 0])
