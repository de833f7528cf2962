"""One choice, by the exponential mechanism or permute-and-flip: the laws, the maps, and where these are attained.

Tries proofs/measurements/exponential_mechanism.tex and proofs/measurements/selection.tex.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements._selection import permute_and_flip_range
from opendp_topk.measurements.exponential_mechanism import make_exponential_mechanism
from opendp_topk.measurements.permute_and_flip import make_permute_and_flip
from tests.concepts.losses import number, realised
from tests.oracles.chi_square import assert_follows

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())


both = pytest.mark.parametrize("make", [make_exponential_mechanism, make_permute_and_flip])


def build(make: Any, d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> Any:
    return make(tk.VectorDomain(tk.AtomDomain(int), size=d), metric or tk.RangeDistance(), measure, **options)


def coins(weights: Sequence[Any]) -> dict[int, Any]:
    """Over all orders of the candidates: the first one whose coin shows heads."""
    top, d = max(weights), len(weights)
    law = dict.fromkeys(range(d), 0 * top)
    for order in permutations(range(d)):
        missed = top / top
        for i in order:
            law[i] = law[i] + missed * weights[i] / top / math.factorial(d)
            missed = missed * (1 - weights[i] / top)
    return law


def expanded(weights: Sequence[Any]) -> dict[int, Any]:
    """w_y times the integral of the product of 1 - w_j x, multiplied out."""
    top, law = max(weights), {}
    for y, weight in enumerate(weights):
        others = [w for j, w in enumerate(weights) if j != y]
        law[y] = sum(
            (-1) ** n * weight * math.prod(subset, start=1) / ((n + 1) * top ** (n + 1))
            for n in range(len(others) + 1)
            for subset in combinations(others, n)
        )
    return law


def softmax(weights: Sequence[Any]) -> dict[int, Any]:
    return {i: weight / sum(weights) for i, weight in enumerate(weights)}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "oracle"), [(make_exponential_mechanism, softmax), (make_permute_and_flip, coins)])
def test_the_law_is_that_of_the_definition(make: Any, oracle: Any) -> None:
    """The declared law is the oracle's, and releases follow it; every release is an int."""
    for scores, scale in (([3], 1), ([0, 0], 2), ([2, 0, 3], Fraction(3, 2)), ([1, 0, -2, 1], 1)):
        for optimize, sign in (("max", 1), ("min", -1)):
            measurement = build(make, None, tk.MaxDivergence(), scale=scale, optimize=optimize)
            with mpmath.workdps(60):
                expected = oracle([mpmath.exp(number(Fraction(sign * score) / scale)) for score in scores])
                found = measurement.distribution(scores)
                assert found.keys() == expected.keys()
                assert all(abs(found[i] - p) <= p * mpmath.mpf("1e-30") for i, p in expected.items())
            if len(scores) == 3:
                releases = [measurement(np.array(scores)) for _ in range(5000)]
                assert {type(release) for release in releases} == {int}
                assert_follows(Counter(releases), expected, detects=0.16)


@both
def test_the_mean_shortfall_is_that_of_the_theorem(make: Any) -> None:
    """The expected shortfall is at most scale (ln d + 1), and not idly so."""
    share = 0.0
    for scores in ([0, 0], [3, 0], [9, 7, 0], [2, 0, 0, 0, 0], [4] + [0] * 11, [9, 6, 6, 6, 3, 0, 0]):
        for scale in (Fraction(1, 2), Fraction(1), Fraction(3)):
            law = build(make, None, tk.MaxDivergence(), scale=scale).distribution(scores)
            mean = float(mpmath.fsum(p * (max(scores) - scores[i]) for i, p in law.items()))
            bound = float(scale) * (math.log(len(scores)) + 1)
            assert mean <= bound
            share = max(share, mean / bound)
    assert share > 0.25


def test_the_oracles_agree() -> None:
    weights = [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 3)]
    assert coins(weights) == expanded(weights)
    assert sum(coins(weights).values()) == 1


@pytest.mark.parametrize(
    "r",
    [Fraction(r) for r in (5e-324, 1e-300, 1e-30, 0.001, Fraction(1, 3), 1, 7, 300, 10**6, 10**300)],
    ids=lambda r: f"{float(r):.0e}",
)
def test_the_range_is_evaluated_upward_and_closely(r: Fraction) -> None:
    found = permute_and_flip_range(r)
    with mpmath.workdps(400):
        true = number(r) + 2 * mpmath.log1p(-mpmath.expm1(-number(r) / 2))
        assert true <= number(found) <= true * (1 + mpmath.mpf(2) ** -120)
    assert r <= found <= 2 * r * (1 + Fraction(1, 2**120))
    assert permute_and_flip_range(Fraction(0)) == 0


@pytest.mark.parametrize("r", [Fraction(1, 1000), Fraction(1, 8), Fraction(1), Fraction(3), Fraction(12)])
def test_range_and_pure_loss_are_attained(r: Fraction) -> None:
    """(0, -r/2) to (0, r/2) for the range; (r, 0) to (r, r) for the pure loss."""
    pure, wide = (build(make_permute_and_flip, 2, measure, scale=2 / r) for measure in MEASURES[:2])
    law = pure.distribution
    assert wide.map(2) * (1 - 1e-15) <= realised(wide.output_measure, law([0, -1]), law([0, 1])) <= wide.map(2)
    assert abs(realised(pure.output_measure, law([2, 0]), law([2, 2])) - pure.map(2)) <= pure.map(2) * 1e-14


@pytest.mark.parametrize("r", [Fraction(1, 8), Fraction(1), Fraction(3)])
def test_the_maps_are_tight(r: Fraction) -> None:
    """The range at every pair; the pure loss where the rising item is far below; zCDP for small moves."""
    pure, wide = (build(make_exponential_mechanism, 2, measure, scale=1 / r) for measure in MEASURES[:2])
    law, low = pure.distribution, -math.ceil(40 / r)
    assert realised(wide.output_measure, law([0, 0]), law([0, 1])) >= 0.999999 * wide.map(1)
    assert realised(pure.output_measure, law([0, low]), law([0, low + 1])) >= 0.97 * pure.map(1)
    small = build(make_exponential_mechanism, 2, MEASURES[2], scale=500 / r)
    assert realised(small.output_measure, small.distribution([0, 0]), small.distribution([0, 1])) >= 0.99 * small.map(1)
