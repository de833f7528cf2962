"""The quantiles of the five noises, as intervals at every precision, against mpmath.

Tries proofs/numerics/intervals.tex and proofs/samplers/gap_rows.tex.
"""

import random
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.numerics.floats import two_sum
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.noises.paired import QUANTILES
from opendp_topk.sampling.noises.standard import STANDARD

from ..oracles import noise as oracle

ALL = [getattr(tk.noise, name)() for name in oracle.NAMES]
SUPPORT = {
    "Gumbel": (-mpmath.inf, mpmath.inf),
    "Exponential": (0, mpmath.inf),
    "HalfLogistic": (0, mpmath.inf),
    "Laplace": (-mpmath.inf, mpmath.inf),
    "Logistic": (-mpmath.inf, mpmath.inf),
}
every_noise = pytest.mark.parametrize("noise", ALL, ids=repr)


def _points() -> list[Fraction]:
    rng = random.Random(5)
    halves = [Fraction(1, 2) + sign * Fraction(1, 2**n) for n in (2, 16, 80, 300) for sign in (-1, 1)]
    ends = [Fraction(1, 2**n) for n in (1, 16, 64, 80, 700)]
    spread = [Fraction(rng.getrandbits(n) + 1, 2**n + 1) for n in (8, 16, 64, 80, 200, 600) for _ in range(4)]
    return [*halves, *ends, *(1 - end for end in ends), *spread, Fraction(1, 3)]


@every_noise
@pytest.mark.parametrize("precision", [2, 24, 53, 128, 256, 1024])
def test_quantile_encloses_the_true_one(noise: Noise, precision: int) -> None:
    with mpmath.workprec(precision + 2200):
        for u in _points():
            lower, upper = noise.quantile(mpq(u.numerator, u.denominator), precision)
            assert oracle.dyadic(lower) <= oracle.QUANTILE[noise.name](u) <= oracle.dyadic(upper)


@every_noise
def test_intervals_shrink_to_the_quantile(noise: Noise) -> None:
    u = Fraction(2, 3) + Fraction(1, 2**90)
    with mpmath.workprec(4000):
        true = oracle.QUANTILE[noise.name](u)
        for precision in (64, 128, 256, 512, 1024):
            lower, upper = noise.quantile(mpq(u.numerator, u.denominator), precision)
            assert 0 <= oracle.dyadic(upper) - oracle.dyadic(lower) <= mpmath.mpf(2) ** (6 - precision)
            assert oracle.dyadic(lower) <= true <= oracle.dyadic(upper)


@every_noise
@pytest.mark.parametrize("precision", [53, 128])
def test_quantile_at_the_ends_of_the_support(noise: Noise, precision: int) -> None:
    lowest, highest = SUPPORT[noise.name]
    assert set(map(float, noise.quantile(mpq(0), precision))) == {float(lowest)}
    assert set(map(float, noise.quantile(mpq(1), precision))) == {float(highest)}


@every_noise
def test_oracle_inverts_the_distribution_function(noise: Noise) -> None:
    with mpmath.workdps(60):
        for u in (Fraction(1, 1000), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(99999, 100000)):
            z = oracle.QUANTILE[noise.name](u)
            assert abs(oracle.CDF[noise.name](z) - oracle.number(u)) < mpmath.mpf(10) ** -50


@every_noise
def test_quantile_ignores_the_callers_context(noise: Noise) -> None:
    expected = noise.quantile(mpq(1, 3), 100)
    with gmpy2.context(precision=5, round=gmpy2.RoundAwayZero):
        assert noise.quantile(mpq(1, 3), 100) == expected


@every_noise
def test_noises_are_values_known_by_name(noise: Noise) -> None:
    assert noise == getattr(tk.noise, noise.name)()
    assert sum(noise == other for other in ALL) == 1
    assert repr(noise) == f"{noise.name}()"


@every_noise
def test_class_a_and_lipschitz_conditions_hold_on_a_grid(noise: Noise) -> None:
    """e^z f(z) and e^z (1 - F(z)) do not decrease, as the flags of the noise say."""
    assert noise.is_class_a
    assert noise.is_lipschitz
    cdf = oracle.CDF[noise.name]
    with mpmath.workdps(40):
        grid = [mpmath.mpf(i) / 8 + mpmath.mpf(1) / 16 for i in range(-64, 100)]
        density = [mpmath.exp(z) * mpmath.diff(cdf, z, h=mpmath.mpf(10) ** -12) for z in grid]
        survival = [mpmath.exp(z) * (1 - cdf(z)) for z in grid]
        slack = mpmath.mpf(10) ** -9
        assert all(b >= a * (1 - slack) - slack for a, b in pairwise(density))
        assert all(b >= a * (1 - slack) for a, b in pairwise(survival))


ENDS = sorted({0.0, 0.3, 0.5, 0.8, 1.0, *(abs(left - 2.0**-n) for n in (50, 20, 8, 7, 6, 2) for left in (0, 1))})
COARSE = {"Gumbel": 2.0**-45}


@pytest.mark.quick
@every_noise
def test_float_quantiles_bound_those_of_an_interval_and_are_tight_at_a_point(noise: Noise) -> None:
    below, above = (np.array(ends) for ends in zip(*combinations_with_replacement(ENDS, 2), strict=True))
    found = noise.quantile_floats((below, above), (1 - above, 1 - below))
    with mpmath.workdps(60):
        true = {u: oracle.QUANTILE[noise.name](Fraction(u)) for u in ENDS[1:-1]}
        true |= dict(zip((0.0, 1.0), map(mpmath.mpf, SUPPORT[noise.name]), strict=True))
        for u, v, *bounds in zip(*(part.tolist() for part in (below, above, *found)), strict=True):
            slacks = [0 if z == bound else abs(z - bound) for z, bound in zip((true[u], true[v]), bounds, strict=True)]
            assert bounds[0] <= true[u] <= true[v] <= bounds[1], (u, v)
            assert u < v or max(slacks) <= COARSE.get(noise.name, 2.0**-48) * (1 + abs(true[u])), u
    same = below == above
    u, v = below[same], 1 - below[same]
    assert np.array_equal(noise.quantile_floats((u, u), (v, v)), np.array(found)[:, same])


# Noise at points of a hundred digits is as near as it says.


def test_every_noise_of_the_library_has_one() -> None:
    assert set(QUANTILES) == {noise.name for noise in STANDARD}


@pytest.mark.further
@pytest.mark.parametrize("name", oracle.NAMES)
def test_the_pair_is_within_its_error_of_the_quantile(name: str) -> None:
    rng = random.Random(name)
    middles = []
    for shift in range(0, 40, 2):
        near = [rng.getrandbits(80 - shift) | 1 << 40 for _ in range(60)]
        middles += [*near, *(2**80 - 1 - n for n in near)]
    middles += [2**79 - 1, 2**79, 2**79 + 2**26, 2**79 - 2**26, 2**40, 2**80 - 2**40 - 1]
    exact = [Fraction(2 * n + 1, 2**81) for n in middles]
    front = np.array([float(Fraction(n >> 32, 2**48)) for n in middles])
    back = np.array([float(u - Fraction(f)) for u, f in zip(exact, front.tolist(), strict=True)])
    found = QUANTILES[name](two_sum(front, back), two_sum(1 - front, -back))
    with mpmath.workprec(300):
        for u, high, low, error in zip(exact, *(part.tolist() for part in found), strict=True):
            assert abs(mpmath.mpf(high) + low - oracle.QUANTILE[name](u)) <= error
            assert error <= 2.0**-70 + 2.0**-58 * (name == "Gumbel")
            assert abs(high) < 2**6
            assert abs(low) < 2.0**-22
