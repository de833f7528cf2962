"""Covers: products are those of fractions, rounded up; chords between nodes are never below the curve.

Tries proofs/spaces/curves/covers.tex.
"""

import itertools
import random
from fractions import Fraction

import mpmath
import pytest
from gmpy2 import mpz

from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, ZCDPBound
from opendp_topk.spaces.curves.covers import ONE, LossDistribution, discretize
from opendp_topk.spaces.curves.curve import PrivacyCurve
from tests.oracles.pairs import hockey_stick, number

CURVES = [
    PrivacyCurve(ApproximateDP(0.5)),
    PrivacyCurve(ApproximateDP(2.0, 0.01)),
    PrivacyCurve(ZCDPBound(0.05)),
    PrivacyCurve(AdaptiveRangeBound(1, 1.0)),
    PrivacyCurve(ApproximateDP(0.2, 0.05), ApproximateDP(1.0)),
]
THIRD, FAINT = mpz(ONE) // 3, mpz(1) << 27


def cover(lowest: int, masses: list[mpz], infinite: int = 0) -> LossDistribution:
    return LossDistribution(lowest, tuple(masses), mpz(infinite))


def tails(one: LossDistribution) -> dict[int, Fraction]:
    """The mass at and above each place, infinity included, in units."""
    sums = itertools.accumulate(reversed(one.masses), initial=one.infinite)
    places = range(one.lowest + len(one.masses), one.lowest - 1, -1)
    return {place: Fraction(int(mass), ONE) for place, mass in zip(places, sums, strict=True)}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (cover(-1, [THIRD, THIRD + 1, THIRD], 5), cover(2, [THIRD * 2, mpz(0), THIRD], ONE // 7)),
        (cover(0, [mpz(ONE)]), cover(-5, [mpz(ONE)])),
        (cover(-2, [FAINT, THIRD, THIRD, FAINT], FAINT), cover(0, [FAINT, mpz(ONE)], 0)),
        (cover(0, [mpz(1), mpz(1)]), cover(0, [mpz(1)])),
    ],
)
def test_no_product_loses_mass_and_none_gains_more_than_is_light(a: LossDistribution, b: LossDistribution) -> None:
    exact: dict[int, Fraction] = {}
    for (i, x), (j, y) in itertools.product(enumerate(a.masses), enumerate(b.masses)):
        place = a.lowest + b.lowest + i + j
        exact[place] = exact.get(place, Fraction(0)) + Fraction(int(x * y), ONE * ONE)
    whole, others = (Fraction(int(one.total_mass), ONE) for one in (a, b))
    finite = whole * others - sum(exact.values())
    found = tails(a * b)
    light = Fraction(1, 2**100) * 2 + Fraction(20, ONE)
    for place in range(min(exact) - 1, max(exact) + 2):
        least = finite + sum(mass for at, mass in exact.items() if at >= place)
        mass = found.get(min(max(place, min(found)), max(found)))
        assert least <= mass <= least + light, place


@pytest.mark.parametrize("seed", range(20))
def test_masses_are_sums_of_products_each_rounded_up(seed: int) -> None:
    """Also where many are 0, and where a cover is multiplied by itself."""
    rng = random.Random(seed)

    def drawn() -> LossDistribution:
        masses = [rng.choice([0, 1, ONE - 1, ONE, rng.getrandbits(rng.randrange(1, 129))]) for _ in range(5)]
        return cover(rng.randrange(-3, 3), [THIRD, *map(mpz, masses[: rng.randrange(6)]), THIRD], rng.getrandbits(60))

    a, b = drawn(), drawn()
    for one, other in ((a, b), (b, b)):
        sums = [0] * (len(one.masses) + len(other.masses) - 1)
        for (i, x), (j, y) in itertools.product(enumerate(one.masses), enumerate(other.masses)):
            sums[i + j] += int(x * y)
        assert [int(mass) for mass in (one * other).masses] == [-(-mass // ONE) for mass in sums]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_powers_are_products(count: int) -> None:
    one = cover(-1, [THIRD, THIRD, THIRD], 3)
    product = one
    for _ in range(count - 1):
        product = product * one
    power = one.self_compose(count)
    assert power.lowest == product.lowest
    assert abs(power.total_mass - product.total_mass) <= 4**count
    assert all(abs(x - y) <= 4**count for x, y in zip(power.masses, product.masses, strict=True))


def value(one: LossDistribution, h: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The hockey-stick curve of a cover, term by term."""
    with mpmath.workdps(60):
        places = ((one.lowest + i) * h for i in range(len(one.masses)))
        terms = (
            mpmath.mpf(int(mass)) * (1 - mpmath.exp(number(epsilon - place)))
            for place, mass in zip(places, one.masses, strict=True)
            if place > epsilon
        )
        return (mpmath.fsum(terms) + int(one.infinite)) / ONE


@pytest.mark.quick(n=3)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize(("h", "n"), [(Fraction(1, 8), 20), (Fraction(1, 3), 1), (Fraction(7, 100), 3)])
def test_chords_are_nowhere_below_the_curve_in_both_directions(curve: PrivacyCurve, h: Fraction, n: int) -> None:
    one = discretize(curve, h, n)
    assert one.total_mass >= ONE
    with mpmath.workdps(60):
        for i in range(-4 * n - 8, 4 * n + 9):
            epsilon = i * h / 3
            reached = mpmath.mpf(curve.delta(epsilon)) if i >= 0 else None
            if reached is None:  # what the other direction says of negative epsilons
                z = mpmath.exp(number(epsilon))
                reached = 1 - z + z * mpmath.mpf(curve.delta(-epsilon))
            convex = curve is not CURVES[-1]
            if convex:
                assert value(one, h, epsilon) >= reached * (1 - mpmath.mpf("1e-15")), i


def test_the_least_delta_is_a_unit_at_least() -> None:
    """A delta below 2^-128 is rounded up to it, at infinity as everywhere."""
    assert discretize(PrivacyCurve(lambda epsilon: 5e-324), Fraction(1, 8), 3).infinite == 1


@pytest.mark.further
def test_a_curve_of_several_bounds_becomes_convex() -> None:
    """Two bounds cross: the cover is below both between, and above every pair that obeys both."""
    curve, h = CURVES[-1], Fraction(1, 50)
    one = discretize(curve, h, 50)
    at = Fraction(9, 10)
    assert value(one, h, at) < 0.2 * curve.delta(at)
    pair = (tuple(map(Fraction, ("0.2", "0.2", "0.6"))), tuple(map(Fraction, ("0.25", "0.21", "0.54"))))
    for i in range(60):
        assert hockey_stick(pair, i * h) <= curve.delta(i * h)
        assert hockey_stick(pair, i * h) <= value(one, h, i * h)


def test_a_finer_grid_holds_the_same_masses_at_the_same_losses() -> None:
    one = cover(-2, [THIRD, mpz(1), mpz(7)], 5)
    finer = one.refine_grid(3)
    held = {Fraction(finer.lowest + i, 3): mass for i, mass in enumerate(finer.masses) if mass}
    assert held == {Fraction(one.lowest + i): mass for i, mass in enumerate(one.masses)}
    assert finer.infinite == one.infinite
