"""Exact costs come back exactly: an epsilon that is rational is rounded where it leaves its curve, and nowhere before.

Tries proofs/spaces/costs.tex and proofs/spaces/curves/totals.tex. Fractions alone say what is right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=9), tk.LInfDistance(monotonic=True)
PROFILE = tk.PrivacyProfile()
SCALES = (1, 3, 7, Fraction(10, 3), 0.1)


def least_float(value: Fraction) -> float:
    """The least float64 that is not below."""
    near = float(value)
    return next(x for x in (math.nextafter(near, 0), near, math.nextafter(near, math.inf)) if Fraction(x) >= value)


# A constructor at a scale, and the epsilon of one step of the scores, in units of the scale.
MECHANISMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "permute-and-flip": (lambda scale: SPACE >> tk.then_permute_and_flip(PROFILE, scale=scale), 1),
    "exponential mechanism": (lambda scale: SPACE >> tk.then_exponential_mechanism(PROFILE, scale=scale), 1),
    "one-shot": (lambda scale: SPACE >> tk.then_report_noisy_top_k(PROFILE, k=3, scale=scale), 3),
    "peeled": (lambda scale: SPACE >> tk.then_peeled_top_k(PROFILE, k=3, scale=scale, mechanism="exponential"), 3),
}


def answers_exactly(measurement: Any, d_in: int, epsilon: Fraction) -> None:
    curve = measurement.map(d_in)
    expected = least_float(epsilon)
    assert curve.epsilon(0) == expected
    assert curve.delta(epsilon) == 0
    assert curve.delta(epsilon * (1 - Fraction(1, 2**60))) > 0
    assert measurement.check(d_in, epsilon)
    assert measurement.check(d_in, expected)
    assert not measurement.check(d_in, math.nextafter(expected, 0))


@pytest.mark.further
@pytest.mark.quick(name="peeled")
@pytest.mark.parametrize("name", MECHANISMS)
def test_one_release(name: str) -> None:
    make, times = MECHANISMS[name]
    for scale, d_in in itertools.product(SCALES, (1, 2, 21)):
        answers_exactly(make(scale), d_in, times * d_in / Fraction(scale))


@pytest.mark.slow
def test_several_releases() -> None:
    """The exact sum 21 / 7 is an integer, though a seventh is no float."""
    flip = MECHANISMS["permute-and-flip"][0](7)
    answers_exactly(tk.make_composition([flip] * 21), 1, Fraction(3))
    assert tk.make_repeat(flip, times=7).map(3).epsilon(0) == 3.0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("exponential mechanism", 7), ("one-shot", 2), ("peeled", 7)])
def test_several_releases_of_one_kind(name: str, count: int) -> None:
    make, times = MECHANISMS[name]
    for scale in (7, 0.1):
        answers_exactly(tk.make_composition([make(scale)] * count), 1, count * times / Fraction(scale))


@pytest.mark.slow
def test_several_scales() -> None:
    """A third, a seventh and the inverse of the float 0.1 have no float as their sum; a third and a sixth have."""
    flips = [MECHANISMS["permute-and-flip"][0](scale) for scale in (3, 7, 0.1)]
    whole = tk.make_composition(flips)
    one = Fraction(1, 3) + Fraction(1, 7) + 1 / Fraction(0.1)
    answers_exactly(whole, 1, one)
    answers_exactly(tk.make_composition([whole, *flips]), 2, 4 * one)
    thirds = tk.make_composition([MECHANISMS["permute-and-flip"][0](scale) for scale in (3, 6)])
    assert thirds.map(1).epsilon(0) == 0.5
