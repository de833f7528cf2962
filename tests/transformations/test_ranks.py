"""Random orders of groups: from words that are known, and as often as they should be."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.transformations.keep_items import random_ranks
from tests.oracles.chi_square import Law, assert_follows


class Script(Entropy):
    """Given words, one array a round."""

    def __init__(self, *rounds: list[int]) -> None:
        self.rounds = [np.array(one, dtype=np.uint64) for one in rounds]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        assert len(self.rounds[0]) == n
        return self.rounds.pop(0)


def ranks(starts: list[int], *rounds: list[int]) -> list[int]:
    return list(random_ranks(np.array(starts, dtype=np.int64), Script(*rounds)).tolist())


def test_ranks_are_those_of_the_words_within_a_group() -> None:
    assert ranks([0, 0, 0, 3, 3, 5], [7, 2**64 - 1, 3, 9, 8, 0]) == [1, 2, 0, 1, 0, 0]
    assert ranks([0, 0], [2**63, 2**63 - 1]) == [1, 0]
    assert ranks([], []) == []


def test_equal_words_of_a_group_are_drawn_again() -> None:
    assert ranks([0, 0, 0, 3], [5, 1, 5, 9], [1, 2, 3, 4]) == [0, 1, 2, 0]
    assert ranks([0, 0, 2, 2], [5, 6, 6, 5]) == [0, 1, 1, 0], "equal words of different groups are kept"


@pytest.mark.slow
def test_every_order_is_as_likely_as_every_other() -> None:
    n = 40_000
    starts = np.repeat(np.arange(n) * 5, 5)
    starts[3::5] = starts[4::5] = np.arange(n) * 5 + 3
    found = random_ranks(starts).reshape(n, 5)
    orders = itertools.product(itertools.permutations(range(3)), itertools.permutations(range(2)))
    law: Law = {first + second: 1 / 12 for first, second in orders}
    assert_follows(Counter(map(tuple, found.tolist())), law, detects=0.25)
