"""Curves of discrete noise against the laws themselves.

Tries proofs/spaces/curves/discrete.tex.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from opendp_topk.spaces.curves.discrete import DiscreteGaussian, DiscreteLaplace
from tests.oracles import discrete
from tests.oracles.noise import number

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


def test_the_ends() -> None:
    assert DiscreteLaplace(3, Fraction(2))(Fraction(3, 2)) == 0
    assert DiscreteLaplace(0, Fraction(2))(0) == 0
    assert DiscreteGaussian(0, Fraction(2))(0) == 0
    assert DiscreteGaussian(1, Fraction(5000))(0) == 1
    assert DiscreteGaussian(100, Fraction(1, 5))(0) == 1
    assert 0 < DiscreteGaussian(1, Fraction(1))(100) < 1e-80


def test_what_implies_what() -> None:
    for kind in KINDS.values():
        assert kind(1, Fraction(2)).implies(kind(3, Fraction(2)))
        assert not kind(3, Fraction(2)).implies(kind(1, Fraction(2)))
        assert not kind(1, Fraction(2)).implies(kind(1, Fraction(3)))
    assert not DiscreteLaplace(1, Fraction(2)).implies(DiscreteGaussian(1, Fraction(2)))
