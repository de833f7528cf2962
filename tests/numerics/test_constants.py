"""The constants around ln 2, digit by digit: an error that no tolerance would notice is still an error."""

from __future__ import annotations

import math

import mpmath

from opendp_topk.numerics import floats as floatexp
from opendp_topk.numerics import floats as floatlog
from opendp_topk.sampling.distributions import canonical_success as subset_classes
from opendp_topk.sampling.samplers import joint


def test_the_two_parts_of_ln_2() -> None:
    """The first has at most 32 digits, so that its products with small integers are exact; the second is the rest."""
    with mpmath.workprec(200):
        rest = mpmath.log(2) - mpmath.mpf(floatexp._LN2_HIGH)
        assert math.floor(mpmath.log(2) * 2**32) == floatexp._LN2_HIGH * 2.0**32
        assert float(rest) == floatexp._LN2_LOW


def test_ln_2_and_its_inverse_are_the_nearest_floats() -> None:
    with mpmath.workprec(200):
        assert float(mpmath.log(2)) == floatlog._LN2
        assert floatexp._PER_LN2 == subset_classes._PER_LN2 == float(1 / mpmath.log(2))


def test_the_levels_of_losses_are_the_least_floats_above_multiples_of_ln_2() -> None:
    with mpmath.workprec(200):
        unit = float(joint._LN2)
        assert mpmath.mpf(math.nextafter(unit, 0)) < mpmath.log(2) < mpmath.mpf(unit)
        for bits in (1, 2, 3, 100, 10**6):
            level = joint._loss_from_bits(bits)
            assert level == bits * joint._LN2
            assert mpmath.mpf(level.numerator) / level.denominator > bits * mpmath.log(2)
