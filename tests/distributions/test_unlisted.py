"""The law of what is found among counts by key against its definition, and how likely it is right by simulation."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import CapacityError
from opendp_topk.sampling.distributions.unlisted import output_distribution
from opendp_topk.sampling.noises import Exponential, Gumbel
from opendp_topk.sampling.samplers.unlisted import Search
from tests.concepts.sentinels import raises_exactly
from tests.oracles import success as events
from tests.oracles import unlisted


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_the_law_merges_rankings_up_to_the_first_slot_that_is_no_key(noise: unlisted.Any) -> None:
    for k, limit in ((1, 1), (1, 3), (2, 2), (3, 3)):
        setting = unlisted.Setting(noise.name, k, limit, 2.0, 3.0)
        for h in itertools.product(range(3), repeat=3):
            counts = {i: n for i, n in enumerate(h) if n}
            found = output_distribution(counts, Search(limit, Fraction(3), Fraction(2), noise, k))
            for (keys, _), mass in unlisted.law(setting, h).items():
                assert abs(float(found.pop(keys)) - mass) < 1e-11
            assert not found


def test_without_noise_it_is_certain() -> None:
    assert output_distribution({"a": 5, "b": 2}, Search(2, Fraction(2), Fraction(0), Gumbel(), 2)) == {("a", "b"): 1}
    assert output_distribution({"a": 5, "b": 2}, Search(2, Fraction(3), Fraction(0), Gumbel(), 2)) == {("a",): 1}


def test_too_many_slots() -> None:
    raises_exactly(
        CapacityError, lambda: output_distribution({}, Search(1000, Fraction(1), Fraction(1), Gumbel(), 3)), "too many"
    )


SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()


def found(noise: Any, k: int, limit: int, scale: float, threshold: float) -> Any:
    """The measurement whose successes are asked for."""
    return SPACE >> tk.then_unknown_domain_top_k(
        tk.Approximate(tk.MaxDivergence()), k=k, scale=scale, limit=limit, threshold=threshold, noise=noise
    )


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_success_is_that_of_the_law_by_its_definition(noise: Any) -> None:
    """Counts of four keys, with ties across the limit, and stop symbols that lead keys which must win."""
    for k, limit, threshold in ((1, 3, 1.0), (2, 2, 1.0), (2, 3, 4.0)):
        setting = unlisted.Setting(noise.name, k, limit, 2.0, threshold)
        measurement = found(noise, k, limit, 2, threshold)
        for h in itertools.combinations_with_replacement((3, 1, 0), 4):
            counts = {i: n for i, n in enumerate(h) if n}
            for event, sure, reach in (("exact", k, k), ("great", 1, k), ("good", 1, 3 * k // 2)):
                if len(counts) < k or (event[0] == "g" and k == 1):
                    continue
                law_of_h = unlisted.law(setting, h).items()
                right = sum(p for (keys, stops), p in law_of_h if not stops and events.holds(h, keys, sure, reach))  # type: ignore[misc, has-type]
                low, high = measurement.success_probability(counts, event)
                assert low - 1e-11 <= right <= high + 1e-11, (h, k, limit, event)
                assert high - low < 1e-9


@pytest.mark.further
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_success_by_simulation(noise: Any) -> None:
    """40,000 noisy counts of 300 keys, 20 winners: off by more than 6 deviations less than once in 10^8 runs."""
    draws, k, limit, scale, threshold = 40_000, 20, 60, 9.0, 45.0
    counts = np.sort(4000 // np.arange(4, 304))[::-1] + 20
    draw = np.random.default_rng(11)
    base = counts[limit]
    scores = np.append(counts[:limit] - base, threshold) / scale
    noises = (
        draw.gumbel(size=(draws, limit + 1)) if noise.name == "Gumbel" else draw.exponential(size=(draws, limit + 1))
    )
    best = np.argpartition(-(scores + noises), k, axis=1)[:, :k]
    released = (best < limit).all(axis=1)
    measurement = found(noise, k, limit, scale, threshold)
    for event, sure, reach in (("exact", 20, 20), ("great", 2, 22), ("good", 1, 30)):
        least, cut = counts[sure - 1], counts[reach - 1]
        values = np.where(best < limit, counts[best.clip(0, limit - 1)], 0)
        has_best = (values >= least).sum(axis=1) >= sure
        has_all_above = (values > least).sum(axis=1) == (counts > least).sum()
        room = reach - (counts > cut).sum()
        right = (
            released & has_best & has_all_above & (values >= cut).all(axis=1) & ((values == cut).sum(axis=1) <= room)
        )
        low, high = measurement.success_probability({f"{i:03}": int(n) for i, n in enumerate(counts)}, event)
        seen = float(right.mean())
        assert 0.01 < low <= high < 0.9999
        assert high - low < 1e-9
        assert abs(seen - low) < 6 * (low * (1 - low) / draws) ** 0.5, (event, seen, low)


def test_success_of_counts_is_that_of_their_keys() -> None:
    keys = found(Gumbel(), 2, 4, 3.0, 20.0)
    counted = SPACE >> tk.then_unknown_domain_counts(
        tk.Approximate(tk.MaxDivergence()), k=2, scale=3.0, limit=4, threshold=20.0
    )
    table = {"a": 40, "b": 31, "c": 29, "d": 2, "e": 1}
    assert counted.success_probability(table) == keys.success_probability(table)
    large = 2**62
    far = found(Gumbel(), 2, 4, 3.0, 20.0).success_probability({"a": large, "b": large, "c": large - 200, "d": 5})
    assert far.lower > 1 - 1e-9


def test_success_without_noise_and_of_too_few_keys() -> None:
    table = {"a": 5, "b": 5, "c": 2}
    assert found(Gumbel(), 2, 3, 0, 5.0).success_probability(table) == (1.0, 1.0)
    assert found(Gumbel(), 2, 3, 0, 5.5).success_probability(table) == (0.0, 0.0)
    raises_exactly(tk.errors.DataError, lambda: found(Gumbel(), 3, 3, 1, 1.0).success_probability({"a": 5}), "3")


def test_success_among_many_dummies() -> None:
    """A hundred thousand dummies, and one key that must lead all of them, by Gumbel noise."""
    low, high = found(Gumbel(), 1, 10**5 + 1, 1.0, 14.0).success_probability({"a": 15})
    exact = 1 / (1 + (10**5 + np.exp(14.0)) * np.exp(-15.0))
    assert low <= exact <= high
    assert high - low < 1e-8
