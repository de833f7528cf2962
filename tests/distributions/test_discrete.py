"""How large discrete noise can be, of exact tails the least number; and how far draws lie apart, by simulation."""

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.errors import ParameterError
from opendp_topk.sampling.distributions.discrete import largest_fall, largest_noise, largest_range
from opendp_topk.sampling.distributions.joint import score_deficits
from tests.concepts.sentinels import raises_exactly
from tests.samplers.adversaries import canonical

from ..oracles.discrete import masses, tail, weight

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


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("alpha", [Fraction(1, 10**9), 0.05, 0.49, 0.5, 0.9])
def test_it_is_the_least_number_by_which_a_draw_does_not_fall(name: str, scale: Fraction, alpha: Fraction) -> None:
    fall = largest_fall(scale, alpha, gaussian=name == "gaussian")
    below = [mpmath.fsum(mass for z, mass in masses(name, scale).items() if z < -size) for size in (fall, fall - 1)]
    assert isinstance(fall, int)
    allowed = mpmath.mpf(Fraction(alpha).numerator) / Fraction(alpha).denominator
    assert below[0] <= allowed
    assert fall == 0 or below[1] > allowed


@pytest.mark.further
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
    with mpmath.workdps(20):  # a failure so rare that float64 cannot hold it
        size = largest_noise(Fraction(1), 1, Fraction(1, 10**400), gaussian=True)
        allowed = mpmath.mpf(10) ** -400 * mpmath.sqrt(mpmath.pi / 2)
        assert tail("gaussian", Fraction(1), size) <= allowed < weight("gaussian", Fraction(1), size)
    assert largest_noise(Fraction(10**308), 10, 0.01, gaussian=False) == math.inf
    assert largest_noise(Fraction(10**200), 10, 0.01, gaussian=True) == math.inf
    for scale in (10**306, 2 * 10**307, 10**308):  # twice the bound of the draws overflows at the second
        finite = largest_range(Fraction(scale), 2, 0.01, gaussian=False) < math.inf
        assert finite == (scale == 10**306)


@pytest.mark.parametrize(("scale", "k", "alpha"), [(-1, 1, 0.5), (1, 0, 0.5), (1, 1, 0), (1, 1, 1), (1, 1, math.nan)])
def test_bad_arguments(scale: int, k: int, alpha: float) -> None:
    with pytest.raises(ParameterError, match="largest_noise requires"):
        largest_noise(Fraction(scale), k, alpha, gaussian=True)


@pytest.mark.parametrize("alpha", [0, 1, 2])
def test_no_fall_with_certainty(alpha: int) -> None:
    raises_exactly(ParameterError, lambda: largest_fall(Fraction(1), alpha, gaussian=True), "largest_noise requires")


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_no_fall_of_negative_scale(alpha: float) -> None:
    raises_exactly(ParameterError, lambda: largest_fall(Fraction(-1), alpha, gaussian=True), "largest_noise requires")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize(("scale", "k"), [(10, 50), (300, 400), (2.5, 30)])
def test_the_range_is_refused_where_it_is_a_twentieth_less(name: str, scale: float, k: int) -> None:
    """10^4 simulations at a failure of 5 %: 4 deviations more by chance less than once in 30,000 runs."""
    draw, runs, alpha = np.random.default_rng(7), 10_000, 0.05
    if name == "gaussian":
        at = np.arange(-int(12 * scale), int(12 * scale) + 1)
        law = np.exp(-(at**2) / (2 * scale**2))
        drawn = draw.choice(at, p=law / law.sum(), size=(runs, k))
    else:
        one, other = draw.geometric(-math.expm1(-1 / scale), (2, runs, k))
        drawn = one - other
    apart = drawn.max(axis=1) - drawn.min(axis=1)
    width, allowed = largest_range(Fraction(scale), k, alpha, gaussian=name == "gaussian"), 4 * (alpha / runs) ** 0.5
    assert (apart > width).mean() <= alpha + allowed
    assert (apart > 0.95 * width).mean() > alpha + allowed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_range_of_few_draws_by_all_of_them(name: str) -> None:
    """Two and three draws, all values: the claim holds, and nobody with 0 among the draws is below the width."""
    for scale, k, alpha in ((Fraction(1, 2), 2, 0.05), (Fraction(2), 3, Fraction(1, 5)), (Fraction(3), 2, 1e-6)):
        width = largest_range(scale, k, alpha, gaussian=name == "gaussian")
        law = {z: float(mass) for z, mass in masses(name, scale).items() if mass > 1e-12}
        ends = {(z, z): mass for z, mass in law.items()}
        zero = {(min(z, 0), max(z, 0)): 0.0 for z in law}
        for z, mass in law.items():
            zero[min(z, 0), max(z, 0)] += mass
        for _ in range(k - 1):
            ends, zero = _more(ends, law), _more(zero, law)
        assert sum(mass for (low, high), mass in ends.items() if high - low > width) <= alpha
        assert sum(mass for (low, high), mass in zero.items() if high - low > width) <= alpha + 1e-9
        assert sum(mass for (low, high), mass in zero.items() if high - low > width - 1) > alpha - 1e-9


def _more(ends: dict[tuple[int, int], float], law: dict[int, float]) -> dict[tuple[int, int], float]:
    """The least and the largest of one draw more."""
    found: dict[tuple[int, int], float] = {}
    for (low, high), one in ends.items():
        for z, other in law.items():
            key = min(low, z), max(high, z)
            found[key] = found.get(key, 0.0) + one * other
    return found


@pytest.mark.further
def test_the_ends_of_ranges() -> None:
    assert largest_range(Fraction(5), 1, 0.1, gaussian=True) == 0
    assert largest_range(Fraction(0), 9, 0.1, gaussian=False) == 0
    assert largest_range(Fraction(10**308), 10, 0.01, gaussian=False) == math.inf
    wide = largest_range(Fraction(10**9), 50, 0.05, gaussian=False)
    assert abs(wide / 10**8 / largest_range(Fraction(10), 50, 0.05, gaussian=False) - 1) < 0.03


# Shortfalls against their definition, in exact rationals.


CASES: list[list[Any]] = [
    [3, 1, 2, 2, 5],
    [0, 0, 0],
    [7],
    [-4, 2**62, -(2**62), 2**63 - 1, -(2**63)],
    [2**64 - 1, 0, 2**63, 1],
    [10**30, -(10**30), 10**30 + 1],
    [0.5, 0.25, -3.0, 0.1, 0.1, 1e3],
    [0.0, -0.0, 0.0],
    [1e308, -1e308, 5e-324, 0.0, 1.0],
    [5e-324, 1e-323, 1.5e-323, 0.0],
    [2.0**53, 2.0**53 + 2, 1.0, 3.0],
    [2.0**60, 2.0**60 + 2**8, 0.0],
    [2.0**61, 1.0, -(2.0**61), 0.5],
    [0.1, 0.30000000000000004, 0.2, 1e-9, 1024.0, 1e17],
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scores", CASES, ids=repr)
def test_shortfalls_are_exact(scores: list[Any], sign: int) -> None:
    found = score_deficits(canonical(scores), sign)
    x = [sign * Fraction(score) for score in scores]
    below = sorted(max(x) - y for y in x)
    assert [step * found.unit for step in found.steps.tolist()] == below
    assert found.steps.dtype == object or int(found.steps[-1]) < 2**62


@pytest.mark.parametrize(("scale", "kind"), [(1.0, np.int64), (2.0**-1060, np.int64), (2.0**8, object)])
def test_numbers_stay_small_where_they_can(scale: float, kind: type) -> None:
    values = np.array([2.0**53, 1.0, 2.0**52 + 1]) * np.array([scale, min(scale, 1.0), scale])
    assert score_deficits(values, 1).steps.dtype == kind
