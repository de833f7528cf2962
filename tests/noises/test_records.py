"""The records of the noises: densities and survival functions against mpmath, and claims that their own values refute.

Tries proofs/noises/standard.tex.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.noises.standard import STANDARD, describe_noise_options, find_standard_noise, is_standard

from ..oracles import quadrature
from ..oracles.noise import dyadic, number
from .sixth import SIXTH

ALL = (*STANDARD, SIXTH)
every_noise = pytest.mark.parametrize("noise", ALL, ids=lambda noise: noise.name)
FLAGS = ("is_max_stable", "is_memoryless", "is_two_sided", "has_exponential_odds")
NODES = sorted([mpq(i, 2) for i in range(-24, 49)] + [mpq(1, 10**9), mpq(-1, 10**9), mpq(150), mpq(-150)])
BITS = 160
AT = Intervals(BITS)


@every_noise
@pytest.mark.parametrize("precision", [2, 53, 128])
def test_survival_and_density_are_enclosed(noise: Noise, precision: int) -> None:
    assert noise.survival is not None
    assert noise.density is not None
    with mpmath.workprec(precision + 800):
        for z in NODES:
            at = number(Fraction(int(z.numerator), int(z.denominator)))
            for enclosed, table in ((noise.survival, quadrature.UPPER), (noise.density, quadrature.DENSITY)):
                lower, upper = map(dyadic, enclosed(z, precision))
                true = table[noise.name](at)
                assert lower <= true <= upper
                if precision > 2 and z > -20:  # far to the left the density of Gumbel noise is e^-e^150
                    assert upper - lower <= true * mpmath.mpf(2) ** (12 - precision - 2 * min(0, int(z)))


def _survival(noise: Noise, z: mpq) -> Interval:
    assert noise.survival is not None
    return noise.survival(z, BITS)


def _density(noise: Noise, z: mpq) -> Interval:
    assert noise.density is not None
    return noise.density(z, BITS)


def _less(x: Interval, y: Interval) -> bool:
    return bool(x[1] < y[0])


def _apart(x: Interval, y: Interval) -> bool:
    return _less(x, y) or _less(y, x)


def _without(x: Interval, y: Interval) -> Interval:
    return AT.add(x, AT.negative(y))


def _grown(z: mpq, mass: Interval) -> Interval:
    return AT.multiply(AT.exp(AT.rational(z)), mass)


def _remembers(noise: Noise, z: mpq) -> bool:
    """Whether the noise beyond z >= 0 certainly has another law than the noise itself."""
    return z >= 0 and _apart(_survival(noise, z + 1), AT.multiply(_survival(noise, z), _survival(noise, mpq(1))))


def _violations(noise: Noise) -> Iterator[str]:
    tails, densities = [_survival(noise, z) for z in NODES], [_density(noise, z) for z in NODES]
    for u in (mpq(i, 32) for i in range(1, 32)):
        low, high = noise.quantile(u, BITS)
        if not _survival(noise, mpq(high))[0] <= 1 - u <= _survival(noise, mpq(low))[1]:
            yield "quantile"
    for z in (mpq(i, 4) + mpq(1, 1000) for i in range(-20, 40)):
        step = mpq(1, 2**20)
        slope = AT.divide(_without(_survival(noise, z), _survival(noise, z + step)), AT.rational(step))
        if _apart(slope, AT.multiply(_density(noise, z), (AT.rational(99)[0] / 100, AT.rational(101)[1] / 100))):
            yield "density"
    for flag, claimed, masses in (("class_a", noise.is_class_a, densities), ("lipschitz", noise.is_lipschitz, tails)):
        weighted = [_grown(z, mass) for z, mass in zip(NODES, masses, strict=True)]
        if claimed and any(_less(later, first) for first, later in pairwise(weighted)):
            yield f"is_{flag}"
    for z, tail, density in zip(NODES, tails, densities, strict=True):
        below = _without(AT.rational(1), tail)
        if noise.tail is not None and _grown(z, tail)[0] > noise.tail:
            yield "tail"
        if noise.is_two_sided and _apart(density, _density(noise, -z)):
            yield "is_two_sided"
        if noise.has_exponential_odds and _apart(below, _grown(z, tail)):
            yield "has_exponential_odds"
        if noise.is_memoryless and _remembers(noise, z):
            yield "is_memoryless"
        if noise.is_max_stable:  # of two with the score 0 the better one is like one with the score ln 2
            low, high = _without(AT.rational(z), AT.log(AT.rational(2)))
            shifted = _survival(noise, mpq(high))[0], _survival(noise, mpq(low))[1]
            if _apart(AT.multiply(below, below), _without(AT.rational(1), shifted)):
                yield "is_max_stable"


def refuted(noise: Noise) -> set[str]:
    """The claims of a record that its own enclosures certainly violate on a grid of points."""
    return set(_violations(noise))


@every_noise
def test_no_claim_of_a_record_is_refuted_by_its_own_values(noise: Noise) -> None:
    assert refuted(noise) == set()


@every_noise
@pytest.mark.parametrize("flag", FLAGS)
def test_a_claim_that_is_wrong_is_refuted(noise: Noise, flag: str) -> None:
    """So the test above can fail: each property is true of those alone that claim it."""
    assert refuted(replace(noise, **{flag: True})) == (set() if getattr(noise, flag) else {flag})


def _twice_as_fast(function: Any) -> Any:
    return lambda z, precision: function(2 * z, precision)


def test_wrong_facts_are_refuted() -> None:
    laplace, logistic = tk.noise.Laplace(), tk.noise.Logistic()
    assert refuted(replace(laplace, tail=Fraction(49, 100))) == {"tail"}
    assert refuted(replace(laplace, quantile=logistic.quantile)) == {"quantile"}
    assert refuted(replace(laplace, density=logistic.density)) == {"density"}
    assert {"quantile", "density"} <= refuted(replace(laplace, survival=logistic.survival))
    fast = replace(laplace, density=_twice_as_fast(laplace.density), survival=_twice_as_fast(laplace.survival))
    assert {"is_class_a", "is_lipschitz"} <= refuted(fast)


@every_noise
def test_a_record_is_complete(noise: Noise) -> None:
    assert noise.words
    assert noise.tail is not None
    assert (noise.arrival_distribution().cells is None) == (noise.is_max_stable or noise.is_memoryless)


def test_the_library_has_those_on_the_list() -> None:
    assert (
        describe_noise_options() == "Gumbel(), Exponential(), HalfLogistic(), Laplace(), Logistic() or CustomNoise(...)"
    )
    assert all(find_standard_noise(noise.name) is noise and is_standard(noise) for noise in STANDARD)
    assert not is_standard(SIXTH)
