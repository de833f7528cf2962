"""Numbers that remember what they were rounded up from. Tries proofs/numerics/rounding.tex."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import pytest

from opendp_topk.numerics.arithmetic import RoundedUp, before_rounding, round_up

LONG = Fraction(3**200, 7**180)
VALUES = [Fraction(1, 10), Fraction(1, 3), Fraction(0), Fraction(5), LONG, 1 / LONG, LONG / 2**1060, Fraction(5e-324)]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{float(value):g}")
def test_the_float_is_the_least_above_and_the_rational_between(value: Fraction) -> None:
    found = RoundedUp(value)
    kept = before_rounding(found)
    assert float(found) == round_up(value) == found
    assert value <= kept <= Fraction(float(found))
    assert kept - value <= value / 2**127
    assert kept == value or value.denominator.bit_length() > 256
    assert max(kept.numerator.bit_length(), kept.denominator.bit_length()) <= 1400
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (type(other), other, before_rounding(other)) == (RoundedUp, found, kept)


def test_arithmetic_forgets() -> None:
    tenth = RoundedUp(Fraction(1, 10))
    assert type(tenth + 0.0) is float
    assert before_rounding(tenth + 0.0) == Fraction(0.1) != before_rounding(tenth) == Fraction(1, 10)
    assert before_rounding(0.1) == Fraction(0.1)


def test_derived_types_are_not_believed() -> None:
    class Liar(RoundedUp):
        @property
        def exact(self) -> Fraction:
            return Fraction(0)

    assert before_rounding(Liar(Fraction(1, 3))) == Fraction(float(Liar(Fraction(1, 3)))) > Fraction(1, 3)


def test_beyond_the_floats_the_rational_stays() -> None:
    assert RoundedUp(Fraction(10**400)) == math.inf
    assert before_rounding(RoundedUp(Fraction(10**400))) == 10**400
