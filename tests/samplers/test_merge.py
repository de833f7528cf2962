"""A race in parts has the winners of one race over the same uniforms, however its candidates are shared out.

Tries proofs/samplers/merge.tex.
"""

import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from types import FrameType
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.numerics.surveyed import GROUP
from opendp_topk.sampling.samplers import merge
from opendp_topk.sampling.samplers import race as race_of_blocks
from opendp_topk.sampling.samplers.advantages import ScaledScores
from opendp_topk.sampling.samplers.bins import order_best_scores
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy
from opendp_topk.sampling.samplers.forecast import forecast_threshold
from opendp_topk.sampling.samplers.joint import SelectionTask, build_layers

from ..oracles import noise as oracle
from ..oracles import one_shot
from ..oracles.chi_square import assert_follows, enough
from ..oracles.race import best
from . import adversaries
from .adversaries import Case, canonical, rng_of
from .paths import AT_ONCE, DROPPED, SCANNED, up_to
from .recorder import Recorder
from .streams import Streams, Untouched

Groups = Sequence[Sequence[int]]
every_noise = pytest.mark.parametrize("name", oracle.NAMES)


class Named(Entropy):
    """The digits of ``streams`` for candidates that a part counts from 0."""

    def __init__(self, streams: Entropy, names: Iterable[int]) -> None:
        self._streams = streams
        self._names = np.array(list(names), dtype=np.int64)

    def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
        return self._streams.draw_prefixes(self._names[index])

    def draw_words(self, index: np.ndarray) -> np.ndarray:
        return self._streams.draw_words(self._names[index])

    def draw_auxiliary_words(self, n: int) -> np.ndarray:
        return self._streams.draw_auxiliary_words(n)


def shared(rng: random.Random, d: int) -> Groups:
    """The candidates dealt to parts: some empty, some with one, some with many, all in any order."""
    groups: list[list[int]] = [[] for _ in range(rng.choice((1, 2, 3, 5, 9)))]
    for i in rng.sample(range(d), d):
        groups[min(rng.randrange(2 * len(groups)), len(groups) - 1)].append(i)
    return groups


def sent(part: merge.Part) -> merge.Part:
    """What another process reads."""
    return pickle.loads(pickle.dumps(part))  # type: ignore[no-any-return]


def raced(scores: Sequence[Any], groups: Groups, race: merge.Race, streams: Entropy, rng: random.Random) -> list[int]:
    """The winners of a race in these parts, which are merged a few at a time, in any order."""

    def part(group: Sequence[int]) -> merge.Part:
        values = canonical([scores[i] for i in group]) if group else canonical([scores[0]])[:0]
        return sent(merge.select_part_finalists(group, values, race, Named(streams, group)))

    def merged(parts: Sequence[merge.Part]) -> merge.Part:
        found = merge.merge_finalists(parts, race, Named(streams, (i for one in parts for i in one.labels)))
        assert len(found.labels) == min(race.k, found.size)
        return sent(found)

    parts = [part(group) for group in groups]
    assert all(len(one.labels) == min(race.k, len(group)) for one, group in zip(parts, groups, strict=True))
    while len(parts) > 1:
        rng.shuffle(parts)
        few = rng.randint(2, len(parts))
        parts = [*parts[few:], merged(parts[:few])]
    return merge.finish_race(parts[0], race, Named(streams, parts[0].labels))


def check(name: str, case: Case, k: int, sign: int, ordered: bool, seed: int, rng: random.Random) -> Streams:
    race = merge.Race(case.scale, getattr(tk.noise, name)(), k, sign, ordered)
    streams = Streams(seed, case.leading)
    expected = best(name, case.scores, case.scale, streams.digits, k, sign)
    for path in (AT_ONCE, DROPPED, SCANNED):
        streams.read.clear()
        with up_to(path):
            winners = raced(case.scores, shared(rng, len(case.scores)), race, streams, rng)
        assert winners == (expected if ordered else sorted(expected))
    return streams


@pytest.mark.quick(name="Laplace", make=("small_integers", "beyond_doubles", "widest_floats", "late_winners"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_the_same_uniforms_have_the_same_winners(name: str, make: Callable[[random.Random], Case]) -> None:
    rng = rng_of(name, make.__name__)
    for seed in range(15):
        case = make(rng)
        check(name, case, rng.randint(1, len(case.scores)), rng.choice((1, -1)), rng.random() < 0.6, seed, rng)


@pytest.mark.quick(name="Gumbel", bits=(47, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 79, 130, 200, 600])
def test_digits_travel_with_near_ties(name: str, bits: int) -> None:
    rng = rng_of(name, bits)
    for seed in range(6):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        streams = check(name, case, rng.randint(1, len(case.scores) - 1), sign, True, seed, rng)
        assert all(drawn <= 32 * bits + 400 for drawn in streams.read.values())


def test_each_digit_is_drawn_once_however_often_parts_meet() -> None:
    """Four candidates whose first 200 digits are the same are told apart once; what was drawn of them then is kept."""
    race = merge.Race(Fraction(1), tk.noise.Gumbel(), 2, 1, True)
    streams = Streams(2, dict.fromkeys(range(4), "01" * 100))
    parts = [sent(merge.select_part_finalists([i], np.array([9]), race, Named(streams, [i]))) for i in range(4)]
    assert streams.read == dict.fromkeys(range(4), 16)
    once = sent(merge.merge_finalists(parts, race, Named(streams, range(4))))
    assert once.size == 4
    assert [streams.read[i] for i in once.labels] == [16 + 64 * len(words) for words in once.words]
    assert min(map(len, once.words)) >= 3
    read = dict(streams.read)
    one = merge.Race(Fraction(1), tk.noise.Gumbel(), 1, 1, True)
    far = merge.Part(1, (7,), np.array([-9]), np.array([2**15], dtype=np.uint16), ((),))
    unread = merge.merge_finalists([far, once, far], race, Untouched())
    assert dict(zip(unread.labels, unread.words, strict=True)) == dict(zip(once.labels, once.words, strict=True))
    again = merge.merge_finalists([far, unread, far], one, Named(streams, (7, *once.labels, 7)))
    winner = once.labels.index(again.labels[0])
    assert again.words == (once.words[winner],)
    assert merge.finish_race(again, one, Untouched()) == list(again.labels)
    assert streams.read == read


@pytest.mark.parametrize("sign", [1, -1])
def test_without_noise_the_lowest_label_wins_whatever_the_parts(sign: int) -> None:
    rng = rng_of(sign)
    for _ in range(60):
        d = rng.randrange(1, 12)
        make = rng.choice(
            (lambda: rng.randrange(3), lambda: rng.choice((0.0, -0.0, 1.5)), lambda: 2**63 - rng.randrange(3))
        )
        scores, k = [make() for _ in range(d)], rng.randint(1, d)
        race = merge.Race(Fraction(0), tk.noise.Gumbel(), k, sign, rng.random() < 0.5)
        exact = sorted(range(d), key=lambda i: (-sign * scores[i], i))[:k]
        assert raced(scores, shared(rng, d), race, Untouched(), rng) == (exact if race.ordered else sorted(exact))


def test_a_part_of_many_blocks_keeps_the_winners(monkeypatch: pytest.MonkeyPatch) -> None:
    """The large part draws most of its candidates from the tail; nobody whom it does not draw could have won."""
    rng = rng_of("blocks")
    large, small, streams = 3 * 4096 + 17, 40, Streams(5)
    scores = [10**6 // (i + 1) for i in range(large + small)]
    rng.shuffle(scores)
    monkeypatch.setattr(race_of_blocks, "_FIRST_BLOCKS", 1)
    recorder = Recorder(monkeypatch, streams)
    race = merge.Race(Fraction(50), tk.noise.Gumbel(), 8, 1, True)
    with up_to(SCANNED):
        winners = raced(scores, [range(large), range(large, large + small), []], race, streams, rng)
    recorder.check("Gumbel", scores, Fraction(50), 1, winners, large + small)
    assert recorder.levels


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sign"), [("Gumbel", 1), ("Exponential", -1)])
def test_the_law_is_that_of_one_race(name: str, sign: int) -> None:
    """Rankings of fresh digits from the operating system, over partitionings that change from race to race."""
    rng = rng_of("law", name)
    scores, scale = [9, 3, 0, 3], Fraction(2)
    weights = [mpmath.e ** (Fraction(score, 1) / scale) for score in scores]
    law = one_shot.rankings(name, weights, 1)
    race = merge.Race(scale, getattr(tk.noise, name)(), 1, sign, True)
    given = [sign * score for score in scores]
    n = enough(max(law.values()))
    counts = Counter((raced(given, shared(rng, 4), race, SYSTEM, rng)[0],) for _ in range(n))
    assert_follows(counts, law)


# What is computed from scores alone takes neighbours the same calls: nothing here draws, or reads a clock.


SCALE = Fraction(10**4)


def _ahead(scores: NDArray[Any], k: int) -> object:
    groups = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))[: len(scores) // GROUP]
    return forecast_threshold(ScaledScores(scores, SCALE, 1), tk.noise.Gumbel(), k, groups)


def _nested(scores: NDArray[Any], k: int) -> object:
    return build_layers(SelectionTask(order_best_scores(scores, 1, k, 100 * SCALE, SCALE), SCALE, k, False))


def _calls(compute: Callable[[NDArray[Any], int], object], scores: NDArray[Any], k: int) -> list[str]:
    """The names of all functions that are called, those of C as well."""
    found: list[str] = []

    def see(frame: FrameType, event: str, called: Any) -> None:
        if event in ("call", "c_call"):
            found.append(frame.f_code.co_name if event == "call" else called.__name__)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        compute(scores, k)
    finally:
        sys.setprofile(before)
    return found


def test_neighbours_take_the_same_calls_and_none_that_tells_equal_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's ``partition`` takes ten times as long with one score above equal ones, and its quickest sort longer."""
    sort, alike = np.sort, []

    def watched(values: Any, **options: Any) -> Any:
        if options.get("kind") != "stable" and values.min() == values.max():
            alike.append(len(values))
        return sort(values, **options)

    monkeypatch.setattr(np, "sort", watched)
    failures = []
    for d in (3_000, 40_000, 300_000):
        for kind in (np.int64, np.float64):
            for compute in (_ahead, _nested):
                equal = np.full(d, 1000, dtype=kind)
                _calls(compute, equal, 5)  # what is computed once is known from here on
                seen = _calls(compute, equal, 5)
                failures += [(d, kind, compute, name) for name in {"partition", "_partition"} & set(seen)]
                for place in (0, d // 2, d - 1):
                    raised = equal.copy()
                    raised[place] += 1
                    if _calls(compute, raised, 5) != seen:
                        failures.append((d, kind, compute, place))
    assert not failures
    assert not alike
