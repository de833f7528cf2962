"""Slots of counts by key, by sorting; the release up to the stop symbol."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk import Exponential, Gumbel
from opendp_topk.sampling.samplers.unlisted import Search, build_slots, repeat_top_k, top_k
from tests.oracles import unlisted
from tests.oracles.chi_square import assert_follows


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
