"""Long rationals are shortened upward, and no rounding shows it. Tries proofs/numerics/rounding.tex."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from opendp_topk.numerics.arithmetic import round_up, shortened_up

LONG = Fraction(3**200, 7**180)
DUST = Fraction(1, 3**700)


def least_float_above(value: Fraction) -> float:
    """By steps from the float of its quotient."""
    found = float(value) if value < 2**1024 else math.inf
    while found > 0 and Fraction(math.nextafter(found, 0)) >= value:
        found = math.nextafter(found, 0)
    while found < math.inf and Fraction(found) < value:
        found = math.nextafter(found, math.inf)
    return found


def values() -> list[Fraction]:
    near = [0.1, 1.0, 2.0**-1022, 5e-324, 3 * 5e-324, 2.0**60, 1.7976931348623157e308]
    beside = [Fraction(one) + sign * DUST * Fraction(one) for one in near for sign in (-1, 0, 1)]
    return [Fraction(0), Fraction(1, 10), Fraction(1, 3), LONG, 1 / LONG, LONG / 2**1060, 10**400 + LONG, *beside]


def test_a_shortened_number_is_above_by_less_than_shows() -> None:
    for value in values():
        kept = shortened_up(value)
        assert value <= kept <= value + value / 2**127
        assert kept == value or value.denominator.bit_length() > 256
        assert kept.numerator.bit_length() <= 140 or kept == value or kept > 2**128
        assert shortened_up(kept) == kept
        assert round_up(kept) == round_up(value) == least_float_above(value) if value < 2**1024 else True


def test_few_are_left_as_they_are() -> None:
    assert sum(shortened_up(value) != value for value in values()) > 10
    assert shortened_up(Fraction(1, 2**255 + 1)) == Fraction(1, 2**255 + 1)
    assert shortened_up(Fraction(1, 2**256 + 1)) > Fraction(1, 2**256 + 1)
    assert all(shortened_up(Fraction(n, 10**k)) == Fraction(n, 10**k) for n, k in itertools.product((1, 7), (1, 70)))
