"""By how many rows a place fails to be a quantile, against rows that are counted one by one.

Tries proofs/spaces/surveys.tex.
"""

import itertools
import math

import numpy as np
import pytest

from opendp_topk.numerics import surveyed
from opendp_topk.numerics.rank_scores import rank_scores
from opendp_topk.numerics.surveyed import GROUP, block_extremes, finite_block_best

SHARES = [(1, 2), (1, 3), (9, 10), (1, 1000)]


def by_hand(rows: tuple[int, ...], p: int, q: int) -> list[int]:
    listed = [place for place, number in enumerate(rows) for _ in range(number)]
    found = []
    for place in range(len(rows)):
        below = sum(one < place for one in listed)
        above = sum(one > place for one in listed)
        found.append(-max(0, q * below - p * len(listed), q * above - (q - p) * len(listed)))
    return found


@pytest.mark.parametrize(("p", "q"), SHARES)
def test_scores_are_those_of_rows_that_are_counted_one_by_one(p: int, q: int) -> None:
    for size in (1, 2, 3):
        for rows in itertools.product(range(4), repeat=size):
            found = rank_scores(np.array(rows), p, q)
            assert found.tolist() == by_hand(rows, p, q)
            assert found.max() == 0


@pytest.mark.parametrize(("p", "q"), SHARES)
def test_a_row_more_moves_no_score_further_than_the_larger_share_and_some_so_far(p: int, q: int) -> None:
    moves = []
    for rows in itertools.product(range(4), repeat=3):
        before = rank_scores(np.array(rows), p, q)
        for place in range(3):
            more = np.array(rows)
            more[place] += 1
            moves.append(np.abs(rank_scores(more, p, q) - before).max())
    assert max(moves) == max(p, q - p)


def test_as_many_rows_as_there_may_be_overflow_nothing() -> None:
    rows = np.array([2**51, 2**51])
    assert rank_scores(rows, 1, 1000).tolist() == [0, -(1000 * 2**51 - 2**52)]
    assert rank_scores(rows, 999, 1000).tolist() == [-(999 * 2**52 - 1000 * 2**51), 0]


# The best of each group of scores is what Python's own maximum says, at every size near a constant of the code.


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
