"""The law of what is found among counts by key, against the definition."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from opendp_topk import Exponential, Gumbel
from opendp_topk.distributions.unlisted import law
from opendp_topk.errors import CapacityError
from opendp_topk.samplers.unlisted import Search
from tests.concepts.sentinels import raises_exactly
from tests.oracles import unlisted


@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_the_law_merges_rankings_up_to_the_first_slot_that_is_no_key(noise: unlisted.Any) -> None:
    for k, limit in ((1, 1), (1, 3), (2, 2), (3, 3)):
        setting = unlisted.Setting(noise.name, k, limit, 2.0, 3.0)
        for h in itertools.product(range(3), repeat=3):
            counts = {i: n for i, n in enumerate(h) if n}
            found = law(counts, Search(limit, Fraction(3), Fraction(2), noise, k))
            for (keys, _), mass in unlisted.law(setting, h).items():
                assert abs(float(found.pop(keys)) - mass) < 1e-11
            assert not found


def test_without_noise_it_is_certain() -> None:
    assert law({"a": 5, "b": 2}, Search(2, Fraction(2), Fraction(0), Gumbel(), 2)) == {("a", "b"): 1}
    assert law({"a": 5, "b": 2}, Search(2, Fraction(3), Fraction(0), Gumbel(), 2)) == {("a",): 1}


def test_too_many_slots() -> None:
    raises_exactly(CapacityError, lambda: law({}, Search(1000, Fraction(1), Fraction(1), Gumbel(), 3)), "too many")
