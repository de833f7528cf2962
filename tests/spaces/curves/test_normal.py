"""The curve of normal laws against its formula, and rounds of discrete noise enumerated against it.

Tries proofs/spaces/curves/normal.tex.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from opendp_topk.spaces.curves.normal import NormalPair, normal_tail_bound
from tests.oracles import discrete

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


def test_what_implies_what() -> None:
    assert NormalPair(Fraction(1)).implies(NormalPair(Fraction(2)))
    assert not NormalPair(Fraction(2)).implies(NormalPair(Fraction(1)))
    assert not NormalPair(Fraction(1)).implies(len)
