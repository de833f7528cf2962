"""Blocks of scores that are raced by their best: what is not drawn could not have won, and the law is exact.

Tries proofs/samplers/scan.tex and proofs/samplers/upper_tail.tex.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import forecast, race, upper_tail
from opendp_topk.sampling.samplers import settle as short
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.upper_tail import BLOCK, LEVELS, draw_survivors

from ..oracles import one_shot
from ..oracles.chi_square import assert_follows
from .adversaries import canonical
from .paths import SCANNED, up_to
from .recorder import Recorder
from .streams import Streams

D = 3 * 4096 + 17


def zipf(rng: random.Random) -> list[Any]:
    scores = [10**7 // (i + 1) for i in range(D)]
    rng.shuffle(scores)
    return scores


def uniform(rng: random.Random) -> list[Any]:
    return [rng.random() * 1000 for _ in range(D)]


def constant(rng: random.Random) -> list[Any]:
    return [5] * D


def outlier(rng: random.Random) -> list[Any]:
    scores = [0] * D
    scores[rng.randrange(D)] = 10**18
    return scores


def two_levels(rng: random.Random) -> list[Any]:
    return [40 if i // 4096 == 1 else 0 for i in range(D)]


def rare_high(rng: random.Random) -> list[Any]:
    return [float(30 * (rng.random() < 0.002)) for _ in range(D)]


def huge(rng: random.Random) -> list[Any]:
    return [2**70 + rng.randrange(200) for _ in range(D)]


@pytest.mark.quick(name="Gumbel", k=1)
@pytest.mark.parametrize("k", [1, 10, 700])
@pytest.mark.parametrize(
    "make", [zipf, uniform, constant, outlier, two_levels, rare_high, huge], ids=lambda make: make.__name__
)
@pytest.mark.parametrize(("name", "sign"), [("Gumbel", 1), ("Exponential", -1), ("Laplace", 1)])
def test_winners_of_many_blocks(
    name: str, sign: int, make: Callable[[random.Random], list[Any]], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "_FIRST_BLOCKS", 1)
    monkeypatch.setattr(race, "FEWEST", 2)
    scores = [sign * score for score in make(random.Random(k))]
    recorder = Recorder(monkeypatch, Streams(k))
    options: Any = {"sign": sign, "ordered": True, "entropy": recorder.streams}
    with up_to(SCANNED):
        winners = race.top_k(canonical(scores), Fraction(1), getattr(tk.noise, name)(), k, **options)
    recorder.check(name, scores, Fraction(1), sign, winners.tolist(), D)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Blocks of 16, so that every way through a block is taken with few candidates."""
    upper_tail._scaled_binomial_cdf.cache_clear()
    monkeypatch.setattr(upper_tail, "BLOCK", 16)
    monkeypatch.setattr(race, "BLOCK", 16)
    monkeypatch.setattr(race, "_FIRST_BLOCKS", 1)
    monkeypatch.setattr(race, "_FEW", 4)
    monkeypatch.setattr(short, "FEW", SCANNED.few)
    monkeypatch.setattr(short, "MOST", SCANNED.most)
    monkeypatch.setattr(forecast, "BLOCK", 16)
    for module in (race, forecast, forecast):
        monkeypatch.setattr(module, "GROUP", 1)
    monkeypatch.setattr(forecast, "_MOST_NEAR", 1)
    monkeypatch.setattr(forecast, "_TOGETHER", 3)
    monkeypatch.setattr(forecast, "_AGAIN", 2)
    monkeypatch.setattr(forecast, "_DEVIATIONS", 0.5)
    yield 16
    upper_tail._scaled_binomial_cdf.cache_clear()


def _blocks(*levels: tuple[float, ...]) -> list[float]:
    """One block of 16 for each argument: the scores given, and the last of them repeated."""
    return [score for given in levels for score in [*given, *[given[-1]] * (16 - len(given))]]


SHAPES: dict[str, list[float]] = {
    "shallow skip": _blocks((5.0, 0.0), (1.0,), (1.0, 0.5)),
    "shallow split": _blocks((5.0, 0.0), (4.0, 4.0, 4.0, 1.0), (3.0, 1.0)),
    "deep split": _blocks((8.0, 0.5), (7.0, 0.0), (6.5, 6.5, 1.0)),
    "deep skip": _blocks((7.0, 0.5), (1.5,), (1.0, 1.0, 0.5)),
    "draw all": _blocks((1.0,), (0.5,), (0.0,)),
    "forecast": _blocks((9.0, 8.0, 0.5), (7.0, 6.0, 4.0, 1.0), (6.5, 3.0, 2.0, 0.0)),
    "wrong forecast": _blocks((7.0, 3.0, 0.5), (4.0, 0.5), (2.5, 2.0, 0.0)),
}


def _use(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the shapes that are named after forecasts have one: their own, or one that about every other race reaches."""
    monkeypatch.setattr(race, "FEWEST", 1 if "forecast" in shape else 99)
    if shape == "wrong forecast":
        wrong = {1: forecast.Forecast((7.0, 0.7), 8), 2: forecast.Forecast((3.0, 2.5), 5)}
        monkeypatch.setattr(race, "forecast_threshold", lambda scores, noise, k, groups: wrong[k])


@pytest.mark.further
@pytest.mark.quick(k=2, name="Exponential", shape=("forecast", "wrong forecast", "deep split", "shallow skip"))
@pytest.mark.parametrize("name", ["Gumbel", "Exponential"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2])
def test_small_blocks_give_the_sort_of_what_was_drawn(
    name: str, shape: str, k: int, small_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _use(shape, monkeypatch)
    scores = [*SHAPES[shape], 0.0, 1.0, 2.0]
    branches: Counter[str] = Counter()
    for seed in range(150):
        with monkeypatch.context() as patch:
            recorder = Recorder(patch, Streams(seed))
            noise = getattr(tk.noise, name)()
            winners = race.top_k(
                np.array(scores), Fraction(1), noise, k, sign=1, ordered=True, entropy=recorder.streams
            )
            recorder.check(name, scores, Fraction(1), 1, winners.tolist(), len(scores))
            branches += recorder.branches
    assert branches[shape] > 0, "the input does not reach the branch that it is named after"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "name", "k"), [(shape, *(("Gumbel", 1), ("Exponential", 2))[i % 2]) for i, shape in enumerate(SHAPES)]
)
def test_small_blocks_follow_the_exact_law(
    name: str, shape: str, k: int, small_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real entropy; winners are counted by score and block, and the law is that of the whole vector."""
    _use(shape, monkeypatch)
    scores = [*SHAPES[shape], 0.0, 1.0, 2.0]
    classes = [(i // small_blocks, score) for i, score in enumerate(scores)]
    law = one_shot.class_law(name, classes, [score for _, score in classes], k)
    noise, values = getattr(tk.noise, name)(), np.array(scores)
    counts: Counter[Any] = Counter()
    positions: Counter[Any] = Counter()
    for _ in range(6000):
        winners = race.top_k(values, Fraction(1), noise, k, sign=1, ordered=True).tolist()
        counts[tuple(classes[i] for i in winners)] += 1
        positions[winners[0]] += 1
    assert_follows(counts, law, detects=0.37)
    first: Counter[Any] = Counter()
    for outcome, p in law.items():
        first[outcome[0]] += p
    sizes = Counter(classes)
    assert_follows(positions, {i: first[c] / sizes[c] for i, c in enumerate(classes)}, detects=0.67)


# Which candidates of a block are in the tail: exact binomial sizes, and uniform positions.


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
    drawn = zip(levels.tolist()[1:3], words[1:3], strict=True)
    expected = [next(n for n in range(BLOCK) if _cumulative(level, n) > Fraction(word, 2**64)) for level, word in drawn]
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
