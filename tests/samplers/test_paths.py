"""Counts of sets under ceilings against enumeration; draws that are exactly uniform, over all their branches."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb, log
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import paths
from opendp_topk.sampling.samplers.paths import Paths
from tests.oracles import joint as oracle

from .streams import Streams, Untouched
from .test_ceilings import all_ceilings
from .test_walks import sets_of

SHAPES = [(d, k) for d in range(1, 9) for k in range(1, d + 1)]


@pytest.mark.quick(d=(1, 2, 3, 4, 5, 6, 7))
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_counts_equal_enumeration_under_all_ceilings(d: int, k: int) -> None:
    """Ties among scores are ceilings that are equal, or jump: all of them are here."""
    sets = np.array(list(combinations(range(1, d + 1), k)))
    for limits in all_ceilings(d, k):
        number, found = np.count_nonzero((sets <= limits).all(axis=1)), Paths(np.array(limits))
        assert found._packed_counts[-1] == number == oracle.paths(limits)
        assert log(number) <= found.log_bound() <= log(number) + 1e-8


def test_counts_of_many_candidates() -> None:
    generator = np.random.default_rng(0)
    for d, k in ((200, 30), (1000, 40), (60, 60)):
        for spread in (0, 3, d):
            drawn = np.sort(generator.integers(0, spread + 1, k)) + np.arange(1, k + 1)
            limits = np.minimum(drawn, d)
            assert Paths(limits)._packed_counts[-1] == oracle.paths(limits.tolist())
    with mpmath.workdps(40):
        exact = mpmath.log(comb(10**6, 50))
        assert exact <= Paths(np.full(50, 10**6)).log_bound() <= exact + 1e-8


class Branches:
    """Runs a draw once for each sequence of answers that its uniform choices can have, with exact probabilities."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._answers: list[tuple[int, int]] = []
        monkeypatch.setattr(paths, "draw_below", lambda n, entropy: self._next(int(n)))
        monkeypatch.setattr(paths, "draw_uniform_subset", self._choose)

    def law(self, draw: Any) -> Counter[tuple[int, ...]]:
        found: Counter[Any] = Counter()
        self._answers = []
        while True:
            self._at, self._chance = 0, Fraction(1)
            outcome = tuple(draw().tolist())
            found[outcome] += self._chance
            while self._answers and self._answers[-1][0] == self._answers[-1][1] - 1:
                self._answers.pop()
            if not self._answers:
                return found
            answer, n = self._answers[-1]
            self._answers[-1] = answer + 1, n

    def _next(self, n: int) -> int:
        if self._at == len(self._answers):
            self._answers.append((0, n))
        assert self._answers[self._at][1] == n
        self._at += 1
        self._chance /= n
        return self._answers[self._at - 1][0]

    def _choose(self, n: int, m: int, entropy: Any) -> np.ndarray:
        subsets = list(combinations(range(n), m))
        return np.array(subsets[self._next(len(subsets))], dtype=np.int64)


@pytest.mark.further
@pytest.mark.quick(d=(1, 4, 6))
@pytest.mark.parametrize(("d", "k"), [(1, 1), (4, 1), (4, 2), (5, 3), (4, 4), (6, 2)])
def test_draws_are_exactly_uniform(d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    branches = Branches(monkeypatch)
    for limits in all_ceilings(d, k):
        found = Paths(np.array(limits))
        drawn = branches.law(lambda found=found: found.draw_ranks(Untouched())[0])
        under = sets_of(limits)
        assert drawn == dict.fromkeys(under, Fraction(1, len(under)))


def test_the_probability_is_named() -> None:
    for limits in all_ceilings(5, 3):
        assert Paths(np.array(limits)).draw_ranks(Streams())[1] == Fraction(1, len(sets_of(limits)))
