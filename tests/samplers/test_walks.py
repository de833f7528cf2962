"""Walks over sets under ceilings: no set is drawn less often than promised, and each as often as the walk says.

Tries proofs/samplers/ceilings.tex and proofs/samplers/paths.tex.
"""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb, log, perm
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import ceilings, walks
from opendp_topk.sampling.samplers.ceilings import Paths, Rankings
from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.sampling.samplers.walks import Walk, build_walks
from tests.oracles import joint as oracle
from tests.samplers.streams import Untouched

from .streams import Streams

SHAPES = [(d, k) for d in range(2, 8) for k in range(1, d)]


def sets_of(limits: tuple[int, ...]) -> list[tuple[int, ...]]:
    listed = combinations(range(limits[-1]), len(limits))
    return [s for s in listed if all(r < n for r, n in zip(s, limits, strict=True))]


def walk_beside_others(limits: Any, detail: int) -> Walk:
    """The walk under these ceilings, prepared together with those under the lowest and under much higher ones."""
    lowest = np.arange(1, len(limits) + 1)
    return build_walks([lowest, np.array(limits), lowest + 3, np.full(len(limits), limits[-1] + 9)], detail)[1]


class Script:
    """Answers by which a walk draws one set: in each block the number of members that the set has there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: Walk, wanted: tuple[int, ...], end: int) -> None:
        self._ends = np.cumsum(found.shared.blocks.sizes[:, found.column]).tolist()
        self._wanted, self._end, self.chance = wanted, end, Fraction(1)
        self._steps = iter(range(len(self._ends) - 1, -1, -1))
        self._walk, self._excess = found, 0
        self._parts = [self._part(i) for i in range(len(self._ends))]
        self._chosen = iter([part for part in reversed(self._parts) if part])
        monkeypatch.setattr(walks, "draw_below", self._below)
        monkeypatch.setattr(walks, "draw_uniform_subset", self._choose)

    def _part(self, i: int) -> list[int]:
        start = self._ends[i - 1] if i else 0
        return [r - start for r in self._wanted if start <= r < self._ends[i]]

    def _below(self, whole: int, entropy: Any) -> int:
        i = next(self._steps)
        least, ways, _ = self._walk._step_odds(i, self._excess)  # type: ignore[misc]
        excess = self._excess + int(self._walk.shared.blocks.shares[i, self._walk.column]) - len(self._parts[i])
        heights = [0, *np.cumsum(ways).tolist()]
        first, past = heights[excess - least], heights[excess - least + 1]
        assert heights[-1] <= whole < 2**53
        assert first < past, "this set cannot be drawn"
        self.chance *= Fraction(past - first, int(whole))
        self._excess = excess
        return int(past - 1 if self._end else first)

    def _choose(self, n: int, m: int, entropy: Any) -> np.ndarray:
        part = next(self._chosen)
        assert len(part) == m
        self.chance /= math.comb(n, m)
        return np.array(part, dtype=np.int64)


def _admitted(found: Walk) -> list[tuple[int, ...]]:
    """All sets that meet the conditions of the blocks, whether under the ceilings or not."""
    sizes, shares = (x[:, found.column] for x in (found.shared.blocks.sizes, found.shared.blocks.shares))
    conditions = list(zip(np.cumsum(sizes).tolist(), np.cumsum(shares).tolist(), strict=True))
    listed = combinations(range(int(sizes.sum())), int(shares.sum()))
    return [s for s in listed if all(sum(rank < end for rank in s) >= least for end, least in conditions)]


def _check(limits: tuple[int, ...], detail: int, monkeypatch: pytest.MonkeyPatch, close: float | None) -> None:
    """Every set under the ceilings is drawn at both ends of its interval, with the chance that is named, and often."""
    found = walk_beside_others(limits, detail)
    promised, under = mpmath.exp(-mpmath.mpf(found.log_bound())), sets_of(limits)
    for wanted in _admitted(found):
        if wanted not in under:
            with monkeypatch.context() as patch:
                Script(patch, found, wanted, 0)
                assert found.draw_ranks(Streams()) is None
    for wanted in under:
        for end in (0, 1):
            with monkeypatch.context() as patch:
                script = Script(patch, found, wanted, end)
                drawn = found.draw_ranks(Streams())
            assert tuple(drawn[0].tolist()) == wanted
            assert Fraction(drawn[1]) == script.chance
            assert mpmath.mpf(script.chance.numerator) / script.chance.denominator >= promised, limits
    if close is not None:
        assert found.log_bound() <= math.log(len(under)) + close


@pytest.mark.quick(d=(2, 4, 5))
@pytest.mark.slow
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_every_set_is_drawn_as_often_as_promised(d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for limits in all_ceilings(d, k):
        _check(limits, 10, monkeypatch, 2e-5)


@pytest.mark.further
@pytest.mark.parametrize(
    ("limits", "detail"), [((1, 3, 5, 7, 9, 10), 1), ((1, 3, 5, 7, 9, 10, 11), 1), ((2, 4, 6, 8, 10, 11), 1)]
)
def test_sets_that_fewer_conditions_admit_are_drawn_in_vain(
    limits: tuple[int, ...], detail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _check(limits, detail, monkeypatch, None)
    assert len(_admitted(walk_beside_others(limits, detail))) > len(sets_of(limits))
    rough, fine = (build_walks([np.array(limits)], each)[0].shared.blocks for each in (detail, 10))
    assert len(rough.sizes) <= len(fine.sizes)


@pytest.mark.further
@pytest.mark.quick(spread="(2, 1)")
@pytest.mark.parametrize("limits", [(3, 5, 8, 11), (1, 4, 8, 9, 11), (6, 6, 6, 9), (1, 2, 9, 11, 11)])
@pytest.mark.parametrize("spread", [(0, 1), (1, 0), (2, 1)])
@pytest.mark.parametrize("negligible", [0.4, 1e-2])
def test_what_is_left_unlisted_is_drawn_as_often_as_promised(
    limits: tuple[int, ...], spread: tuple[int, int], negligible: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables end early and small bounds are cut off, so that the bounds for the rest decide."""
    monkeypatch.setattr(walks, "_SMALLEST", 1)
    monkeypatch.setattr(walks, "_SPREADS", spread[0])
    monkeypatch.setattr(walks, "_MORE", spread[1])
    monkeypatch.setattr(walks, "_NEGLIGIBLE", negligible)
    _check(limits, 10, monkeypatch, None)


def test_bounds_are_close_to_counts_of_many_sets() -> None:
    generator = np.random.default_rng(0)
    for d, k in ((200, 30), (1000, 40), (60, 59), (400, 150)):
        for spread in (0, 3, 20, d):
            drawn = np.sort(generator.integers(0, spread + 1, k)) + np.arange(1, k + 1)
            steps = np.arange(1, k + 1) * (d // k)
            for limits in (np.minimum(drawn, d), np.maximum.accumulate(np.minimum(drawn, steps + spread))):
                bound = mpmath.mpf(walk_beside_others(np.maximum(limits, np.arange(1, k + 1)), k).log_bound())
                with mpmath.workdps(40):
                    exact = mpmath.log(oracle.paths(np.maximum(limits, np.arange(1, k + 1)).tolist()))
                    assert exact <= bound <= exact + 1e-4


@pytest.mark.further
@pytest.mark.parametrize("k", [300, 1000])
def test_convex_ceilings_do_not_drown_in_errors(k: int) -> None:
    """Ceilings i / (1 - i / 2 k), which all sets hug: errors that did not die out would exceed the bounds by far."""
    i = np.arange(1, k + 1)
    limits = np.maximum(np.floor(i / (1 - i / (1.2 * k))).astype(np.int64), i)
    found = walk_beside_others(limits, k)
    drawn = [found.draw_ranks(Streams(seed)) for seed in range(4)]
    for each in drawn:
        ranks, chance = each
        assert (np.diff(ranks) > 0).all()
        assert (ranks < limits).all()
        with mpmath.workdps(40):
            log = mpmath.log(mpmath.mpf(int(chance.numerator))) - mpmath.log(mpmath.mpf(int(chance.denominator)))
            assert -found.log_bound() <= log <= -found.log_bound() + 1e-3


def test_words_that_are_read_ahead_are_handed_out_once_and_in_turn() -> None:
    asked: list[int] = []

    class Numbered(Entropy):
        def draw_auxiliary_words(self, n: int) -> np.ndarray:
            asked.append(n)
            return np.arange(sum(asked[:-1]), sum(asked), dtype=np.uint64)

    ahead, sizes = walks._BufferedEntropy(Numbered()), [1, 255, 1, 0, 300, 2, 600, 211, 1, 256]
    handed = [ahead.draw_auxiliary_words(n) for n in sizes]
    assert [len(words) for words in handed] == sizes
    assert np.concatenate(handed).tolist() == list(range(sum(sizes)))
    assert len(asked) < len(sizes)


def test_weights_equal_binomials() -> None:
    """Listed weights against exact ones, their sums, and the bound on those that are not listed."""
    for limits in ((3, 5, 8, 11), (40, 60, 90), tuple(range(10, 400, 10))):
        many = walks.build_blocks([np.arange(1, len(limits) + 1), np.array(limits), np.array(limits) + 20], 100)
        for column, bound in enumerate(many.log_units().tolist()):
            logs = mpmath.mpf(0)
            sizes, shares, tilts, modes = (
                x[:, column].tolist() for x in (many.sizes, many.shares, many.tilts, many.modes)
            )
            assert sum(shares) == len(limits)
            with mpmath.workdps(40):
                for table, b, c, z, a in zip(many.weight_tables, sizes, shares, tilts, modes, strict=True):
                    start, (weights, total, other) = int(table[0][column]), (x[..., column] for x in table[1:])
                    unit = mpmath.binomial(b, a) * mpmath.mpf(z) ** (a - c)
                    logs += mpmath.log(unit)
                    exact = [mpmath.binomial(b, t) * mpmath.mpf(z) ** (t - c) / unit for t in range(b + 1)]
                    listed = [*exact[start : start + len(weights)], *[0] * len(weights)]
                    for upper, weight in zip(weights.tolist(), listed, strict=False):
                        assert weight <= upper <= weight * (1 + 1e-8) + 1e-250
                    assert sum(weights.tolist()) <= total
                    assert all(w <= other for t, w in enumerate(exact) if not start <= t < start + len(weights))
                assert logs <= bound <= logs + 1e-5


# Rankings under ceilings: their number, and draws that are exactly uniform, over all their branches.


def all_ceilings(d: int, k: int) -> Iterator[tuple[int, ...]]:
    """All that scores of d candidates can lead to: ascending, the i-th at least i, the last at most d."""
    for found in combinations_with_replacement(range(1, d + 1), k):
        if all(n >= i for i, n in enumerate(found, start=1)):
            yield found


SMALL_SHAPES = [(d, k) for d in range(1, 7) for k in range(1, d + 1)]


def rankings(limits: tuple[int, ...]) -> list[tuple[int, ...]]:
    listed = oracle.outputs(limits[-1], len(limits), True)
    return [s for s in listed if all(r < n for r, n in zip(s, limits, strict=True))]


@pytest.mark.quick(d=(1, 2, 3, 4, 5))
@pytest.mark.parametrize(("d", "k"), SMALL_SHAPES)
def test_every_ranking_is_drawn_once(d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers of the uniform choices lead to all rankings, one each, and the bound is just above their number."""
    for limits in all_ceilings(d, k):
        under, found = rankings(limits), Rankings(np.array(limits))
        drawn = Counter[tuple[int, ...]]()
        for answers in product(*(range(n - i) for i, n in enumerate(limits))):
            monkeypatch.setattr(ceilings, "draw_each_below", lambda n, _, answers=answers: np.array(answers))
            ranks, chance = found.draw_ranks(Untouched())
            drawn[tuple(ranks.tolist())] += 1
            assert chance == Fraction(1, len(under))
        assert drawn == Counter(under)
        assert log(len(under)) <= found.log_bound() <= log(len(under)) + 1e-8


def test_bounds_on_large_numbers() -> None:
    with mpmath.workdps(40):
        for d, k in ((10**6, 5000), (3, 3), (2**40, 3), (5000, 5000)):
            exact = mpmath.log(perm(d, k))
            assert exact <= Rankings(np.full(k, d)).log_bound() <= exact * (1 + mpmath.mpf(10) ** -8)


def test_large_draws_keep_their_promises() -> None:
    limits = np.array([min(3 * i + 50, 10**5) for i in range(150)])
    drawn = Rankings(limits).draw_ranks(Streams(1))[0]
    assert len(set(drawn.tolist())) == 150
    assert (drawn < limits).all()


# Counts of sets under ceilings against enumeration; draws that are exactly uniform, over all their branches.


PATH_SHAPES = [(d, k) for d in range(1, 9) for k in range(1, d + 1)]


@pytest.mark.quick(d=(1, 2, 3, 4, 5, 6, 7))
@pytest.mark.parametrize(("d", "k"), PATH_SHAPES)
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
        monkeypatch.setattr(ceilings, "draw_below", lambda n, entropy: self._next(int(n)))
        monkeypatch.setattr(ceilings, "draw_uniform_subset", self._choose)

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
