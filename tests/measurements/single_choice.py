"""What the mechanisms that choose one candidate have in common, for their tests."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.losses import number, realised
from tests.concepts.sentinels import raises_exactly
from tests.oracles.chi_square import assert_follows

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
Law = Callable[[Sequence[Any]], Mapping[Any, Any]]


def build(make: Any, d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> Any:
    return make(tk.VectorDomain(tk.AtomDomain(int), size=d), metric or tk.RangeDistance(), measure, **options)


def check_law(make: Any, oracle: Law) -> None:
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


def check_mean(make: Any) -> None:
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


def check_bounds(make: Any) -> None:
    """No neighbour within a step of each metric exceeds any map."""
    for d, scale in ((2, Fraction(1)), (3, Fraction(1, 3)), (4, Fraction(5, 2))):
        moves = [move for move in itertools.product((-1, 0, 1), repeat=d) if any(move)]
        for metric in (tk.RangeDistance(), tk.LInfDistance(), tk.LInfDistance(monotonic=True)):
            claims = [(measure, build(make, d, measure, metric, scale=scale).map(1)) for measure in MEASURES]
            law = build(make, d, tk.MaxDivergence(), scale=scale).distribution
            for x in ((0,) * d, (0, -1, -2, -2)[:d], (0, -2, -2, -2)[:d]):
                before = law(x)
                for move in moves[:: 1 if d < 4 else 7]:
                    if _length(metric, move) <= 1:
                        after = law([a + b for a, b in zip(x, move, strict=True)])
                        for measure, claimed in claims:
                            assert realised(measure, before, after) <= claimed * (1 + mpmath.mpf("1e-14")), (x, move)


def _length(metric: tk.Metric, move: Sequence[int]) -> int:
    if metric == tk.RangeDistance():
        return max(move) - min(move)
    if metric == tk.LInfDistance():
        return max(map(abs, move))
    return max(0, *move) + max(0, *(-m for m in move))


def check_frame(make: Any, mechanism: str) -> None:
    """What it says of itself, does without noise or choice, and refuses to rank."""
    for measure in MEASURES:
        assert build(make, 3, measure, scale=1.5).parameters == {
            "mechanism": mechanism,
            "scale": 1.5,
            "optimize": "max",
        }
        exact = build(make, None, measure, scale=0)
        assert exact([4, 9, 9]) == 1
        assert exact.distribution([4, 9, 9]) == {1: 1}
        assert build(make, 1, measure, scale=2).map(7) == 0
    pure = build(make, None, tk.MaxDivergence(), scale=2)
    assert pure.accuracy(50, 0.1) == pytest.approx(2 * math.log(50 / 0.1))
    trees = pure >> tk.index_candidates(["ash", "birch", "cedar"])
    assert trees([0, 10**6, 5]) == "birch"
    assert set(trees.distribution([0, 1, 2])) == {"ash", "birch", "cedar"}
    raises_exactly(tk.DataError, lambda: _floats(make)([1.0, math.nan]), "scores must be finite")
    raises_exactly(tk.DataError, lambda: pure([]), "at least one element")


def _floats(make: Any) -> Any:
    return make(tk.VectorDomain(tk.AtomDomain(float)), tk.RangeDistance(), tk.MaxDivergence(), scale=1)
