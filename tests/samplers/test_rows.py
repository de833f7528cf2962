"""Many races at once: each is the sort of its own noisy scores, whatever the scores, the scale and the digits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import rows

from ..oracles import noise as oracle
from ..oracles import one_shot
from ..oracles.chi_square import assert_follows
from ..oracles.race import best
from . import adversaries
from .adversaries import Case, canonical
from .streams import Streams

every_noise = pytest.mark.parametrize("name", oracle.NAMES)


def _check(name: str, case: Case, times: int, k: int, sign: int, ordered: bool, seed: int) -> Streams:
    d = len(case.scores)
    leading = {t * d + i: digits for t in range(0, times, 2) for i, digits in case.leading.items()}
    streams = Streams(seed, leading)
    found = rows.repeat_top_k(
        canonical(case.scores),
        case.scale,
        getattr(tk, name)(),
        k,
        times,
        sign=sign,
        ordered=ordered,
        entropy=streams,
    )
    assert found.shape == (times, k)
    assert found.dtype == np.int64
    for t in range(times):

        def digits(i: int, n: int, t: int = t) -> int:
            return streams.digits(t * d + i, n)

        expected = best(name, case.scores, case.scale, digits, k, sign)
        assert found[t].tolist() == (expected if ordered else sorted(expected))
    return streams


def _served(case: Case) -> bool:
    """Whether float64 numbers serve; otherwise the races are called one by one, which other tests try."""
    from opendp_topk.sampling.samplers import settle as short
    from opendp_topk.sampling.samplers.advantages import ScaledScores

    with np.errstate(all="ignore"):
        return all(
            short.score_distances(ScaledScores(canonical(case.scores), case.scale, sign)) is not None
            for sign in (1, -1)
        )


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
            _check(name, case, rng.randint(1, 7), k, sign, ordered, seed)


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
        most = max(most, *_check(name, case, 3, k, sign, rng.random() < 0.6, seed).read.values())
    assert most >= bits, "the order of near ties cannot be known from fewer digits"


@pytest.mark.parametrize(("scores", "scale"), [([2**70, 2**70 + 1], Fraction(1)), ([1, 2], Fraction(1, 2**901))])
def test_what_floats_cannot_hold_is_raced_one_by_one(scores: list[int], scale: Fraction) -> None:
    options = {"sign": 1, "ordered": False}
    assert rows.repeat_top_k(canonical(scores), scale, tk.Gumbel(), 2, 3, **options).tolist() == [[0, 1]] * 3


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
    found = rows.repeat_top_k(np.array(scores), Fraction(1), getattr(tk, name)(), 2, 200_000, sign=1, ordered=True)
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
        found = rows.top_k_of_each(vectors, cases[0].scale, getattr(tk, name)(), k, **options)
        assert found.shape == (len(cases), k)
        for at, case, row in zip(first, cases, found.tolist(), strict=True):
            expected = best(name, case.scores, cases[0].scale, _of_race(streams, at), k, sign)
            assert row == (expected if options["ordered"] else sorted(expected))


def test_an_array_of_vectors_is_raced_row_by_row_and_none_at_all_too() -> None:
    table = np.random.default_rng(3).integers(0, 4, (50, 6))
    for columns in (slice(None), slice(None, None, 2), slice(1, None, -1)):
        part, options = table[:, columns], {"sign": -1, "ordered": True}
        streams, d = Streams(1), part.shape[1]
        found = rows.top_k_of_each(part, Fraction(1, 2), tk.Laplace(), 1, **options, entropy=streams)
        for t in range(len(part)):
            expected = best("Laplace", part[t].tolist(), Fraction(1, 2), _of_race(streams, t * d), 1, -1)
            assert found[t].tolist() == expected
        assert rows.top_k_of_each(part[:0], Fraction(1), tk.Laplace(), 1, **options).shape == (0, 1)
    assert rows.top_k_of_each([], Fraction(1), tk.Laplace(), 3, sign=1, ordered=True).shape == (0, 3)


def _of_race(streams: Streams, at: int) -> Callable[[int, int], int]:
    return lambda i, n: streams.digits(at + i, n)


def test_long_vectors_are_raced_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LONGEST", 40)
    monkeypatch.setattr(rows.short, "MOST", 40)
    vectors = [np.arange(50) % 7, np.arange(30) % 5, np.arange(50) % 3]
    streams = Streams(2)
    found = rows.top_k_of_each(vectors, Fraction(2), tk.Gumbel(), 4, sign=1, ordered=True, entropy=streams)
    for at, vector, row in zip((0, 50, 80), vectors, found.tolist(), strict=True):
        assert row == best("Gumbel", vector.tolist(), Fraction(2), _of_race(streams, at), 4, 1)


@pytest.mark.further
def test_vectors_of_a_thousand_scores_are_raced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(rows.race, "top_k")
    scores, streams = np.random.default_rng(5).integers(0, 90, 1000), Streams(3)
    found = rows.repeat_top_k(scores, Fraction(9), tk.Exponential(), 7, 3, sign=-1, ordered=True, entropy=streams)
    for t, row in enumerate(found.tolist()):
        expected = best("Exponential", scores.tolist(), Fraction(9), _of_race(streams, 1000 * t), 7, -1)
        assert row == expected
