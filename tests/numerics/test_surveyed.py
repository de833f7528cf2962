"""The best of each group of scores is what Python's own maximum says, at every size near a constant of the code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opendp_topk.numerics import surveyed
from opendp_topk.numerics.surveyed import GROUP, block_extremes, finite_block_best

CHUNK = surveyed._CHUNK
SIZES = sorted({1, 2, *(size + step for size in (GROUP, CHUNK, 2 * CHUNK) for step in (-1, 0, 1)), CHUNK + GROUP})
"""One element, and about as many as fill a group, a chunk, two chunks, and a chunk and a group."""


def _best(values: list[float], sign: int) -> list[float]:
    pick = max if sign > 0 else min
    return [pick(values[start : start + GROUP]) for start in range(0, len(values), GROUP)]


def _scores(size: int, lowest: float) -> np.ndarray:
    """Scores in no order from ``lowest`` upwards, all different, the best of the last group at its end."""
    return lowest + (np.arange(size) * 48271.0) % 2147483647


@pytest.mark.further
@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_of_each_group_at_every_size(sign: int) -> None:
    wrong = []
    for size in SIZES:
        for lowest in (0.0, -1e9, -1e12):
            scores = _scores(size, lowest)
            expected = _best(scores.tolist(), sign)
            found = finite_block_best(scores, sign)
            best, worst = block_extremes(scores, sign, both=True)
            right = found is not None and found.tolist() == expected == best.tolist()
            right = right and (min if sign > 0 else max)(worst.tolist()) == (scores.min() if sign > 0 else scores.max())
            wrong += [] if right else [(size, lowest)]
    assert wrong == []


@pytest.mark.parametrize("sign", [1, -1])
def test_one_element_that_is_not_finite_is_seen_wherever_it_is(sign: int) -> None:
    unseen = []
    for size in [one for one in SIZES if one <= CHUNK + GROUP]:
        places = {0, size - 1, *(edge for edge in (GROUP - 1, GROUP, CHUNK - 1, CHUNK) if edge < size)}
        for place in sorted(places):
            for bad in (math.nan, math.inf, -math.inf):
                scores = _scores(size, 1.0)
                scores[place] = bad
                unseen += [] if finite_block_best(scores, sign) is None else [(size, place, bad)]
    assert unseen == []
