"""Counts under ceilings against enumeration; draws that are exactly uniform, over all their branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, perm
from typing import Any

import numpy as np
import pytest

from opendp_topk.samplers import ceilings
from tests.oracles import joint as oracle
from tests.oracles.chi_square import assert_follows

from .streams import Streams, Untouched


def all_ceilings(d: int, k: int) -> Iterator[tuple[int, ...]]:
    """All that scores of d candidates can lead to: ascending, the i-th at least i, the last at most d."""
    for found in combinations_with_replacement(range(1, d + 1), k):
        if all(n >= i for i, n in enumerate(found, start=1)):
            yield found


SHAPES = [(d, k) for d in range(1, 9) for k in range(1, d + 1)]


@pytest.mark.quick(d=(1, 2, 3, 4, 5, 6, 7))
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_counts_equal_enumeration_under_all_ceilings(d: int, k: int) -> None:
    """Ties among scores are ceilings that are equal, or jump: all of them are here."""
    sets = np.array(list(combinations(range(1, d + 1), k)))
    rankings = np.array(list(permutations(range(1, d + 1), k)))
    for limits in all_ceilings(d, k):
        assert ceilings.count(limits, False) == np.count_nonzero((sets <= limits).all(axis=1)) == oracle.paths(limits)
        assert ceilings.count(limits, True) == np.count_nonzero((rankings <= limits).all(axis=1))
    assert ceilings.count([d] * k, False) == comb(d, k)
    assert ceilings.count([d] * k, True) == perm(d, k)


def test_counts_of_many_candidates() -> None:
    generator = np.random.default_rng(0)
    for d, k in ((200, 30), (1000, 40), (60, 60)):
        for spread in (0, 3, d):
            drawn = np.sort(generator.integers(0, spread + 1, k)) + np.arange(1, k + 1)
            limits = np.minimum(drawn, d).tolist()
            assert ceilings.count(limits, False) == oracle.paths(limits)
    assert ceilings.count([10**6] * 50, False) == comb(10**6, 50)


class Branches:
    """Runs a draw once for each sequence of answers that its uniform choices can have, with exact probabilities."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._answers: list[tuple[int, int]] = []
        monkeypatch.setattr(ceilings, "below", lambda n, entropy: self._next(int(n)))
        monkeypatch.setattr(ceilings, "choose", self._choose)

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


@pytest.mark.quick(d=(1, 4))
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (4, 1), (4, 2), (5, 3), (4, 4), (6, 2)])
def test_draws_are_exactly_uniform(d: int, k: int, ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    branches = Branches(monkeypatch)
    for limits in all_ceilings(d, k):
        found = branches.law(lambda limits=limits: ceilings.draw(limits, ordered, Untouched()))
        under = [s for s in oracle.outputs(d, k, ordered) if all(r < n for r, n in zip(s, limits, strict=True))]
        assert found == dict.fromkeys(under, Fraction(1, len(under)))


@pytest.mark.parametrize("ordered", [True, False])
def test_frequencies_are_uniform(ordered: bool) -> None:
    limits, entropy = [2, 3, 5, 5], Streams(7)
    found = Counter(tuple(ceilings.draw(limits, ordered, entropy).tolist()) for _ in range(4000))
    under = [s for s in oracle.outputs(5, 4, ordered) if all(r < n for r, n in zip(s, limits, strict=True))]
    assert_follows(found, dict.fromkeys(under, Fraction(1, len(under))), detects=1.3)


def test_large_draws_keep_their_promises() -> None:
    limits = [min(3 * i + 50, 10**5) for i in range(150)]
    for ordered in (True, False):
        drawn = ceilings.draw(limits, ordered, Streams(1))
        assert len(set(drawn.tolist())) == 150
        assert (drawn < np.array(limits)).all()
        assert ordered or drawn.tolist() == sorted(drawn.tolist())
