"""Curves in closed form against 40-digit oracles and against an independent accountant.

Tries proofs/combinators/convert.tex, proofs/spaces/curves/arrival_times.tex, proofs/spaces/curves/discrete.tex and
proofs/spaces/curves/normal.tex.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from opendp_topk.errors.checks import Number
from opendp_topk.spaces.curves.closed_forms import (
    AdaptiveRangeBound,
    ApproximateDP,
    ArrivalTimes,
    DiscreteGaussian,
    DiscreteLaplace,
    LaplacePair,
    NormalPair,
    UpToDelta,
    ZCDPBound,
    normal_tail_bound,
)
from opendp_topk.spaces.curves.curve import PrivacyCurve
from tests.oracles import discrete, range_curves

RHOS = (1e-300, 1e-9, 0.001, 0.125, 1.0, 30.0, 1e6)
DELTAS = (0.5, 1e-3, 1e-6, 1e-12, 1e-100)


@pytest.mark.quick(rho=(1e-9, 0.125, 30.0))
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_concentrated_privacy_is_below_the_classical_conversion(rho: float, delta: float) -> None:
    found = PrivacyCurve(ZCDPBound(rho)).epsilon(delta)
    assert 0 <= found < range_curves.zcdp_epsilon(rho, delta)


@pytest.mark.slow
@pytest.mark.parametrize("rho", RHOS)
def test_no_order_beats_the_order_that_was_found(rho: float) -> None:
    """Up to the rounding and a relative 1e-9: the bound is the infimum over all orders."""
    for epsilon in (0.0, rho / 2, rho, 3 * rho, rho + math.sqrt(rho), rho + 8 * math.sqrt(rho), 5.0):
        found = ZCDPBound(rho)(epsilon)
        orders = [1 + mpmath.mpf(10) ** (mpmath.mpf(i) / 5) for i in range(-60, 800)]
        best = min(range_curves.zcdp_delta(rho, epsilon, order) for order in orders)
        assert found <= min(1, best) * (1 + mpmath.mpf("1e-9")) + 5e-324


def test_concentrated_privacy_is_evaluated_upward_at_some_order() -> None:
    """No order gives less than the minimum over orders, found here by calculus at 60 digits."""
    with mpmath.workdps(60):
        for rho, epsilon in ((0.125, 1.0), (0.0125, 0.7), (2.0, 9.0), (1e-6, 0.01)):
            r, e = mpmath.mpf(rho), mpmath.mpf(epsilon)
            beta = mpmath.findroot(lambda b, r=r, e=e: (2 * b + 1) * r - e - mpmath.log1p(1 / b), e / (2 * r))
            least = range_curves.zcdp_delta(r, e, 1 + beta)
            found = mpmath.mpf(ZCDPBound(rho)(epsilon))
            assert least <= found <= least * (1 + mpmath.mpf("1e-12"))


@pytest.mark.slow
def test_an_independent_accountant_agrees() -> None:
    """dp-accounting composes Gaussian events, whose Renyi curve is that of zCDP; its orders are a coarse list."""
    accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed (extra oracles)")
    for rho in (0.01, 0.1, 1.0):
        accountant = accounting.rdp.RdpAccountant([1 + 1.02**i / 1000 for i in range(900)])
        accountant.compose(accounting.GaussianDpEvent(1 / math.sqrt(2 * rho)))
        for delta in (1e-3, 1e-6, 1e-10):
            theirs, ours = accountant.get_epsilon(delta), PrivacyCurve(ZCDPBound(rho)).epsilon(delta)
            assert 0.999 * theirs <= ours <= theirs * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.5, 0), (0.5, 0.125), (3.0, 1e-6), (1e-12, 0.0), (40.0, 0.5), (0, 0.25)]
)
def test_a_pair_says_what_randomised_response_attains(epsilon: float, delta: float) -> None:
    """The mechanism that gives itself away with probability delta and else answers with odds e^epsilon."""
    bound = ApproximateDP(epsilon, delta)
    with mpmath.workdps(40):
        e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
        honest = (1 - d) * mpmath.exp(e) / (1 + mpmath.exp(e))
        lie = (1 - d) / (1 + mpmath.exp(e))
        for share in (0, 0.25, 0.5, 0.99, 1, 2):
            factor = mpmath.exp(mpmath.mpf(share) * e)
            attained = d + max(0, honest - factor * lie)
            found = mpmath.mpf(bound(Fraction(share) * Fraction(epsilon)))
            assert attained <= found + mpmath.mpf("1e-35")
            assert found <= attained * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-30")


@pytest.mark.parametrize("loss", [1e-12, 0.5, 3.0, Fraction(200)])
def test_laplace_laws_attain_their_curve(loss: Number) -> None:
    """The event that the larger loss names, in closed form: one noise is above the middle and epsilon / 2."""
    with mpmath.workdps(60):
        e = mpmath.mpf(float(loss))
        for share in (0, 0.25, 0.5, 0.999, 1, 2):
            epsilon = mpmath.mpf(share) * e
            cut = (e + epsilon) / 2
            above = [mpmath.exp(-cut) / 2, 1 - mpmath.exp(cut - e) / 2 if cut < e else mpmath.exp(e - cut) / 2]
            attained = max(0, above[1] - mpmath.exp(epsilon) * above[0])
            found = mpmath.mpf(LaplacePair(loss)(Fraction(share) * Fraction(loss)))
            assert attained <= found + mpmath.mpf("1e-50")
            assert found <= attained * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-50")


@pytest.mark.parametrize("count", [1, 2, 7, 60])
@pytest.mark.parametrize("shift", [Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(5)])
def test_arrival_times_attain_their_curve(shift: Fraction, count: int) -> None:
    """The sum of the times has a gamma distribution on either side; the better direction is met, the other below."""
    with mpmath.workdps(80):
        r = number(shift)
        rate, whole = mpmath.exp(r), count * r
        for share in (0, 0.1, 0.5, 0.999, 1, 3):
            epsilon = mpmath.mpf(share) * whole
            far, near = (epsilon + whole) / (rate - 1), max(whole - epsilon, 0) / (rate - 1)
            late = [mpmath.gammainc(count, x, regularized=True) for x in (far, rate * far)]
            early = [mpmath.gammainc(count, 0, x, regularized=True) for x in (rate * near, near)]
            rest, other = (one - mpmath.exp(epsilon) * two for one, two in (late, early))
            found = mpmath.mpf(ArrivalTimes(shift, count)(Fraction(share) * count * shift))
            assert max(rest, other) <= found + mpmath.mpf("1e-60")
            assert found <= rest * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-60")


@pytest.mark.parametrize(
    ("bound", "epsilon", "delta"),
    [
        (ZCDPBound(0), 0.0, 0.0),
        (ZCDPBound(math.inf), 1e300, 1.0),
        (ZCDPBound(0.5), 1e308, 5e-324),
        (ZCDPBound(1e308), 1.0, 1.0),
        (ZCDPBound(5e-324), 1.0, 5e-324),
        (ApproximateDP(math.inf), 1e300, 1.0),
        (ApproximateDP(0, 0), 0, 0.0),
        (ApproximateDP(0, 1), 0, 1.0),
        (ApproximateDP(1e308), 0, 1.0),
        (LaplacePair(0), 0, 0.0),
        (LaplacePair(math.inf), 1e300, 1.0),
        (LaplacePair(1e308), 0, 1.0),
        (LaplacePair(1e308), 1e308, 0.0),
        (LaplacePair(5e-324), 0, 5e-324),
        (ArrivalTimes(Fraction(200)), 1e9, 1.0),
        (ArrivalTimes(Fraction(1, 9)), 1e300, 5e-324),
        (ArrivalTimes(Fraction(1, 9), 1000), 1e300, 5e-324),
        (UpToDelta(ZCDPBound(0), 0), 0, 0.0),
        (UpToDelta(ZCDPBound(0), 0.25), 0, 0.25),
        (UpToDelta(ZCDPBound(math.inf), 0.25), 0, 1.0),
        (UpToDelta(ApproximateDP(0, 0.5), 0.5), 0, 0.75),
    ],
)
def test_the_ends(bound: object, epsilon: float, delta: float) -> None:
    assert bound(epsilon) == delta  # type: ignore[operator]


def test_what_implies_what() -> None:
    assert ZCDPBound(0.5).implies(ZCDPBound(0.5))
    assert not ZCDPBound(0.5).implies(ZCDPBound(Fraction(1, 2) - Fraction(1, 10**400)))
    assert not ZCDPBound(0.5).implies(AdaptiveRangeBound(1, 9))
    assert ApproximateDP(0.5, 0.1).implies(ApproximateDP(0.5, 0.1))
    assert not ApproximateDP(0.5, 0.1).implies(ApproximateDP(0.6, 0.05))
    assert not ApproximateDP(0.5, 0.1).implies(ApproximateDP(0.4, 0.2))
    assert LaplacePair(0.5).implies(LaplacePair(0.5))
    assert LaplacePair(0.5).implies(LaplacePair(1))
    assert not LaplacePair(0.5).implies(LaplacePair(Fraction(1, 2) - Fraction(1, 10**400)))
    assert not LaplacePair(0.5).implies(ApproximateDP(0.5))
    assert ArrivalTimes(Fraction(1, 2), 2).implies(ArrivalTimes(Fraction(1), 3))
    assert not ArrivalTimes(Fraction(1, 2), 2).implies(ArrivalTimes(Fraction(1)))
    assert not ArrivalTimes(Fraction(1, 2)).implies(LaplacePair(1))
    assert UpToDelta(ZCDPBound(0.5), 0.1).implies(UpToDelta(ZCDPBound(0.6), 0.1))
    assert not UpToDelta(ZCDPBound(0.5), 0.2).implies(UpToDelta(ZCDPBound(0.6), 0.1))
    assert not UpToDelta(ZCDPBound(0.7), 0.1).implies(UpToDelta(ZCDPBound(0.6), 0.1))


@pytest.mark.parametrize("delta", [0.1, 1 / 3, 1e-9])
@pytest.mark.parametrize("inner", [0.1, 0.7, 1e-12])
def test_a_mixture_is_the_exact_sum_rounded_up(delta: float, inner: float) -> None:
    exact = Fraction(delta) + (1 - Fraction(delta)) * Fraction(inner)
    found = UpToDelta(lambda epsilon: inner, delta)(1.0)
    assert Fraction(math.nextafter(found, 0)) < exact <= Fraction(found)


# The curve of normal laws against its formula, and rounds of discrete noise enumerated against it.


TINY = mpmath.mpf("1e-33")


def number(value: Any) -> Any:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def formula(squares: Any, epsilon: Any) -> Any:
    mu, e = mpmath.sqrt(number(squares)), number(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def test_the_curve_is_the_formula_rounded_up() -> None:
    with mpmath.workdps(60):
        for squares, epsilon in [(Fraction(1, 900), 0.1), (Fraction(1), 0), (Fraction(1), 3.7), (Fraction(25), 40)]:
            found, true = mpmath.mpf(NormalPair(squares)(epsilon)), formula(squares, epsilon)
            assert true <= found, (squares, epsilon)
            assert found <= true * (1 + mpmath.mpf(2) ** -50) + mpmath.mpf(2) ** -1074, (squares, epsilon)
        for x in (0, 0.5, 3):
            true = mpmath.ncdf(-number(x))
            assert true <= number(normal_tail_bound(Fraction(x))) <= true * (1 + mpmath.mpf(2) ** -100)
    assert NormalPair(Fraction(1, 10**6))(1e300) < 1e-300
    assert NormalPair(Fraction(1, 2**500))(0) < 1e-37


@pytest.mark.further
def test_discrete_noise_in_two_entries_obeys_the_curve_and_comes_near_it() -> None:
    """Exact sums over a grid of outcomes, whatever the direction in which two integers move."""
    scale = Fraction(6)
    with mpmath.workdps(40):
        masses = {z: p for z, p in discrete.masses("gaussian", scale).items() if p > 1e-12}
        for shift in ((5, 0), (3, 4)):
            bound = NormalPair(Fraction(25) / (scale**2 - 16))
            wide = NormalPair(Fraction(25) / (scale**2 + 2))
            for epsilon in (0.0, 1.0):
                z = mpmath.exp(epsilon)
                both = itertools.product(masses.items(), repeat=2)
                zero = mpmath.mpf(0)
                met = sum(
                    max(zero, p * q - z * masses.get(a - shift[0], zero) * masses.get(b - shift[1], zero))
                    for (a, p), (b, q) in both
                )
                assert wide(epsilon) < met < bound(epsilon) + TINY, (shift, epsilon)


@pytest.mark.further
def test_two_rounds_of_which_the_second_looks_at_the_first() -> None:
    """The second moves as far as it may only where the first says so: no more than the rounds together allow."""
    scale = Fraction(6)
    with mpmath.workdps(40):
        masses = {z: p for z, p in discrete.masses("gaussian", scale).items() if p > 1e-9}
        bound, zero = NormalPair(Fraction(50) / (scale**2 - 16)), mpmath.mpf(0)
        for epsilon, least in ((0.5, -20), (1.0, 3)):
            z, met = mpmath.exp(epsilon), zero
            for (a, p), (b, q) in itertools.product(masses.items(), repeat=2):
                moved = 5 if a >= least else 0
                met += max(zero, p * q - z * masses.get(a - 5, zero) * masses.get(b - moved, zero))
            assert met <= bound(epsilon)


def test_what_implies_what_of_normal_noise() -> None:
    assert NormalPair(Fraction(1)).implies(NormalPair(Fraction(2)))
    assert not NormalPair(Fraction(2)).implies(NormalPair(Fraction(1)))
    assert not NormalPair(Fraction(1)).implies(len)


# Curves of discrete noise against the laws themselves.


KINDS: dict[str, Any] = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}
SCALES = (Fraction(1, 2), Fraction(7, 3), Fraction(5))


def exact(law: dict[int, Any], shift: int, epsilon: Any) -> Any:
    """The hockey-stick divergence between the law and the law moved by ``shift``, outcome by outcome."""
    z = mpmath.exp(number(epsilon))
    points = range(min(law), max(law) + shift + 1)
    zero = mpmath.mpf(0)
    return mpmath.fsum(max(zero, law.get(x - shift, zero) - z * law.get(x, zero)) for x in points)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_the_curve_is_that_of_the_moved_law(name: str, scale: Fraction) -> None:
    with mpmath.workdps(40):
        law = discrete.masses(name, scale)
        for shift in (1, 2, 5):
            bound = KINDS[name](shift, scale)
            for epsilon in (Fraction(0), Fraction(1, 10), Fraction(3, 7), Fraction(2), Fraction(5)):
                found = exact(law, shift, epsilon)
                assert found <= bound(epsilon) * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-32")
                assert bound(epsilon) <= found * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-32")
                assert exact(law, shift - 1, epsilon) <= bound(epsilon) + mpmath.mpf("1e-32")


def test_the_ends_of_integer_noise() -> None:
    assert DiscreteLaplace(3, Fraction(2))(Fraction(3, 2)) == 0
    assert DiscreteLaplace(0, Fraction(2))(0) == 0
    assert DiscreteGaussian(0, Fraction(2))(0) == 0
    assert DiscreteGaussian(1, Fraction(5000))(0) == 1
    assert DiscreteGaussian(100, Fraction(1, 5))(0) == 1
    assert 0 < DiscreteGaussian(1, Fraction(1))(100) < 1e-80


def test_what_implies_what_of_integer_noise() -> None:
    for kind in KINDS.values():
        assert kind(1, Fraction(2)).implies(kind(3, Fraction(2)))
        assert not kind(3, Fraction(2)).implies(kind(1, Fraction(2)))
        assert not kind(1, Fraction(2)).implies(kind(1, Fraction(3)))
    assert not DiscreteLaplace(1, Fraction(2)).implies(DiscreteGaussian(1, Fraction(2)))
