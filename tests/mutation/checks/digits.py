"""How uniform digits become integers: no digit twice, no remainder left over, no tail of the wrong weight."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from opendp_topk.noises.standard import Exponential
from opendp_topk.samplers import peeled, subsets, upper_tail
from opendp_topk.samplers.entropy import SYSTEM, Entropy, Indices
from tests.mutation.bits import Streams, reproducible
from tests.mutation.oracles import expect, expect_law


def check() -> None:
    """Uniform integers, positions in tails, and the words that the source hands out."""
    _integers()
    _source()
    _fresh_races()
    for level in (4, 6):
        _tail(level)


def _integers() -> None:
    drawn = Counter(subsets.below(3, Streams(f"below/{i}")) for i in range(600))
    expect_law("a uniform integer below 3", drawn, dict.fromkeys(range(3), 1 / 3))
    over = subsets.choose(3 * 2**40, 1, Streams("over", script=[2**64 - 1])).tolist()
    kept = subsets.choose(3 * 2**40, 1, Streams("over")).tolist()
    expect(over == kept, "a word beyond the last whole multiple must be drawn anew")
    pairs = Counter(tuple(subsets.choose(5, 2, Streams(f"pair/{i}")).tolist()) for i in range(1000))
    expect_law("two of five", pairs, {(a, b): 0.1 for a in range(5) for b in range(a + 1, 5)})


def _source() -> None:
    """All that the system's source gives is fresh and uniform."""
    with reproducible("source"):
        prefixes = SYSTEM.prefixes(np.arange(4096)).tolist()
        words = SYSTEM.words(np.arange(4096)).tolist() + SYSTEM.auxiliary(4096).tolist()
    expect(len(set(words)) == 8192, "two words of 64 digits are the same")
    expect(len(set(prefixes)) > 3800, "candidates share the first digits of their uniforms")
    for shift, values in ((12, prefixes), (60, words), (0, words)):
        counts = Counter(value >> shift & 15 for value in values)
        expect_law("four digits of the source", counts, dict.fromkeys(range(16), 1 / 16))


class _Counted(Entropy):
    """The system's digits, and how many candidates were given first ones."""

    drawn = 0

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        self.drawn += len(index)
        return super().prefixes(index)


def _fresh_races() -> None:
    """Peeling runs a race for each winner: 4, 3 and 2 candidates draw digits of their own."""
    counted = _Counted()
    with reproducible("races"):
        peeled.top_k(np.arange(4), Fraction(3), Exponential(), 3, sign=1, entropy=counted)
    expect(counted.drawn == 9, "peeling does not draw fresh noise for every race")


def _tail(level: int) -> None:
    """Of a block of 4,096, those with ``level`` leading ones: their number is binomial, their places uniform."""
    blocks, p = 300, 2.0**-level
    found = upper_tail.survivors(np.full(blocks, level), Streams(f"tail/{level}"))
    expect(len(set(found.tolist())) == len(found), "a position survives twice")
    sizes = Counter(np.bincount(found // upper_tail.BLOCK, minlength=blocks).tolist())
    law = {n: math.exp(_log_binomial(upper_tail.BLOCK, n, p)) for n in range(upper_tail.BLOCK + 1)}
    mean, spread = upper_tail.BLOCK * p, math.sqrt(upper_tail.BLOCK * p)
    cells: Counter[object] = Counter()
    expected: dict[object, float] = {}
    for n, mass in law.items():
        cell = max(-3, min(3, round(1.5 * (n - mean) / spread)))
        expected[cell] = expected.get(cell, 0.0) + mass
        cells[cell] += sizes.get(n, 0)
    expect_law(f"the number with {level} leading ones", cells, expected)
    places = Counter((found % upper_tail.BLOCK // 512).tolist())
    expect_law("the places of those who survive", places, dict.fromkeys(range(8), 1 / 8))


def _log_binomial(n: int, m: int, p: float) -> float:
    choices = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return choices + m * math.log(p) + (n - m) * math.log1p(-p)
