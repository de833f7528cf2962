"""Fresh digits: as many as asked for, never empty-handed, uniform."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from opendp_topk.samplers.entropy import SYSTEM, Entropy

from ..oracles.chi_square import assert_follows


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_as_many_digits_as_asked_for(n: int) -> None:
    index = np.arange(n)
    assert SYSTEM.prefixes(index).shape == SYSTEM.words(index).shape == SYSTEM.auxiliary(n).shape == (n,)
    assert SYSTEM.prefixes(index).dtype == np.uint16
    assert SYSTEM.words(index).dtype == SYSTEM.auxiliary(n).dtype == np.uint64


def test_digits_are_those_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return bytes(range(n))

    monkeypatch.setattr(os, "urandom", urandom)
    entropy, index = Entropy(), np.arange(2)
    assert entropy.prefixes(index).tobytes() == bytes(range(4))
    assert entropy.words(index).tobytes() == entropy.auxiliary(2).tobytes() == bytes(range(16))
    assert asked == [4, 16, 16]


def test_every_digit_is_fair_and_fresh() -> None:
    words = SYSTEM.words(np.arange(4000))
    assert len(set(words.tolist())) == len(words)
    for shift in range(64):
        bits = Counter(((words >> np.uint64(shift)) & np.uint64(1)).tolist())
        assert_follows(bits, {0: 0.5, 1: 0.5}, detects=0.21)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prefixes", "words", "auxiliary"])
def test_a_large_request_holds_no_digits_twice(kind: str) -> None:
    """4 MiB at once, and again: no 64 digits occur twice but with a probability of 2^-26."""
    per_word = 4 if kind == "prefixes" else 1
    drawn = []
    for _ in range(2):
        n = per_word * 2**19
        digits = SYSTEM.auxiliary(n) if kind == "auxiliary" else getattr(SYSTEM, kind)(np.arange(n))
        drawn.append(np.frombuffer(digits.tobytes(), dtype=np.uint64))
    assert len(np.unique(np.concatenate(drawn))) == 2 * 2**19
