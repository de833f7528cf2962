"""Lazy noise variables: bounds hold the oracle's quantile at every level, and comparisons agree with it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.sampling.samplers.lazy_noise import LazyNoise, reaches_noisy_threshold
from tests.oracles.noise import QUANTILE

NOISES = (tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic())
ONES = 2**64 - 1


class Words(Entropy):
    """The words that are given, and then one and the same for ever."""

    def __init__(self, *words: int, then: int = 0x5555555555555555) -> None:
        self.words_left, self.then, self.drawn = list(words), then, 0

    def draw_auxiliary_words(self, n: int) -> Any:
        self.drawn += n
        taken = [self.words_left.pop(0) if self.words_left else self.then for _ in range(n)]
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, ONES - 1, ONES])
def test_bounds_hold_the_quantile_and_close_in(noise: Any, word: int) -> None:
    variable = LazyNoise(noise, Words(word))
    digits = word << 64 * 15 | sum(0x5555555555555555 << 64 * place for place in range(15))
    with mpmath.workprec(2000):
        value = QUANTILE[noise.name](Fraction(2 * digits + 1, 1 << 961 + 64))
        widths = []
        for level in range(4):
            bounds = variable.rational_bounds(level)
            if bounds is None:
                assert level == 0, "further digits are not all equal"
                assert word in (0, ONES), "only digits that are all equal leave an end open"
                continue
            lower, upper = (mpmath.mpf(int(end.numerator)) / int(end.denominator) for end in bounds)
            assert lower < value < upper
            widths.append(upper - lower)
        assert all(later < earlier / 2**40 for earlier, later in pairwise(widths))
    assert variable.rational_bounds(1) is variable.rational_bounds(1), "what was drawn stays"


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_close_comparison_draws_until_it_is_decided(noise: Any) -> None:
    """Two variables with the same first word differ in the second one, and leads of a hair decide otherwise."""
    for second, lead, expected in ((1, 0, True), (0, 0, False), (0, mpq(1, 2**40), True), (1, -mpq(1, 2**40), False)):
        own, other = (LazyNoise(noise, Words(2**63 + 2**61, next_ << 63)) for next_ in (second, 1 - second))
        assert reaches_noisy_threshold(mpq(lead), own, mpq(1), other, mpq(1)) is expected


def test_scales_count_each_on_its_side() -> None:
    def compare(lead: Any, scale: Any, other_scale: Any) -> bool:
        own, other = (LazyNoise(tk.Exponential(), Words(word)) for word in (2**63, 3 * 2**62))
        return reaches_noisy_threshold(mpq(lead), own, mpq(scale), other, mpq(other_scale))  # ln 2 against ln 4, nearly

    assert [compare(0, *scales) for scales in ((1, 1), (3, 1), (1, 0), (0, 1), (0, 0))] == [
        False,
        True,
        True,
        False,
        True,
    ]
    assert not compare(mpq(-1, 10**9), 0, 0)


def test_one_variable_answers_many_questions() -> None:
    other = LazyNoise(tk.Laplace(), Words(2**62))
    words = other._entropy
    for _ in range(5):
        reaches_noisy_threshold(mpq(100), LazyNoise(tk.Laplace(), Words(2**62)), mpq(1), other, mpq(1))
    assert words.drawn == 1  # type: ignore[attr-defined]
