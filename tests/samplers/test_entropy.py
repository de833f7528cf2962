"""Fresh digits: as many as asked for, never empty-handed, uniform."""

import os
from collections.abc import Callable

import numpy as np
import pytest

from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import entropy as module
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy

FAIR = os.urandom


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_as_many_digits_as_asked_for(n: int) -> None:
    index = np.arange(n)
    shapes = {read(index).shape for read in (SYSTEM.draw_prefixes, SYSTEM.draw_words)}
    assert shapes == {SYSTEM.draw_auxiliary_words(n).shape} == {(n,)}
    assert SYSTEM.draw_prefixes(index).dtype == np.uint16
    assert SYSTEM.draw_words(index).dtype == SYSTEM.draw_auxiliary_words(n).dtype == np.uint64


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> module._RepetitionDetector:
    """A watch that has seen nothing."""
    made = module._RepetitionDetector()
    monkeypatch.setattr(module, "_WATCH", made)
    return made


def spare(bits: int) -> bytes:
    return bits.to_bytes(48, "little")


def fair(n: int) -> list[bytes]:
    return [FAIR(48) for _ in range(n)]


@pytest.mark.usefixtures("watch")
def test_digits_are_those_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return bytes(range(n - 48)) + fair(1)[0]

    monkeypatch.setattr(os, "urandom", urandom)
    entropy, index = Entropy(), np.arange(2)
    assert entropy.draw_prefixes(index).tobytes() == bytes(range(4))
    assert entropy.draw_words(index).tobytes() == entropy.draw_auxiliary_words(2).tobytes() == bytes(range(16))
    assert asked == [4 + 48, 16 + 48, 16 + 48]


def test_a_fair_source_passes_many_windows(watch: module._RepetitionDetector) -> None:
    assert not any(map(watch.is_repeating, fair(2000)))


@pytest.mark.parametrize("period", [*range(1, 33)])
def test_a_period_within_a_read_is_noticed_at_once(watch: module._RepetitionDetector, period: int) -> None:
    assert watch.is_repeating((os.urandom(period) * 48)[:48])


def test_a_mark_that_recurs_one_place_on_is_noticed(watch: module._RepetitionDetector) -> None:
    assert watch.is_repeating(b"\0" * 17 + bytes(range(1, 32)))
    assert not watch.is_repeating(b"\0" * 16 + bytes(range(1, 33)))


def test_a_longer_period_within_one_read_is_not(watch: module._RepetitionDetector) -> None:
    assert not watch.is_repeating((os.urandom(33) * 2)[:48])


@pytest.mark.parametrize("round_", [1, 2, 3, 100, 192, 193, 700])
@pytest.mark.parametrize("before", [0, 1, 500])
def test_a_source_that_repeats_is_noticed_in_time(watch: module._RepetitionDetector, round_: int, before: int) -> None:
    """After ``before`` fair reads the same ones come again and again: mu is before + 1 and lambda is round_."""
    assert not any(map(watch.is_repeating, fair(before)))
    again = fair(round_)
    bound = 3 * (before + 1 + round_)
    if round_ <= 192:
        bound = min(bound, before + 1 + 383)
    found = next(i for i in range(10**4) if watch.is_repeating(again[i % round_]))
    assert round_ <= found < bound - before


@pytest.mark.parametrize("place", [0, 200, 383])
@pytest.mark.parametrize("digit", [0, 1])
def test_a_constant_digit_is_noticed_in_two_windows(watch: module._RepetitionDetector, place: int, digit: int) -> None:
    assert not any(map(watch.is_repeating, fair(50)))
    mask = 1 << place
    stuck = (spare(int.from_bytes(one, "little") & ~mask | mask * digit) for one in fair(384))
    assert any(map(watch.is_repeating, stuck))


def test_what_a_handler_reads_between_is_not_counted_twice(watch: module._RepetitionDetector) -> None:
    """The tuple is replaced as a whole: a window has seen as many reads as it counts."""
    before = watch._kept
    assert not watch.is_repeating(fair(1)[0])
    inner = watch._kept
    watch._kept = before
    assert not watch.is_repeating(fair(1)[0])
    assert watch._kept[2] == inner[2] == 1


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("drawn", [lambda n: b"", lambda n: bytes(n - 1), lambda n: bytes(n + 1)])
def test_a_short_or_a_long_answer_is_a_failure(drawn: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", drawn)
    for ask in (SYSTEM.draw_prefixes, SYSTEM.draw_words):
        with pytest.raises(PlatformError, match="failed"):
            ask(np.arange(3))
    with pytest.raises(PlatformError, match="failed"):
        SYSTEM.draw_auxiliary_words(0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["draw_prefixes", "draw_words", "draw_auxiliary_words"])
def test_a_large_request_holds_no_digits_twice(kind: str) -> None:
    """4 MiB at once, and again: no 64 digits occur twice but with a probability of 2^-26."""
    per_word = 4 if kind == "draw_prefixes" else 1
    drawn = []
    for _ in range(2):
        n = per_word * 2**19
        digits = (
            SYSTEM.draw_auxiliary_words(n) if kind == "draw_auxiliary_words" else getattr(SYSTEM, kind)(np.arange(n))
        )
        drawn.append(np.frombuffer(digits.tobytes(), dtype=np.uint64))
    assert len(np.unique(np.concatenate(drawn))) == 2 * 2**19
