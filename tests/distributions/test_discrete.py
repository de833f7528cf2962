"""How large discrete noise can be: held against exact tails, of which it is the least number."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import mpmath
import pytest

from opendp_topk.distributions.discrete import largest_noise
from opendp_topk.errors import ParameterError

from ..oracles.discrete import masses

SCALES = [Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(10, 3), Fraction(25)]


def _outside(name: str, scale: Fraction, size: int) -> mpmath.mpf:
    return mpmath.fsum(mass for z, mass in masses(name, scale).items() if abs(z) > size)


@pytest.mark.quick(k=(3, 10), scale="10/3")
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(("k", "alpha"), [(1, 0.5), (1, 0.05), (10, 0.05), (3, Fraction(1, 10**9))])
def test_it_is_the_least_number_that_no_draw_exceeds(name: str, scale: Fraction, k: int, alpha: Fraction) -> None:
    bound = largest_noise(scale, k, alpha, gaussian=name == "gaussian")
    assert isinstance(bound, int)
    within = mpmath.mpf(1) - mpmath.mpf(Fraction(alpha).numerator) / Fraction(alpha).denominator
    assert (1 - _outside(name, scale, bound)) ** k >= within
    assert bound == 0 or (1 - _outside(name, scale, bound - 1)) ** k < within


def test_wide_noise_is_that_of_continuous_laws() -> None:
    one = -math.expm1(math.log1p(-0.05) / 50)
    for scale, close in ((10**5, 1.0), (10**9, 1000.0)):
        normal = -NormalDist().inv_cdf(one / 2) * scale
        assert 0 <= largest_noise(Fraction(scale), 50, 0.05, gaussian=True) - normal + 1 <= close + 1
        laplace = -math.log(one) * scale
        assert abs(largest_noise(Fraction(scale), 50, 0.05, gaussian=False) - laplace) <= 1


def test_ends() -> None:
    assert largest_noise(Fraction(0), 3, 0.1, gaussian=True) == 0
    assert largest_noise(Fraction(0), 3, 0.1, gaussian=False) == 0
    assert largest_noise(Fraction(1, 10**400), 1, 0.9, gaussian=False) == 0
    assert largest_noise(Fraction(10**308), 10, 0.01, gaussian=False) == math.inf
    assert largest_noise(Fraction(10**200), 10, 0.01, gaussian=True) == math.inf


@pytest.mark.parametrize(("scale", "k", "alpha"), [(-1, 1, 0.5), (1, 0, 0.5), (1, 1, 0), (1, 1, 1), (1, 1, math.nan)])
def test_bad_arguments(scale: int, k: int, alpha: float) -> None:
    with pytest.raises(ParameterError, match="largest_noise needs"):
        largest_noise(Fraction(scale), k, alpha, gaussian=True)
