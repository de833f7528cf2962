"""Noise at points of a hundred digits is as near as it says."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from opendp_topk.numerics.pairs import two_sum
from opendp_topk.sampling.noises.paired import QUANTILES
from opendp_topk.sampling.noises.standard import STANDARD

from ..oracles import noise as oracle


def test_every_noise_of_the_library_has_one() -> None:
    assert set(QUANTILES) == {noise.name for noise in STANDARD}


@pytest.mark.further
@pytest.mark.parametrize("name", oracle.NAMES)
def test_the_pair_is_within_its_error_of_the_quantile(name: str) -> None:
    rng = random.Random(name)
    middles = []
    for shift in range(0, 40, 2):
        near = [rng.getrandbits(80 - shift) | 1 << 40 for _ in range(60)]
        middles += [*near, *(2**80 - 1 - n for n in near)]
    middles += [2**79 - 1, 2**79, 2**79 + 2**26, 2**79 - 2**26, 2**40, 2**80 - 2**40 - 1]
    exact = [Fraction(2 * n + 1, 2**81) for n in middles]
    front = np.array([float(Fraction(n >> 32, 2**48)) for n in middles])
    back = np.array([float(u - Fraction(f)) for u, f in zip(exact, front.tolist(), strict=True)])
    found = QUANTILES[name](two_sum(front, back), two_sum(1 - front, -back))
    with mpmath.workprec(300):
        for u, high, low, error in zip(exact, *(part.tolist() for part in found), strict=True):
            assert abs(mpmath.mpf(high) + low - oracle.QUANTILE[name](u)) <= error
            assert error <= 2.0**-70 + 2.0**-58 * (name == "Gumbel")
            assert abs(high) < 2**6
            assert abs(low) < 2.0**-22
