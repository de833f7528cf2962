"""Slots of counts by key, by sorting; the release up to the stop symbol."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import PlatformError
from opendp_topk.sampling.noises import Exponential, Gumbel
from opendp_topk.sampling.samplers import unlisted as dummies
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.unlisted import Search, build_slots, repeat_top_k, top_k
from tests.concepts.sentinels import raises_exactly
from tests.oracles import unlisted
from tests.oracles.chi_square import assert_follows

from .words import Words


def expected(counts: dict[Any, int], limit: int) -> tuple[list[Any], list[int]]:
    ranked = sorted(counts, key=lambda key: (-counts[key], key))
    base = counts[ranked[limit]] if len(ranked) > limit else 0
    scores = [counts[key] - base for key in ranked[:limit]]
    return ranked[:limit], scores + [0] * (limit - len(scores))


@pytest.mark.parametrize("threshold", [Fraction(0), Fraction(5, 2), Fraction(1, 3), Fraction(10) ** 400])
@pytest.mark.parametrize("largest", [1, 3, 2**60])
def test_slots_are_the_best_keys_in_the_public_order(largest: int, threshold: Fraction) -> None:
    rng = random.Random(5)
    for size in (0, 1, 3, 40):
        for _ in range(5):
            counts = {f"{rng.random()}": rng.randint(1, largest) for _ in range(size)}
            for limit in (1, 2, 3, 39, 40, 50):
                slots = build_slots(counts, limit, threshold)
                keys, scores = expected(counts, limit)
                assert list(slots.keys) == keys
                exact = [Fraction(value) / slots.unit for value in slots.values.tolist()]
                assert exact == [*scores, threshold]


def test_the_order_in_which_a_mapping_lists_its_keys_does_not_matter() -> None:
    keys = [3, -1, 12, 7, 5]
    for order in (keys, keys[::-1], sorted(keys)):
        assert build_slots(dict.fromkeys(order, 4), 3, Fraction(1)).keys == (-1, 3, 5)


def test_names_end_at_the_first_slot_that_is_no_key() -> None:
    slots = build_slots({"a": 2, "b": 1}, 4, Fraction(1))
    assert slots.released_keys([1, 0]) == ("b", "a")
    assert slots.released_keys([0, 2, 1]) == ("a",)
    assert slots.released_keys([4, 0]) == ()


def test_far_scores_are_certain() -> None:
    counts = {"a": 10**9, "b": 10**8, "c": 1}
    assert top_k(counts, Search(2, Fraction(1000), Fraction(2), Gumbel(), 2)) == ("a", "b")
    assert top_k(counts, Search(3, Fraction(10**5, 3), Fraction(2), Gumbel(), 3)) == ("a", "b")


@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=lambda noise: noise.name)
def test_repeated_releases_follow_the_law(noise: Any) -> None:
    setting = unlisted.Setting(noise.name, 2, 3, 2.0, 3.0)
    found = repeat_top_k({0: 3, 1: 3}, Search(3, Fraction(3), Fraction(2), noise, 2), 4000)
    law = unlisted.law(setting, (3, 3))
    assert_follows(Counter((keys, len(keys) < 2) for keys in found), law, detects=0.3)


def test_repeated_releases_without_noise_and_among_many_dummies() -> None:
    assert repeat_top_k({"a": 5, "b": 4}, Search(2, Fraction(1), Fraction(0), Gumbel(), 2), 3) == [("a", "b")] * 3
    assert repeat_top_k({"a": 10**6}, Search(900, Fraction(1000), Fraction(2), Gumbel(), 2), 3) == [("a",)] * 3


# The best of many equal candidates, by all ways in which their digits may fall; releases with it, by the exact law.


@pytest.mark.further
@pytest.mark.parametrize("n", [1, 2, 3, 65])
def test_the_first_digits_of_the_largest_and_their_number(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr(dummies, "DIGITS", 2)
    law: dict[Any, float] = {}
    for value in range(4):
        for count in range(1, n + 1):
            chance = math.comb(n, count) * 0.25**count * (value / 4) ** (n - count)
            if chance > 0:
                law[value, count] = chance
    drawn = Counter(dummies.draw_best_prefix(n, 0, SYSTEM) for _ in range(6000))
    assert_follows(drawn, law, detects=0.7)


def test_digits_that_are_too_many_are_left_aside() -> None:
    ones = 2**64 - 1
    assert dummies.draw_best_prefix(64, 0, Words(script=[ones] * 16)) == (2**16 - 1, 64)
    assert dummies.draw_best_prefix(70, 0, Words(script=[ones, 0] + [0] * 15)) == (0b1000000000000000, 6)
    assert dummies.draw_best_prefix(2, 0, Words(script=[2**62] + [0] * 15))[1] == 1


def test_a_source_that_repeats_itself_is_refused() -> None:
    ones = 2**64 - 1
    source = [ones] * (64 * 16)
    raises_exactly(
        PlatformError, lambda: dummies.draw_best_prefix(4096, 0, Words(script=source)), "returned repeated values"
    )
    raises_exactly(
        PlatformError, lambda: dummies.draw_best_prefix(4000, 96, Words(script=source)), "returned repeated values"
    )
    assert dummies.draw_best_prefix(4000, 95, Words(script=source)) == (2**16 - 1, 4000)


def test_led_digits_are_those_of_the_places_alone() -> None:
    led = dummies.FixedPrefixEntropy(SYSTEM, range(2, 4), 77)
    index = np.array([0, 3, 2, 4] * 50)
    found = led.draw_prefixes(index)
    assert set(found[(index == 2) | (index == 3)].tolist()) == {77}
    assert len(set(found[(index == 0) | (index == 4)].tolist())) > 50
    assert len(set(led.draw_words(index).tolist())) > 150
    assert led.draw_auxiliary_words(3).shape == (3,)


def chance_of_the_key(noise: str, lead: float, dummies_: int, stop: float) -> float:
    """P(the key beats all): its score is ``lead`` scales above those of the dummies, and the stop symbol's ``stop``."""
    if noise == "Gumbel":
        return math.exp(lead) / (math.exp(lead) + dummies_ + math.exp(stop))
    u = (np.arange(10**6) + 0.5) / 10**6  # e^-Z of the key
    below = [np.clip(1 - u * math.exp(-gap), 0, 1) for gap in (lead, lead - stop)]
    return float((below[0] ** dummies_ * below[1]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
@pytest.mark.parametrize("limit", [600, 5000])
def test_releases_among_many_dummies_follow_the_law(noise: Any, limit: int) -> None:
    lead = round(2 * math.log(limit)) / 2
    expected = chance_of_the_key(noise.name, lead, limit - 1, lead - 1)
    search = dummies.Search(limit, Fraction(round(2 * lead) - 2), Fraction(2), noise, 3)
    drawn = Counter(dummies.top_k({"a": round(2 * lead)}, search) for _ in range(3000))
    assert 0.1 < expected < 0.9
    assert_follows(drawn, {("a",): expected, (): 1 - expected}, detects=0.4)


@pytest.mark.parametrize("k", [1, 2, 2000])
def test_with_dummies_left_out_the_names_are_the_same(k: int) -> None:
    counts = dict(zip("abc", (10**9, 10**8, 10**7), strict=True))
    for limit, threshold in itertools.product((2000, 100_000), (1000, Fraction(10**9, 3))):
        found = dummies.top_k(counts, dummies.Search(limit, Fraction(threshold), Fraction(2), Gumbel(), k))
        assert found == tuple("abc"[: 3 if threshold == 1000 else 1][:k])


@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_a_key_that_a_million_dummies_hide_is_not_found(noise: Any) -> None:
    """Its odds are e^4 to 10^6; with one dummy they would be 50 to 1."""
    search = dummies.Search(10**6, Fraction(1), Fraction(2), noise, 1)
    found = [dummies.top_k({"a": 8}, search) for _ in range(8)]
    assert found == [()] * 8
