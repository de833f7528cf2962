"""Events of exact rational probabilities, from digits that are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.sampling.samplers.exponentials import draw_bernoulli_events
from tests.oracles.chi_square import assert_follows


class Digits(Entropy):
    """Given words, in the order in which they are asked for."""

    def __init__(self, *words: list[int]) -> None:
        self.words_left = [np.array(one, dtype=np.uint64) for one in words]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        words = self.words_left.pop(0)
        assert len(words) == n
        return words


def test_an_event_happens_just_below_its_chance() -> None:
    chance = (5 << 64) + 9
    first, second = [5, 5, 5, 4, 6], [8, 9, 10, 2**64 - 1, 0]
    assert draw_bernoulli_events([chance] * 5, Digits(first, second)).tolist() == [True, False, False, True, False]
    most = 2**64 - 1
    assert draw_bernoulli_events([0, 2**128, 2**128 - 1], Digits([0, most, most], [0, most, most])).tolist() == [
        False,
        True,
        False,
    ]


def test_no_events() -> None:
    assert draw_bernoulli_events([]).tolist() == []


def test_frequencies() -> None:
    third = 2**128 // 3
    happened = int(draw_bernoulli_events([third] * 40_000).sum())
    assert_follows({True: happened, False: 40_000 - happened}, {True: 1 / 3, False: 2 / 3})
