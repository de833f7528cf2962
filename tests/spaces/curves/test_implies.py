"""Whenever one bound says that it implies another, its deltas are not above those of the other.

Tries proofs/spaces/curves/covers.tex.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.errors import ParameterError
from opendp_topk.spaces.curves.closed_forms import (
    AdaptiveRangeBound,
    ApproximateDP,
    LaplacePair,
    PlusDelta,
    UpToDelta,
    ZCDPBound,
)
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.curves.discrete import DiscreteGaussian, DiscreteLaplace

LOSSES = (0, Fraction(1, 7), 0.5, Fraction(1, 2), 1.5, math.inf)
DELTAS = (0, 1e-9, Fraction(1, 4), 1)
EPSILONS = (0, 0.05, Fraction(1, 2), 1, 3)
SCALES = (Fraction(1, 3), Fraction(2), Fraction(2000))
CHOICE = PrivacyCurve(AdaptiveRangeBound(1, 0.5))
WIDER = PrivacyCurve(AdaptiveRangeBound(1, Fraction(1, 2)), ZCDPBound(Fraction(1, 9)))
STEPS = (CHOICE, WIDER, PrivacyCurve(ZCDPBound(0.5)), PrivacyCurve(LaplacePair(Fraction(1, 4))))
GRID_ROOM = 1e-3  # the bounds of two compositions may stand on two grids, each of which is an upper bound
RESOLVED = 1e-25  # and less than this no composition resolves


def simple() -> Iterator[Any]:
    """Bounds of every kind but compositions."""
    for loss in LOSSES:
        yield from (ApproximateDP(loss, delta) for delta in DELTAS)
        yield from (ZCDPBound(loss), LaplacePair(loss), AdaptiveRangeBound(1, loss), AdaptiveRangeBound(2, loss))
    for shift, scale in itertools.product((0, 1, 3), SCALES):
        yield from (DiscreteLaplace(shift, scale), DiscreteGaussian(shift, scale))


def wrapped() -> Iterator[Any]:
    inner = [ApproximateDP(0.5), ApproximateDP(1, 1e-9), ZCDPBound(Fraction(1, 7)), AdaptiveRangeBound(2, 0.5)]
    for bound, delta in itertools.product(inner, DELTAS):
        yield from (UpToDelta(bound, delta), PlusDelta(bound, delta), PlusDelta(UpToDelta(bound, delta), 1e-9))


def disordered(bounds: list[Any], room: float) -> list[tuple[Any, ...]]:
    """Pairs of bounds of which one implies the other, and an epsilon where its delta is larger."""
    values = [[bound(epsilon) for epsilon in EPSILONS] for bound in bounds]
    return [
        (one, other, epsilon)
        for (one, own), (other, others) in itertools.product(zip(bounds, values, strict=True), repeat=2)
        if one.implies(other)
        for epsilon, low, high in zip(EPSILONS, own, others, strict=True)
        if low > high * (1 + room) + (RESOLVED if room else 0)
    ]


@pytest.mark.parametrize("kind", [simple, wrapped])
def test_what_is_implied_is_above(kind: Any) -> None:
    bounds = list(kind())
    assert sum(one.implies(other) for one, other in itertools.permutations(bounds, 2)) > len(bounds)
    assert disordered(bounds, 0) == []


@pytest.mark.slow
def test_what_a_composition_implies_is_above() -> None:
    """Among lists of parts in which one curve may stand twice."""
    parts = [(step, count) for step in STEPS for count in (1, 2)]
    draw = random.Random(1)
    bounds = [Composed((part,)) for part in parts] + [
        Composed(tuple(draw.choices(parts, k=draw.randint(2, 3)))) for _ in range(8)
    ]
    assert sum(one.implies(other) for one, other in itertools.permutations(bounds, 2)) > len(bounds)
    assert disordered(bounds, GRID_ROOM) == []


@pytest.mark.slow
def test_counts_of_one_curve_are_added_up() -> None:
    """Else the last of them stands for all: four steps would imply three."""
    four, three = Composed(((CHOICE, 2), (CHOICE, 2))), Composed(((CHOICE, 1), (CHOICE, 2)))
    assert four == Composed(((CHOICE, 4),))
    assert four(0) > 1.1 * three(0)
    assert not four.implies(three)
    assert three.implies(four)
    mixed = Composed(((CHOICE, 1), (WIDER, 1), (CHOICE, 1)))
    assert mixed == Composed(((CHOICE, 2), (WIDER, 1)))
    assert not Composed(((CHOICE, 2), (WIDER, 1))).implies(Composed(((CHOICE, 1), (WIDER, 3))))


@pytest.mark.parametrize("count", [0, -1])
def test_a_part_is_one_step_at_least(count: int) -> None:
    with pytest.raises(ParameterError, match="count must be an integer >= 1"):
        Composed(((CHOICE, 3), (CHOICE, count)))
