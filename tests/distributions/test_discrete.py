"""How large discrete noise can be: held against exact tails, and never far above what is true."""

from __future__ import annotations

import math
from fractions import Fraction

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
def test_the_tail_beyond_the_bound_is_small_enough(name: str, scale: Fraction, k: int, alpha: Fraction) -> None:
    bound = largest_noise(scale, k, alpha, gaussian=name == "gaussian")
    assert isinstance(bound, int)
    assert k * _outside(name, scale, bound) <= mpmath.mpf(Fraction(alpha).numerator) / Fraction(alpha).denominator


@pytest.mark.parametrize("gaussian", [False, True])
def test_formulas(gaussian: bool) -> None:
    with mpmath.workdps(40):
        log = mpmath.log(20 / mpmath.mpf(Fraction(0.05).numerator) * Fraction(0.05).denominator)
        expected = int(mpmath.floor(mpmath.sqrt(2 * log) * 40 if gaussian else log * 40))
    assert largest_noise(Fraction(40), 10, 0.05, gaussian=gaussian) == expected


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
