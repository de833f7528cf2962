"""Many rankings with gaps at once: each is that of its own noisy scores, whatever the scores and the digits."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import gap_rows, gaps
from opendp_topk.sampling.samplers.advantages import ScaledScores

from ..oracles import noise as oracle
from ..oracles.chi_square import assert_follows
from ..oracles.gaps import ranking_and_gaps
from . import adversaries
from .adversaries import Case, canonical
from .streams import Streams

every_noise = pytest.mark.parametrize("name", oracle.NAMES)


def _draw(name: str, case: Case, k: int, times: int, sign: int, streams: Streams) -> tuple[np.ndarray, np.ndarray]:
    noise = getattr(tk, name)()
    return gap_rows.top_k_with_gaps(canonical(case.scores), case.scale, noise, k, times, sign=sign, entropy=streams)


def _check(name: str, case: Case, k: int, times: int, sign: int, seed: int) -> Streams:
    """Every other race begins with the digits of the case."""
    d = len(case.scores)
    streams = Streams(seed, {t * d + i: own for t in range(0, times, 2) for i, own in case.leading.items()})
    winners, found = _draw(name, case, k, times, sign, streams)
    assert (winners.shape, winners.dtype, found.shape, found.dtype) == ((times, k), np.int64, (times, k), np.float64)
    assert not np.signbit(found).any()
    for t in range(times):
        expected, judges = ranking_and_gaps(name, case.scores, case.scale, _of_race(streams, t * d), k, sign)
        assert winners[t].tolist() == expected
        for gap, is_nearest in zip(found[t].tolist(), judges, strict=True):
            assert is_nearest(gap)
            assert gap == 0 or not is_nearest(math.nextafter(gap, 0))
    return streams


def _of_race(streams: Streams, at: int) -> Callable[[int, int], int]:
    return lambda i, n: streams.digits(at + i, n)


@pytest.mark.further
@pytest.mark.quick(name="Laplace", make=("small_integers", "huge_integers", "subnormals", "ladder"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_each_race_has_the_gaps_of_its_noisy_scores(
    name: str, make: Callable[[random.Random], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gap_rows, "_TOGETHER", 20)
    rng, checked = random.Random(f"{name} {make.__name__}"), 0
    while checked < 10:
        case = make(rng)
        if len(case.scores) > 1:
            _check(name, case, rng.randint(1, len(case.scores) - 1), rng.randint(1, 7), rng.choice((1, -1)), checked)
            checked += 1


@pytest.mark.quick(name=("Gumbel", "Laplace"), bits=(47, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200])
def test_near_ties_have_tiny_gaps(name: str, bits: int) -> None:
    rng, most = random.Random(f"{name} {bits}"), 0
    for seed in range(4):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        streams = _check(name, case, rng.randint(1, len(case.scores) - 1), 3, sign, seed)
        most = max(most, *streams.read.values())
    assert most >= bits


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([2**54 + 2, 0, -5], Fraction(1, 3)),
        ([2**63 - 1, -(2**63), 0, 2**53 + 1], Fraction(2**62 + 1)),
        ([2**64 - 1, 0, 2**63], Fraction(2**60, 3)),
        ([1e300, -1e300, 1.0], Fraction(10) ** 80),
        ([0.1, 0.7, 1e-300, 5e-324], Fraction(0.1)),
        ([1.5, 1.25], Fraction(2) ** 299 / 7),
        ([1.5, 1.25], 3 / Fraction(2) ** 299),
        ([1.5, 1.25], 1 / Fraction(2) ** 301),
        ([1.7e308, 0.0, -1.7e308], Fraction(1)),
        ([10**40, 10**40 - 1, 3], Fraction(2)),
    ],
    ids=str,
)
def test_scores_and_scales_at_the_ends(scores: list[Any], scale: Fraction, sign: int) -> None:
    for name in ("Exponential", "Logistic"):
        for k in range(1, len(scores)):
            _check(name, Case(scores, scale), k, 4, sign, k)


@every_noise
def test_noise_far_out_is_decided_by_further_digits(name: str) -> None:
    for digits in ("1" * 79, "0" * 79, "1" * 45 + "0" * 35, "0" * 39 + "1" * 41, "1" * 200, "0" * 200):
        _check(name, Case([3, 1, 2], Fraction(2), {0: digits}), 2, 3, 1, 5)


@every_noise
def test_the_noise_of_all_that_begin_so_is_within_its_room(name: str) -> None:
    rng = random.Random(name)
    begun = [rng.getrandbits(80) >> rng.randrange(39) | 1 << 41 for _ in range(300)]
    begun += [2**80 - 1 - n for n in begun]
    races = gap_rows._Races(ScaledScores(np.arange(3), Fraction(1), 1), getattr(tk, name)(), 1, Streams())
    prefix = np.array([n >> 64 for n in begun], dtype=np.uint16)
    words = np.array([n % 2**64 for n in begun], dtype=np.uint64)
    (high, low), room = races._noise_with_error(prefix, words)
    assert np.isfinite(room).all()
    with mpmath.workprec(300):
        for n, a, b, most in zip(begun, high.tolist(), low.tolist(), room.tolist(), strict=True):
            for end in (n, n + 1):
                assert abs(mpmath.mpf(a) + b - oracle.QUANTILE[name](Fraction(end, 2**80))) <= most


@pytest.mark.further
def test_most_gaps_are_certain_from_eighty_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few races settled one by one, a batch is quick: of 20,000 races with four gaps each."""
    alone, released = [0], gaps.indices_and_gaps

    def counted(*arguments: Any) -> Any:
        alone[0] += 1
        return released(*arguments)

    monkeypatch.setattr(gaps, "indices_and_gaps", counted)
    for name in oracle.NAMES:
        alone[0] = 0
        streams = Entropies(7)
        gap_rows.top_k_with_gaps(np.arange(8.0), Fraction(3), getattr(tk, name)(), 4, 20_000, sign=1, entropy=streams)
        assert alone[0] < 200


class Entropies(Streams):
    """Reproducible digits in arrays, where nobody reads on."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._drawn = np.random.default_rng(seed)

    def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
        return self._drawn.integers(0, 2**16, len(index), dtype=np.uint16)

    def draw_words(self, index: np.ndarray) -> np.ndarray:
        return self._drawn.integers(0, 2**64, len(index), dtype=np.uint64)


def test_a_source_that_repeats_itself_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "MOST_LEVELS", 5)
    with pytest.raises(PlatformError, match="repeats itself"):
        _draw("Exponential", Case([2**54 + 2, 0], Fraction(1)), 1, 2, 1, Streams(3, twins={1: 0}))


@pytest.mark.further
@pytest.mark.quick(name="Exponential")
@pytest.mark.parametrize("name", ["Exponential", "Gumbel"])
def test_gaps_of_equal_scores_follow_their_law_and_do_not_depend_on_each_other(name: str) -> None:
    """Of d equal scores with exponential noise the t-th gap is exponential of the rate t; two with Gumbel: logistic."""
    d, k, n = (4, 2, 200_000) if name == "Exponential" else (2, 1, 200_000)
    winners, found = gap_rows.top_k_with_gaps(
        np.zeros(d, dtype=np.int64), Fraction(5), getattr(tk, name)(), k, n, sign=1
    )
    assert_follows(Counter(winners[:, 0].tolist()), dict.fromkeys(range(d), 1 / d), detects=0.06)
    tails: list[Callable[[float], float]] = [lambda z: math.exp(-z), lambda z: math.exp(-2 * z)]
    if name == "Gumbel":
        tails = [lambda z: 2 / (1 + math.exp(z))]
    cells = [np.searchsorted(_EDGES, found[:, t] / 5.0) for t in range(k)]
    laws = [_cells(tail) for tail in tails]
    for t in range(k):
        assert_follows(Counter(cells[t].tolist()), laws[t], detects=0.2)
        joint = Counter(zip(cells[t][::2].tolist(), cells[t][1::2].tolist(), strict=True))
        assert_follows(joint, {(a, b): p * q for a, p in laws[t].items() for b, q in laws[t].items()}, detects=0.5)


_EDGES = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0])


def _cells(tail: Callable[[float], float]) -> dict[int, float]:
    reached = [1.0, *(tail(edge) for edge in _EDGES.tolist()), 0.0]
    return {cell: reached[cell] - reached[cell + 1] for cell in range(len(reached) - 1)}
