"""The race gives the order of the real sums x / scale + F^{-1}(U), whatever the scores, the scale and the digits.

Tries proofs/samplers/advantages.tex, proofs/samplers/settle.tex and proofs/samplers/short.tex.
"""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import race, settle
from opendp_topk.sampling.samplers.entropy import Entropy, Indices

from ..oracles import noise as oracle
from ..oracles.race import best
from . import adversaries
from .adversaries import Case, canonical
from .paths import AT_ONCE, SCANNED, up_to
from .streams import Streams

every_noise = pytest.mark.parametrize("name", oracle.NAMES)
REPEATS = 100


def _check(name: str, case: Case, k: int, sign: int, ordered: bool, seed: int) -> Streams:
    streams = Streams(seed, case.leading)
    values, noise = canonical(case.scores), getattr(tk, name)()
    expected = best(name, case.scores, case.scale, streams.digits, k, sign)
    for most in (AT_ONCE, SCANNED):
        streams.read.clear()
        with up_to(most):
            winners = race.top_k(values, case.scale, noise, k, sign=sign, ordered=ordered, entropy=streams)
        assert winners.dtype == np.int64
        assert winners.tolist() == (expected if ordered else sorted(expected))
    return streams


def _random(*seed: Any) -> random.Random:
    return random.Random(zlib.crc32(repr(seed).encode()))


@pytest.mark.further
@pytest.mark.quick(
    name="Laplace",
    make=("small_integers", "all_equal", "huge_integers", "subnormals", "ladder", "duplicates_at_the_edge"),
)
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_winners_are_the_sort_of_the_noisy_scores(name: str, make: Callable[[random.Random], Case]) -> None:
    rng = _random(name, make.__name__)
    for seed in range(REPEATS):
        case = make(rng)
        k = rng.randint(1, len(case.scores))
        _check(name, case, k, rng.choice((1, -1)), rng.random() < 0.6, seed)


@pytest.mark.quick(name=("Gumbel", "Laplace"), bits=(20, 47, 64, 81, 130))
@every_noise
@pytest.mark.parametrize("bits", [20, 47, 64, 79, 81, 130, 200, 600])
def test_near_ties_are_decided_by_as_many_digits_as_it_takes(name: str, bits: int) -> None:
    rng = _random(name, bits)
    most = 0
    for seed in range(12):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        k = rng.randint(1, len(case.scores) - 1)
        streams = _check(name, case, k, sign, rng.random() < 0.6, seed)
        most = max(most, *streams.read.values())
    assert most >= bits, "the order of near ties cannot be known from fewer digits"


@every_noise
def test_every_k_order_and_direction(name: str) -> None:
    scores = [3, 1, 4, 1, 5, 9, 2]
    for k in range(1, len(scores) + 1):
        for sign in (1, -1):
            for ordered in (True, False):
                _check(name, Case(scores, Fraction(3)), k, sign, ordered, seed=k)


def test_few_digits_are_drawn_where_few_are_needed() -> None:
    streams = Streams(1)
    race.top_k(np.array([0, 1000, 0]), Fraction(1), tk.Gumbel(), 1, sign=1, ordered=True, entropy=streams)
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

    race.top_k(np.zeros(d), Fraction(1), tk.Exponential(), 10, sign=1, ordered=ordered, entropy=Equal())
    assert len(asked[0]) >= d // 3
    assert asked[0] == sorted(asked[0], key=lambda i: (-(i % 3), i))


def test_a_set_does_not_need_the_order_of_its_members() -> None:
    digits = "01" * 100
    for ordered, most in ((True, 208), (False, 16)):
        streams = Streams(2, {0: digits, 1: digits})
        race.top_k(np.array([99, 99, 0]), Fraction(1), tk.Gumbel(), 2, sign=1, ordered=ordered, entropy=streams)
        assert max(streams.read.values()) >= most
        assert (max(streams.read.values()) > 16) == ordered


@pytest.mark.parametrize("values", [np.array([3, 3]), np.array([3.0, 3.0])], ids=["int", "float"])
def test_digits_that_repeat_for_ever_end_in_an_error(values: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "MOST_LEVELS", 5)
    with pytest.raises(PlatformError, match="repeats itself") as caught:
        race.top_k(values, Fraction(1), tk.Exponential(), 1, sign=1, ordered=True, entropy=Streams(3, twins={1: 0}))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.slow
def test_repetition_is_noticed_at_the_default_precision() -> None:
    streams = Streams(3, twins={1: 0})
    with pytest.raises(PlatformError, match="repeats itself"):
        race.top_k(np.zeros(2), Fraction(1), tk.Exponential(), 1, sign=1, ordered=True, entropy=streams)
    assert max(streams.read.values()) > 10**5


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError()], ids=repr)
@pytest.mark.parametrize("d", [3, 3 * 4096])
def test_nothing_is_released_where_the_system_has_no_randomness(
    failure: Exception, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(PlatformError, match="nothing was released") as caught:
        race.top_k(np.arange(d), Fraction(1), tk.Gumbel(), 1, sign=1, ordered=True)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@every_noise
def test_integers_with_more_digits_than_any_precision(name: str) -> None:
    base = 2**600_000
    for seed in range(10):
        _check(name, Case([base, base + 1, base, base + 3], Fraction(2)), 3, 1, True, seed)
