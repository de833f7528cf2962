"""Numbers with given probabilities, from digits that are known and from those of the system."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import mpq
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.sampling.samplers.run_counts import run_count
from tests.oracles import runs
from tests.oracles.chi_square import assert_follows


class Digits(Entropy):
    """Given words, and zeros after them."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        taken = [self.left.pop(0) if self.left else 0 for _ in range(n)]
        return np.array(taken, dtype=np.uint64)


def thirds(arithmetic: Intervals) -> Interval:
    """A geometric law with one third: probabilities that no number of digits holds."""
    return arithmetic.rational(mpq(1, 3))


def number(*words: int) -> int:
    return run_count(1, thirds, lambda n: mpq(2, 3), Digits(*words))


def test_the_number_is_that_of_the_uniform() -> None:
    for n in (1, 2, 3, 10):
        reached = 1 - Fraction(2, 3) ** n
        word = int(reached * 2**64)  # the uniform's first digits are those of the boundary: the next word decides
        rest = int((reached * 2**64 - word) * 2**64)
        assert [number(word - 1), number(word + 1)] == [n, n + 1]
        assert [number(word, rest - 1), number(word, rest + 1)] == [n, n + 1]


def test_a_law_that_is_not_known_yet_waits_for_digits() -> None:
    late = lambda arithmetic: thirds(arithmetic) if arithmetic._down.precision > 200 else None  # noqa: E731
    assert run_count(0, late, lambda n: mpq(2, 3), Digits()) == 0


def test_every_share_of_the_uniform_gives_its_number() -> None:
    """All of a hundred equal shares, whose middles lie on no boundary of these laws: no error of a hundredth passes."""
    laws = [
        (tk.TruncatedNegativeBinomial(1, 0.25), runs.negative_binomial(1, 0.25)),
        (tk.TruncatedNegativeBinomial(0, Fraction(1, 10)), runs.negative_binomial(0, 0.1)),
        (tk.TruncatedNegativeBinomial(Fraction(-1, 2), 0.05), runs.negative_binomial(-0.5, 0.05)),
        (tk.TruncatedNegativeBinomial(2.5, 0.5), runs.negative_binomial(2.5, 0.5)),
        (tk.Poisson(3), runs.poisson(3)),
    ]
    for law, mass in laws:
        reached = list(itertools.accumulate(runs.numbers(mass)))
        for share in range(100):
            u = (share + 0.4999) / 100
            drawn = run_count(law.least, law.first, law.ratio, Digits(int(u * 2**64)))
            assert drawn == bisect.bisect_left(reached, u)


@pytest.mark.further
def test_frequencies() -> None:
    law, mass = tk.TruncatedNegativeBinomial(0, 0.1), runs.negative_binomial(0, 0.1)
    drawn = Counter(min(run_count(law.least, law.first, law.ratio), 4) for _ in range(1500))
    expected = {n: mass(n) for n in range(1, 4)}
    assert_follows(drawn, expected | {4: 1 - sum(expected.values())}, detects=0.45)


def test_probabilities_and_means() -> None:
    """What the laws say of themselves, against formulas; the means are rounded up."""
    arithmetic = Intervals(100)
    for shape, gamma in ((1, 0.25), (0, 0.1), (-0.5, 0.05), (2.5, 0.5), (0.5, 0.2), (-0.9, 0.3)):
        law, mass = tk.TruncatedNegativeBinomial(shape, gamma), runs.negative_binomial(shape, gamma)
        often = runs.numbers(mass)
        low, high = law.first(arithmetic) or (0, 0)
        assert low <= high
        assert abs(float(low) / often[1] - 1) < 1e-11
        assert all(abs(float(law.ratio(n)) / (often[n + 1] / often[n]) - 1) < 1e-11 for n in range(1, 12))
        mean = sum(n * p for n, p in enumerate(often))
        assert abs(law.mean / mean - 1) < 1e-9
        assert abs(float(law.generating(0.7)) / sum(p * 0.7**n for n, p in enumerate(often)) - 1) < 1e-9
