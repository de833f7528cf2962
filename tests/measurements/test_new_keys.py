"""How likely new keys are, against weights of many kinds. Tries proofs/measurements/new_keys.tex."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.measurements._new_keys import DiscreteGaussianNoise, threshold_delta_share
from tests.concepts.sentinels import raises_exactly
from tests.oracles import discrete

STEP = Fraction(1, 16)


def reached(weights: tuple[int, ...], beyond: dict[int, Any], level: int) -> Any:
    """The chance that one of these sums, in steps, reaches the level."""
    return 1 - mpmath.fprod(1 - beyond[level - weight] for weight in weights)


def tails(scale: Fraction) -> dict[int, Any]:
    """The chance that noise is at least so many steps: sums of the discrete law itself."""
    masses = discrete.masses("gaussian", scale / STEP)
    last = sorted(masses, reverse=True)
    return dict(zip(last, itertools.accumulate(masses[z] for z in last), strict=True))


def spread(length: int, keys: int) -> set[tuple[int, ...]]:
    """Weights of this length, in steps: equal ones, and one large one beside small ones."""
    found = set()
    for n, large in itertools.product(range(1, keys + 1), range(length * 16 + 1)):
        rest = length**2 * 256 - large**2
        small = math.isqrt(rest // (n - 1)) if n > 1 else 0
        found.add(tuple(w for w in (large, *[small] * (n - 1)) if w))
    return found - {()}


@pytest.mark.parametrize(("scale", "length", "keys", "level"), [(1, 1, 4, 6), (3, 1, 6, 14), (1, 2, 3, 8)])
def test_no_weights_exceed_what_is_lost_and_some_come_near(scale: int, length: int, keys: int, level: int) -> None:
    claimed = DiscreteGaussianNoise(Fraction(scale), STEP).new_partition_probability(length, keys, Fraction(level))
    with mpmath.workdps(30):
        beyond = tails(Fraction(scale))
        met = max(reached(weights, beyond, 16 * level) for weights in spread(length, keys))
        assert met <= mpmath.mpf(claimed.numerator) / claimed.denominator
        assert met > 0.8 * float(claimed)


def test_a_threshold_that_is_too_near_loses_all() -> None:
    assert DiscreteGaussianNoise(Fraction(2), STEP).new_partition_probability(1, 3, Fraction(3)) == 1
    assert DiscreteGaussianNoise(Fraction(2), STEP).new_partition_probability(1, 3, Fraction(4)) < 1


@pytest.mark.further
def test_the_threshold_keeps_delta_and_is_about_the_least() -> None:
    for scale, keys, delta in ((Fraction(5), 50, 1e-8), (Fraction(1, 3), 1, 0.4), (Fraction(40), 1000, 1e-200)):
        noise = DiscreteGaussianNoise(scale, Fraction(1, 2**28))
        level = noise.threshold_for_delta(keys, Fraction(delta))
        assert noise.new_partition_probability(1, keys, level) <= delta
        assert delta > 0.1 or noise.new_partition_probability(1, keys, level - scale / 1000) > delta
        assert (level / noise.step).denominator == 1
    raises_exactly(tk.ParameterError, lambda: noise.threshold_for_delta(1, Fraction(1, 10**2000)), "too small")


def test_the_threshold_of_equal_weights_is_that_of_the_paper() -> None:
    """Gopi et al. (2020), Theorem 5.1, as published, is met to a thousandth where equal weights are the worst."""
    scale, keys, delta = 5.0, 50, 5e-9
    quantile = mpmath.erfinv(1 - 2 * -mpmath.expm1(mpmath.log1p(-delta) / keys)) * mpmath.sqrt(2)
    published = 1 / math.sqrt(keys) + scale * float(quantile)
    assert float(
        DiscreteGaussianNoise(Fraction(5), Fraction(1, 2**28)).threshold_for_delta(keys, Fraction(delta))
    ) == pytest.approx(published, rel=1e-3)


def test_the_share_of_delta_is_about_the_best() -> None:
    for epsilon, delta, keys in ((1.0, 1e-8, 50), (3.0, 1e-5, 10)):
        assert 0.01 < threshold_delta_share(epsilon, delta, keys, 1.0) < 0.99
