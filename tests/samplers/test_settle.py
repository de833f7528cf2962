"""Which runs of racers are undecided, against the definition."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from opendp_topk.samplers.settle import _clusters


def _undecided(lower: list[float], upper: list[float], offset: int, k: int, ordered: bool) -> list[tuple[int, int]]:
    """The runs between cuts; a cut is where everything before is certainly above everything after."""
    n = len(lower)
    cuts = [0, *(p for p in range(1, n) if min(lower[:p]) > max(upper[p:])), n]
    runs = [(offset + a, offset + b) for a, b in pairwise(cuts) if b - a > 1]
    return [(a, b) for a, b in runs if a < k and (ordered or b > k)]


@pytest.mark.parametrize("ordered", [True, False])
def test_runs_are_cut_where_everything_is_decided(ordered: bool) -> None:
    rng = random.Random(8)
    for _ in range(3000):
        n = rng.randrange(1, 9)
        lower = sorted((float(rng.choice((rng.randrange(12), -math.inf))) for _ in range(n)), reverse=True)
        upper = [low + rng.choice((0, 1, 1, 2, 7, math.inf)) if low > -math.inf else rng.random() for low in lower]
        offset, k = rng.randrange(3), rng.randrange(1, 12)
        found = _clusters(np.array(lower), np.array(upper), offset, k, ordered)
        assert found == _undecided(lower, upper, offset, k, ordered)


def test_bounds_that_touch_decide_nothing() -> None:
    assert _clusters(np.array([2.0, 1.0]), np.array([3.0, 2.0]), 0, 1, True) == [(0, 2)]
    assert _clusters(np.array([2.0, 1.0]), np.array([3.0, 1.9]), 0, 1, True) == []
