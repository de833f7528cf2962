"""By how many rows a place fails to be a quantile, against rows that are counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from opendp_topk.numerics.rank_scores import rank_scores

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
