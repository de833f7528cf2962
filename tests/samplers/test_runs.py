"""Which runs of racers are undecided, against the definition, for many runs at once."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from opendp_topk.sampling.samplers.settle import (
    PlaceRuns,
    divide_all_places,
    divide_runs,
    is_order_decided,
    is_selection_decided,
    open_parts_mask,
)


def _parts(lower: list[float], upper: list[float], offset: int) -> list[tuple[int, int]]:
    """The runs between cuts; a cut is where everything before is certainly above everything after."""
    n = len(lower)
    cuts = [0, *(p for p in range(1, n) if min(lower[:p]) > max(upper[p:])), n]
    return [(offset + a, offset + b) for a, b in pairwise(cuts)]


def _bounds(rng: random.Random, n: int) -> tuple[list[float], list[float]]:
    lower = sorted((float(rng.choice((rng.randrange(12), -math.inf))) for _ in range(n)), reverse=True)
    return lower, [low + rng.choice((0, 1, 1, 2, 7, math.inf)) if low > -math.inf else rng.random() for low in lower]


def _pairs(runs: PlaceRuns) -> list[tuple[int, int]]:
    return list(zip(runs.starts.tolist(), runs.ends.tolist(), strict=True))


@pytest.mark.further
@pytest.mark.quick(ordered=True)
@pytest.mark.parametrize("ordered", [True, False])
def test_runs_are_cut_where_everything_is_decided(ordered: bool) -> None:
    rng, seen = random.Random(8), set()
    for _ in range(2000):
        starts, ends, bounds, expected, parents = [], [], [], [], []
        place = rng.randrange(3)
        for number in range(rng.randrange(1, 5)):
            n = rng.randrange(1, 8)
            bounds.append(_bounds(rng, n))
            found = _parts(*bounds[-1], place)
            expected += found
            parents += [number] * len(found)
            starts.append(place)
            ends.append(place + n)
            place += n + rng.randrange(3)
        runs = PlaceRuns(np.array(starts), np.array(ends))
        assert runs.run_places.tolist() == [p for start, end in _pairs(runs) for p in range(start, end)]
        lower, upper = (np.array([x for one in bounds for x in one[side]]) for side in (0, 1))
        parts, parent = divide_runs(runs, lower, upper)
        assert _pairs(divide_all_places(*map(np.array, bounds[0]))) == _parts(*bounds[0], 0)
        separate = all(b - a == 1 for a, b in expected)
        assert is_order_decided(np.array(runs.run_numbers), lower, upper) == separate
        seen.add(separate)
        assert _pairs(parts) == expected
        assert parent.tolist() == parents
        k = rng.randrange(1, 12)
        kept = [(a, b) for a, b in expected if b - a > 1 and a < k and (ordered or b > k)]
        assert _pairs(parts[open_parts_mask(parts, k, ordered)]) == kept
    assert seen == {True, False}


@pytest.mark.further
@pytest.mark.parametrize("ordered", [True, False])
def test_a_race_is_over_where_the_best_are_certain(ordered: bool) -> None:
    rng = random.Random(9)
    seen = set()
    for _ in range(3000):
        n = rng.randrange(1, 8)
        lower, upper = _bounds(rng, n)
        k = rng.randrange(1, n + 1)
        cuts = {b for _, b in _parts(lower, upper, 0)}
        expected = cuts >= set(range(1, k + 1)) if ordered else k in cuts
        assert is_selection_decided(np.array(lower), np.array(upper), k, ordered) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_bounds_that_touch_decide_nothing() -> None:
    for last, parts in ((2.0, [(0, 2)]), (1.9, [(0, 1), (1, 2)])):
        lower, upper = np.array([2.0, 1.0]), np.array([3.0, last])
        assert _pairs(divide_runs(PlaceRuns(np.zeros(1, dtype=np.int64), np.array([2])), lower, upper)[0]) == parts
        assert _pairs(divide_all_places(lower, upper)) == parts
        assert is_order_decided(np.zeros(2, dtype=np.int64), lower, upper) == (len(parts) == 2)
