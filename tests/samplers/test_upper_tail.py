"""Which candidates of a block are in the tail: exact binomial sizes, and uniform positions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.samplers import upper_tail
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.upper_tail import BLOCK, LEVELS, draw_survivors

from ..oracles.chi_square import assert_follows
from .streams import Streams

every_level = pytest.mark.parametrize("level", LEVELS)


def _mass(level: int, n: int, block: int = BLOCK) -> int:
    """2^(block level) P(N = n), an integer."""
    return math.comb(block, n) * (2**level - 1) ** (block - n)


def _cumulative(level: int, n: int, block: int = BLOCK) -> Fraction:
    return Fraction(sum(_mass(level, m, block) for m in range(n + 1)), 2 ** (block * level))


@every_level
def test_cumulative_table_is_the_floor_of_the_exact_one(level: int) -> None:
    table = upper_tail._scaled_binomial_cdf(level).tolist()
    sums = accumulate(_mass(level, n) for n in range(len(table)))
    exact = [total >> (BLOCK * level - 64) for total in sums]
    assert table == exact
    assert table[-1] == 2**64 - 1
    assert table[-2] < 2**64 - 1


def test_levels_are_those_of_a_prefix() -> None:
    assert list(LEVELS) == list(range(4, 17))
    assert BLOCK == 4096


@pytest.mark.parametrize("level", [4, 5, 9, 16])
def test_sizes_invert_the_exact_distribution_at_its_steps(level: int) -> None:
    """Words beside a table entry, and words equal to it with digits beside the exact step."""
    table = upper_tail._scaled_binomial_cdf(level).tolist()
    steps = [n for n in range(len(table)) if table[n] > 2**20 and table[n] != table[n - 1]]
    for n in (steps[0], steps[len(steps) // 2], steps[-2]):
        exact = _cumulative(level, n)
        second = math.floor(exact * 2**128) % 2**64
        third = math.floor(exact * 2**192) % 2**64
        tails = [[0], [2**64 - 1], [second - 1], [second + 1], [second, 0], [second, third - 1], [second, third + 1]]
        script = [[table[n] - 1], [table[n] + 1], *([table[n], *tail] for tail in tails)]
        for words in script:
            if not all(0 <= word < 2**64 for word in words):
                continue
            streams = Streams(auxiliary=words)
            size = int(upper_tail._draw_sizes(np.array([level]), streams)[0])
            digits = 0
            for word in words:
                digits = digits << 64 | word
            value = Fraction(digits, 2 ** (64 * len(words)))
            assert (size > n) == (exact <= value)
            assert not streams._scripted, "fewer words were read than it takes to decide"


def test_a_step_inside_of_the_table_takes_no_more_digits() -> None:
    words = [entry + 1 for entry in upper_tail._scaled_binomial_cdf(4).tolist()[200:300]]
    streams = Streams(auxiliary=[*words, 12345])
    assert upper_tail._draw_sizes(np.full(100, 4), streams).tolist() == list(range(201, 301))
    assert streams._scripted == [12345]


def test_every_block_has_its_own_level() -> None:
    levels = np.array([4, 16, 9, 4])
    position = draw_survivors(levels, Streams(7))
    counts = np.bincount(position // BLOCK, minlength=4)
    words = Streams(7).draw_auxiliary_words(4).tolist()
    expected = [
        next(n for n in range(BLOCK) if _cumulative(level, n) > Fraction(word, 2**64))
        for level, word in zip(levels.tolist()[1:3], words[1:3], strict=True)
    ]
    assert counts.tolist()[1:3] == expected
    assert 100 < counts[0] < 420
    assert 100 < counts[3] < 420


def test_positions_are_distinct_and_ascending() -> None:
    for seed in range(30):
        position = draw_survivors(np.array([4, 5, 4]), Streams(seed))
        assert (np.diff(position) > 0).all()
        assert position.min() >= 0
        assert position.max() < 3 * BLOCK


@pytest.mark.quick(level=8)
@pytest.mark.parametrize("level", [4, 8, 12])
def test_sizes_and_positions_follow_their_laws(level: int) -> None:
    blocks = 4000
    position = draw_survivors(np.full(blocks, level), SYSTEM)
    sizes = Counter(np.bincount(position // BLOCK, minlength=blocks).tolist())
    total = 2 ** (BLOCK * level)
    law: dict[Any, Any] = {n: float(Fraction(_mass(level, n), total)) for n in range(440 if level == 4 else 60)}
    assert_follows(sizes, law, detects=1.7)
    cells = 64 if level < 12 else 16
    where = Counter((position % BLOCK // (BLOCK // cells)).tolist())
    assert_follows(where, dict.fromkeys(range(cells), 1 / cells), detects=1.1)
    last = Counter((position % BLOCK % 8).tolist())
    assert_follows(last, dict.fromkeys(range(8), 1 / 8), detects=0.7)


@pytest.mark.slow
def test_members_of_a_small_block_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks of 16 and four ones, the joint law of the first three elements, and of all positions given two."""
    upper_tail._scaled_binomial_cdf.cache_clear()
    monkeypatch.setattr(upper_tail, "BLOCK", 16)
    blocks = 40_000
    position = draw_survivors(np.full(blocks, 4), SYSTEM)
    upper_tail._scaled_binomial_cdf.cache_clear()
    present = np.zeros((blocks, 16), dtype=np.int64)
    present[position // 16, position % 16] = 1
    p = 1 / 16
    joint = Counter(map(tuple, present[:, [0, 7, 15]].tolist()))
    law = {(a, b, c): _odds(p, a) * _odds(p, b) * _odds(p, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    assert_follows(joint, law)
    pairs = present[present.sum(axis=1) == 2]
    chosen = Counter(tuple(np.flatnonzero(row).tolist()) for row in pairs)
    assert_follows(chosen, {(i, j): 1 / 120 for i in range(16) for j in range(i + 1, 16)}, detects=2.7)


def _odds(p: float, present: int) -> float:
    return p if present else 1 - p
