"""Bounds on the steps of cumulative laws, against sums of mpmath at more digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from opendp_topk.sampling.samplers.inversion import Weights, _exp_fixed_point, compute_boundaries

from ..oracles.discrete import weight
from ..oracles.noise import number
from ..oracles.steps import Steps

TINY = 1e-20  # the error of the sums of mpmath, in units of the last digit
SCALES = [Fraction(1, 50), Fraction(7, 3), Fraction(31)]


def weights(name: str, scale: Fraction) -> Weights:
    if name == "laplace":
        return Weights(1 / scale, Fraction(0))
    return Weights(Fraction(0), 1 / (2 * scale * scale))


@pytest.mark.quick(scale=SCALES[1])
@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("digits", [48, 112, 240])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_every_step_is_enclosed(name: str, scale: Fraction, digits: int, mirrored: bool) -> None:
    found = compute_boundaries(weights(name, scale), digits, mirrored=mirrored)
    exact = Steps(name, scale, 60 + digits // 3, mirrored=mirrored)
    assert 3 <= found.width <= 4, "a floor each of the inverse, of the sum and of its product, and the error of sums"
    assert found.ends == sorted(found.ends)
    with mpmath.workdps(80 + digits // 3):
        for i, end in enumerate(found.ends):
            step = exact(found.least + 1 + i) * mpmath.mpf(2) ** digits
            assert -TINY <= step - end <= found.width + TINY, f"P(Z < {found.least + 1 + i}) is not between its bounds"


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**30), Fraction(7, 3), Fraction(31)], ids=str)
def test_powers_are_hardly_below_those_of_e(exponent: Fraction) -> None:
    """A factor of 1 where there is a smaller one would let the sum of weights go on for ever."""
    with mpmath.workdps(60):
        exact = mpmath.exp(-number(exponent)) * 2**64
        assert exact - 1 - TINY <= _exp_fixed_point(exponent, 64) <= exact


@pytest.mark.slow
def test_every_step_of_a_wide_law_is_enclosed() -> None:
    test_every_step_is_enclosed("gaussian", Fraction(1000), 48, True)


@pytest.mark.parametrize("scale", [Fraction(1, 10**200), SCALES[0], SCALES[1]], ids=["1e-200", "1/50", "7/3"])
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_bounds_reach_from_0_to_1_as_digits_are_added(name: str, scale: Fraction) -> None:
    for digits in (48, 112, 240, 496):
        found = compute_boundaries(weights(name, scale), digits, mirrored=True)
        assert found.ends[0] <= 4
        assert found.ends[-1] >= 2**digits - 8
        assert found.width <= 4


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_levels_are_those_of_the_weights(name: str, scale: Fraction) -> None:
    for shift in (0, 3, 70):
        for x in (0, 1, 5, 2**40 + 1):
            level = weights(name, scale).coarse_weights(shift).minus_log_weight(x)
            if level < 10**6:
                assert mpmath.almosteq(mpmath.exp(-number(Fraction(level))), weight(name, scale, x << shift), 1e-12)
            assert Fraction(weights(name, scale).minus_log_weight(x << shift)) == Fraction(level)
