"""The race gives the order of the real sums x / scale + F^{-1}(U), whatever the scores, the scale and the digits.

Tries proofs/samplers/advantages.tex, proofs/samplers/listed.tex, proofs/samplers/noiseless.tex,
proofs/samplers/rows.tex, proofs/samplers/runs.tex, proofs/samplers/settle.tex and proofs/samplers/short.tex.
"""

import math
import os
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import entropy as noiseless
from opendp_topk.sampling.samplers import race, rows, settle
from opendp_topk.sampling.samplers.entropy import Entropy, Indices
from opendp_topk.sampling.samplers.settle import (
    PlaceRuns,
    divide_all_places,
    divide_runs,
    find_decided_winners,
    is_order_decided,
    is_selection_decided,
    open_parts_mask,
)
from opendp_topk.spaces.domains import find_block_maxima
from tests.oracles import one_shot
from tests.oracles.chi_square import assert_follows
from tests.samplers.recorder import Recorder

from ..oracles import noise as oracle
from ..oracles.race import best
from . import adversaries
from .adversaries import Case, canonical, rng_of
from .paths import AT_ONCE, DROPPED, ONE_BY_ONE, SCANNED, up_to
from .streams import Streams

every_noise = pytest.mark.parametrize("name", oracle.NAMES)
REPEATS = 100


def _check(name: str, case: Case, k: int, sign: int, ordered: bool, seed: int) -> Streams:
    streams = Streams(seed, case.leading)
    values, noise = canonical(case.scores), getattr(tk.noise, name)()
    expected = best(name, case.scores, case.scale, streams.digits, k, sign)
    for path in (ONE_BY_ONE, AT_ONCE, DROPPED, SCANNED):
        streams.read.clear()
        with up_to(path):
            winners = race.top_k(values, case.scale, noise, k, sign=sign, ordered=ordered, entropy=streams)
        assert winners.dtype == np.int64
        assert winners.tolist() == (expected if ordered else sorted(expected))
    return streams


@pytest.mark.further
@pytest.mark.quick(
    name="Laplace",
    make=("small_integers", "all_equal", "huge_integers", "subnormals", "ladder", "duplicates_at_the_edge"),
)
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_winners_are_the_sort_of_the_noisy_scores(name: str, make: Callable[[random.Random], Case]) -> None:
    rng = rng_of(name, make.__name__)
    for seed in range(REPEATS):
        case = make(rng)
        k = rng.randint(1, len(case.scores))
        _check(name, case, k, rng.choice((1, -1)), rng.random() < 0.6, seed)


@pytest.mark.quick(name=("Gumbel", "Laplace"), bits=(20, 47, 64, 81, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200, 600])
def test_near_ties_are_decided_by_as_many_digits_as_it_takes(name: str, bits: int) -> None:
    rng = rng_of(name, bits)
    most = 0
    for seed in range(12):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        k = rng.randint(1, len(case.scores) - 1)
        streams = _check(name, case, k, sign, rng.random() < 0.6, seed)
        most = max(most, *streams.read.values())
    assert most >= bits, "the order of near ties cannot be known from fewer digits"


def test_few_digits_are_drawn_where_few_are_needed() -> None:
    streams = Streams(1)
    race.top_k(np.array([0, 1000, 0]), Fraction(1), tk.noise.Gumbel(), 1, sign=1, ordered=True, entropy=streams)
    assert set(streams.read.values()) == {16}


@pytest.mark.parametrize("ordered", [False, True])
def test_of_equal_bounds_the_first_draws_first_however_a_processor_sorts(ordered: bool) -> None:
    """So that equal digits give an equal release on every machine."""
    d, asked = 600, []

    class Equal(Entropy):
        def draw_prefixes(self, index: Indices) -> Any:
            return (2**15 + index % 3).astype(np.uint16)

        def draw_words(self, index: Indices) -> Any:
            asked.append(index.tolist())
            return np.random.default_rng(1).permutation(len(index)).astype(np.uint64) << np.uint64(50)

    race.top_k(np.zeros(d), Fraction(1), tk.noise.Exponential(), 10, sign=1, ordered=ordered, entropy=Equal())
    assert len(asked[0]) >= d // 3
    assert asked[0] == sorted(asked[0], key=lambda i: (-(i % 3), i))


def test_a_set_does_not_need_the_order_of_its_members() -> None:
    digits = "01" * 100
    for ordered, most in ((True, 208), (False, 16)):
        streams = Streams(2, {0: digits, 1: digits})
        race.top_k(np.array([99, 99, 0]), Fraction(1), tk.noise.Gumbel(), 2, sign=1, ordered=ordered, entropy=streams)
        assert max(streams.read.values()) >= most
        assert (max(streams.read.values()) > 16) == ordered


@pytest.mark.parametrize("values", [np.array([3, 3]), np.array([3.0, 3.0])], ids=["int", "float"])
def test_digits_that_repeat_for_ever_end_in_an_error(values: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "MOST_LEVELS", 5)
    with pytest.raises(PlatformError, match="returned repeated values") as caught:
        race.top_k(
            values, Fraction(1), tk.noise.Exponential(), 1, sign=1, ordered=True, entropy=Streams(3, twins={1: 0})
        )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.slow
def test_repetition_is_noticed_at_the_default_precision() -> None:
    streams = Streams(3, twins={1: 0})
    with pytest.raises(PlatformError, match="returned repeated values"):
        race.top_k(np.zeros(2), Fraction(1), tk.noise.Exponential(), 1, sign=1, ordered=True, entropy=streams)
    assert max(streams.read.values()) > 10**5


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError()], ids=repr)
@pytest.mark.parametrize("d", [3, 300, 5 * 4096])
def test_nothing_is_released_without_randomness(failure: Exception, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(PlatformError, match="nothing was released") as caught:
        race.top_k(np.arange(d), Fraction(1), tk.noise.Gumbel(), 1, sign=1, ordered=True)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@every_noise
def test_integers_with_more_digits_than_any_precision(name: str) -> None:
    base = 2**600_000
    for seed in range(10):
        _check(name, Case([base, base + 1, base, base + 3], Fraction(2)), 3, 1, True, seed)


# Many races at once: each is the sort of its own noisy scores, whatever the scores, the scale and the digits.


def _check_row(name: str, case: Case, times: int, k: int, sign: int, ordered: bool, seed: int) -> Streams:
    d = len(case.scores)
    leading = {t * d + i: digits for t in range(0, times, 2) for i, digits in case.leading.items()}
    streams = Streams(seed, leading)
    values, noise = canonical(case.scores), getattr(tk.noise, name)()
    found = rows.repeat_top_k(values, case.scale, noise, k, times, sign=sign, ordered=ordered, entropy=streams)
    assert found.shape == (times, k)
    assert found.dtype == np.int64
    for t in range(times):
        expected = best(name, case.scores, case.scale, streams.digits_from(t * d), k, sign)
        assert found[t].tolist() == (expected if ordered else sorted(expected))
    return streams


def _served(case: Case) -> bool:
    """Whether float64 numbers serve; otherwise the races are called one by one, which other tests try."""
    from opendp_topk.sampling.samplers import settle as short
    from opendp_topk.sampling.samplers.advantages import ScaledScores

    with np.errstate(all="ignore"):
        values = canonical(case.scores)
        return all(short.score_distances(ScaledScores(values, case.scale, sign)) is not None for sign in (1, -1))


@pytest.mark.quick(name="Laplace", make=("small_integers", "far_clusters", "subnormals", "duplicates_at_the_edge"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_each_row_is_the_sort_of_its_noisy_scores(
    name: str, make: Callable[[random.Random], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_TOGETHER", 20)
    rng = random.Random(f"{name} {make.__name__}")
    for seed in range(12):
        case = make(rng)
        k, sign, ordered = rng.randint(1, len(case.scores)), rng.choice((1, -1)), rng.random() < 0.6
        if _served(case):
            _check_row(name, case, rng.randint(1, 7), k, sign, ordered, seed)


@pytest.mark.quick(name="Gumbel", bits=(20, 200))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200, 600])
def test_near_ties_are_decided_row_by_row(name: str, bits: int) -> None:
    rng = random.Random(f"{name} {bits}")
    most = 0
    for seed in range(6):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        k = rng.randint(1, len(case.scores) - 1)
        most = max(most, *_check_row(name, case, 3, k, sign, rng.random() < 0.6, seed).read.values())
    assert most >= bits, "the order of near ties cannot be known from fewer digits"


@pytest.mark.parametrize(("scores", "scale"), [([2**70, 2**70 + 1], Fraction(1)), ([1, 2], Fraction(1, 2**901))])
def test_what_floats_cannot_hold_is_raced_one_by_one(scores: list[int], scale: Fraction) -> None:
    options = {"sign": 1, "ordered": False}
    assert rows.repeat_top_k(canonical(scores), scale, tk.noise.Gumbel(), 2, 3, **options).tolist() == [[0, 1]] * 3


@pytest.mark.parametrize("ordered", [True, False])
def test_rows_are_decided_where_the_best_certainly_beat_all_others(ordered: bool) -> None:
    rng = random.Random(4)
    for _ in range(200):
        d = rng.randrange(1, 7)
        k = rng.randrange(1, d + 1)
        lower = np.array([[float(rng.randrange(12)) for _ in range(d)] for _ in range(8)])
        upper = lower + np.array([[rng.choice((0, 1, 1, 2, 7, np.inf)) for _ in range(d)] for _ in range(8)])
        order = np.argsort(-lower, axis=1)
        found = rows.decided_rows(lower, upper, order, k, ordered)
        for row in range(8):
            low, high = lower[row][order[row]].tolist(), upper[row][order[row]].tolist()
            cuts = {c for c in range(1, d) if min(low[:c]) > max(high[c:])} | {d}
            assert found[row] == (cuts >= set(range(1, k + 1)) if ordered else k in cuts)


@pytest.mark.further
@pytest.mark.quick(name="Exponential")
@pytest.mark.parametrize("name", ["Gumbel", "Exponential"])
def test_rows_follow_the_law_and_do_not_depend_on_each_other(name: str) -> None:
    scores = [0, 1, 1]
    with mpmath.workdps(30):
        weights = [float(mpmath.exp(score)) for score in scores]
    law = one_shot.rankings(name, weights, 2)
    found = rows.repeat_top_k(
        np.array(scores), Fraction(1), getattr(tk.noise, name)(), 2, 200_000, sign=1, ordered=True
    )
    outcomes = [tuple(row) for row in found.tolist()]
    assert_follows(Counter(outcomes), law, detects=0.05)
    pairs = Counter(zip(outcomes[::2], outcomes[1::2], strict=True))
    assert_follows(pairs, {(a, b): p * q for a, p in law.items() for b, q in law.items()}, detects=0.14)


@pytest.mark.quick(name="Laplace", make=("small_integers", "huge_integers", "ladder", "rational_scales"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_each_vector_has_a_race_of_its_own(
    name: str, make: Callable[[random.Random], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of several lengths and types, at one scale; whatever floats cannot hold is raced one by one."""
    monkeypatch.setattr(rows, "_TOGETHER", 20)
    rng = random.Random(f"each {name} {make.__name__}")
    for seed in range(8):
        cases = [make(rng) if rng.random() < 0.7 else rng.choice(adversaries.CASES)(rng) for _ in range(4)]
        cases += [Case(rng.sample(case.scores, len(case.scores)), case.scale, case.leading) for case in cases]
        first = [sum(len(case.scores) for case in cases[:t]) for t in range(len(cases))]
        leading = {at + i: digits for at, case in zip(first, cases, strict=True) for i, digits in case.leading.items()}
        streams = Streams(seed, leading)
        k, sign = rng.randint(1, min(len(case.scores) for case in cases)), rng.choice((1, -1))
        options = {"sign": sign, "ordered": rng.random() < 0.6, "entropy": streams}
        vectors = [canonical(case.scores) for case in cases]
        found = rows.top_k_of_each(vectors, cases[0].scale, getattr(tk.noise, name)(), k, **options)
        assert found.shape == (len(cases), k)
        for at, case, row in zip(first, cases, found.tolist(), strict=True):
            expected = best(name, case.scores, cases[0].scale, streams.digits_from(at), k, sign)
            assert row == (expected if options["ordered"] else sorted(expected))


def test_an_array_of_vectors_is_raced_row_by_row_and_none_at_all_too() -> None:
    table = np.random.default_rng(3).integers(0, 4, (50, 6))
    for columns in (slice(None), slice(None, None, 2), slice(1, None, -1)):
        part, options = table[:, columns], {"sign": -1, "ordered": True}
        streams, d = Streams(1), part.shape[1]
        found = rows.top_k_of_each(part, Fraction(1, 2), tk.noise.Laplace(), 1, **options, entropy=streams)
        for t in range(len(part)):
            expected = best("Laplace", part[t].tolist(), Fraction(1, 2), streams.digits_from(t * d), 1, -1)
            assert found[t].tolist() == expected
        assert rows.top_k_of_each(part[:0], Fraction(1), tk.noise.Laplace(), 1, **options).shape == (0, 1)
    assert rows.top_k_of_each([], Fraction(1), tk.noise.Laplace(), 3, sign=1, ordered=True).shape == (0, 3)


def test_long_vectors_are_raced_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LONGEST", 40)
    monkeypatch.setattr(rows.short, "MOST", 40)
    vectors = [np.arange(50) % 7, np.arange(30) % 5, np.arange(50) % 3]
    streams = Streams(2)
    found = rows.top_k_of_each(vectors, Fraction(2), tk.noise.Gumbel(), 4, sign=1, ordered=True, entropy=streams)
    for at, vector, row in zip((0, 50, 80), vectors, found.tolist(), strict=True):
        assert row == best("Gumbel", vector.tolist(), Fraction(2), streams.digits_from(at), 4, 1)


@pytest.mark.further
def test_vectors_of_a_thousand_scores_are_raced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(rows.race, "top_k")
    scores, streams = np.random.default_rng(5).integers(0, 90, 1000), Streams(3)
    found = rows.repeat_top_k(scores, Fraction(9), tk.noise.Exponential(), 7, 3, sign=-1, ordered=True, entropy=streams)
    for t, row in enumerate(found.tolist()):
        expected = best("Exponential", scores.tolist(), Fraction(9), streams.digits_from(1000 * t), 7, -1)
        assert row == expected


# Which runs of racers are undecided, against the definition, for many runs at once.


def _parts(lower: list[float], upper: list[float], offset: int) -> list[tuple[int, int]]:
    """The runs between cuts; a cut is where everything before is certainly above everything after."""
    n = len(lower)
    cuts = [0, *(p for p in range(1, n) if min(lower[:p]) > max(upper[p:])), n]
    return [(offset + a, offset + b) for a, b in pairwise(cuts)]


def _bounds(rng: random.Random, n: int) -> tuple[list[float], list[float]]:
    lower = sorted((float(rng.choice((rng.randrange(12), -math.inf))) for _ in range(n)), reverse=True)
    return lower, [low + rng.choice((0, 1, 1, 2, 7, math.inf)) if low > -math.inf else rng.random() for low in lower]


def _pairs(runs: PlaceRuns) -> list[tuple[int, int]]:
    return list(zip(runs.starts.tolist(), runs.ends.tolist(), strict=True))


@pytest.mark.further
@pytest.mark.quick(ordered=True)
@pytest.mark.parametrize("ordered", [True, False])
def test_runs_are_cut_where_everything_is_decided(ordered: bool) -> None:
    rng, seen = random.Random(8), set()
    for _ in range(2000):
        starts, ends, bounds, expected, parents = [], [], [], [], []
        place = rng.randrange(3)
        for number in range(rng.randrange(1, 5)):
            n = rng.randrange(1, 8)
            bounds.append(_bounds(rng, n))
            found = _parts(*bounds[-1], place)
            expected += found
            parents += [number] * len(found)
            starts.append(place)
            ends.append(place + n)
            place += n + rng.randrange(3)
        runs = PlaceRuns(np.array(starts), np.array(ends))
        assert runs.run_places.tolist() == [p for start, end in _pairs(runs) for p in range(start, end)]
        lower, upper = (np.array([x for one in bounds for x in one[side]]) for side in (0, 1))
        parts, parent = divide_runs(runs, lower, upper)
        assert _pairs(divide_all_places(*map(np.array, bounds[0]))) == _parts(*bounds[0], 0)
        separate = all(b - a == 1 for a, b in expected)
        assert is_order_decided(np.array(runs.run_numbers), lower, upper) == separate
        seen.add(separate)
        assert _pairs(parts) == expected
        assert parent.tolist() == parents
        k = rng.randrange(1, 12)
        kept = [(a, b) for a, b in expected if b - a > 1 and a < k and (ordered or b > k)]
        assert _pairs(parts[open_parts_mask(parts, k, ordered)]) == kept
    assert seen == {True, False}


@pytest.mark.further
@pytest.mark.parametrize("ordered", [True, False])
def test_a_race_is_over_where_the_best_are_certain(ordered: bool) -> None:
    rng = random.Random(9)
    seen = set()
    for _ in range(3000):
        n = rng.randrange(1, 8)
        lower, upper = _bounds(rng, n)
        k = rng.randrange(1, n + 1)
        cuts = {b for _, b in _parts(lower, upper, 0)}
        expected = cuts >= set(range(1, k + 1)) if ordered else k in cuts
        assert is_selection_decided(np.array(lower[::-1]), np.array(upper[::-1]), k, ordered) == expected
        racers = list(zip(lower, upper, range(n), strict=True))
        rng.shuffle(racers)
        winners = find_decided_winners(racers, k, ordered)
        assert (winners is not None) == expected
        assert winners is None or (winners if ordered else sorted(winners)) == list(range(k))
        seen.add(expected)
    assert seen == {True, False}


def test_bounds_that_touch_decide_nothing() -> None:
    for last, parts in ((2.0, [(0, 2)]), (1.9, [(0, 1), (1, 2)])):
        lower, upper = np.array([2.0, 1.0]), np.array([3.0, last])
        assert _pairs(divide_runs(PlaceRuns(np.zeros(1, dtype=np.int64), np.array([2])), lower, upper)[0]) == parts
        assert _pairs(divide_all_places(lower, upper)) == parts
        assert is_order_decided(np.zeros(2, dtype=np.int64), lower, upper) == (len(parts) == 2)


# Scores of fewer than 64 bits race as the same numbers of 64 bits do: with the same digits, the same winners.


D = 17 * 4096 + 33
SHAPES = {
    "spread": lambda rng, ends: rng.integers(*ends, D, endpoint=True),
    "equal": lambda rng, ends: np.full(D, ends[1]),
    "extremes": lambda rng, ends: np.where(rng.random(D) < 0.001, ends[1], ends[0]),
    "steps": lambda rng, ends: np.arange(D) * 100 // D,
}


def _typed(shape: str, dtype: Any) -> Any:
    kind = np.dtype(dtype).kind
    ends = (-1000, 1000) if kind == "f" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    values = SHAPES[shape](np.random.default_rng(5), ends).astype(dtype)
    return values / dtype(7) if kind == "f" else values


@pytest.mark.further
@pytest.mark.quick(dtype="float32", shape="spread", sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.float16, np.float32])
def test_the_dtype_changes_no_winner(dtype: Any, shape: str, sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = _typed(shape, dtype)
    wide = narrow.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[narrow.dtype.kind])
    domain = tk.VectorDomain(tk.AtomDomain(float if narrow.dtype.kind == "f" else int))
    seen = find_block_maxima(domain, narrow, sign)
    assert seen is not None
    for k, scale in ((1, Fraction(3)), (40, Fraction(1, 7))):
        options: Any = {"sign": sign, "ordered": True}
        with monkeypatch.context() as patch:
            recorder = Recorder(patch, Streams(k))
            found = race.top_k(seen, scale, tk.noise.Gumbel(), k, **options, entropy=recorder.streams)
            assert recorder.branches["forecast"] > 0
            recorder.check("Gumbel", narrow.tolist(), scale, sign, found.tolist(), D)
        again = race.top_k(wide, scale, tk.noise.Gumbel(), k, **options, entropy=Streams(k))
        assert found.tolist() == again.tolist()


# The exact top-k against a plain sort, across chunks.


@pytest.mark.quick(chunk=(1, 7))
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 10**6])
@pytest.mark.parametrize("kind", ["ties", "floats", "int64", "uint64", "object", "signed zeros"])
def test_top_k_is_the_stable_sort(chunk: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noiseless, "_CHUNK", chunk)
    rng = random.Random(f"{chunk} {kind}")
    pick = {
        "ties": lambda: rng.randrange(3),
        "floats": lambda: rng.choice((rng.gauss(0, 1), 0.5, 5e-324, -1e308)),
        "int64": lambda: rng.choice((-(2**63), 2**63 - 1, 2**53 + rng.randrange(3))),
        "uint64": lambda: 2**64 - 1 - rng.randrange(3),
        "object": lambda: 10**30 + rng.randrange(3),
        "signed zeros": lambda: rng.choice((0.0, -0.0)),
    }[kind]
    for _ in range(60):
        scores = [pick() for _ in range(rng.randint(1, 30))]
        for sign in (1, -1):
            order = sorted(range(len(scores)), key=lambda i: (-sign * scores[i], i))
            for k in {1, len(scores), rng.randint(1, len(scores))}:
                values = canonical(scores)
                assert noiseless.top_k(values, k, sign=sign, ordered=True).tolist() == order[:k]
                assert noiseless.top_k(values, k, sign=sign, ordered=False).tolist() == sorted(order[:k])


def test_winners_are_int64() -> None:
    assert noiseless.top_k(np.array([1.0, 2.0]), 1, sign=1, ordered=True).dtype == np.int64
