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
