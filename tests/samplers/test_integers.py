"""Discrete Laplace and discrete Gaussian noise against their mass functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import integers
from opendp_topk.sampling.samplers.integers import discrete_gaussian, discrete_laplace

from ..oracles.chi_square import assert_follows, enough
from ..oracles.discrete import counted, masses, pooled
from ..oracles.noise import number
from .words import Words

SAMPLERS = {"laplace": discrete_laplace, "gaussian": discrete_gaussian}
SCALES = [Fraction(1, 3), Fraction(0.7), Fraction(1), Fraction(12, 5), Fraction(17), Fraction(60, 7)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_follows_its_mass_function(name: str, scale: Fraction) -> None:
    found = SAMPLERS[name](scale, 30_000)
    assert found.dtype == np.int64
    most = int(6 * scale) + 4
    assert_follows(counted(found.tolist(), -most, most), pooled(masses(name, scale), -most, most), detects=0.55)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
@pytest.mark.parametrize("name", SAMPLERS)
def test_much_noise_follows_its_mass_function(name: str, scale: Fraction) -> None:
    """In the millions, of which an error of 3 % is seen."""
    most = int(6 * scale) + 4
    law = pooled(masses(name, scale), -most, most)
    values, times = np.unique(SAMPLERS[name](scale, enough(max(law.values()), 0.03)), return_counts=True)
    counts: Counter[Hashable] = Counter()
    for outcome, often in zip(values.tolist(), times.tolist(), strict=True):
        counts.update(dict.fromkeys(counted([outcome], -most, most), often))
    assert_follows(counts, law, detects=0.03)


@pytest.mark.further
@pytest.mark.quick(name="laplace")
@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_drawn_one_by_one_follows_its_mass_function(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_OFTEN", 2**40)
    found = [int(SAMPLERS[name](Fraction(1), 1)[0]) for _ in range(1500)]
    assert_follows(counted(found, -2, 2), pooled(masses(name, Fraction(1)), -2, 2), detects=0.43)


@pytest.mark.parametrize("name", SAMPLERS)
def test_few_values_are_inverted_too_once_they_were_asked_for_often(name: str) -> None:
    scale = Fraction(29, 31)
    integers._call_counter.cache_clear()
    read = []
    for turn in range(integers._OFTEN + 2):
        words = Words(turn)
        assert SAMPLERS[name](scale, 1, words).dtype == np.int64
        read.append(len(words.read))
    assert min(read[: integers._OFTEN]) >= 2
    assert read[integers._OFTEN :] == [1, 1]


def test_chunks_are_as_many_as_were_asked_for() -> None:
    for n in (1, 2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16 - 5):
        assert len(integers._in_chunks(n, lambda m: np.zeros(m, dtype=np.int64))) == n


@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_drawn_in_chunks_follows_the_same_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_CHUNK", 64)
    assert SAMPLERS[name](Fraction(2), 0).tolist() == []
    found = SAMPLERS[name](Fraction(2), 10_001)
    assert found.shape == (10_001,)
    assert_follows(counted(found.tolist(), -8, 8), pooled(masses(name, Fraction(2)), -8, 8), detects=0.28)
    assert_follows(
        counted(found[-17:].tolist() + found[:9000:9].tolist(), -2, 2),
        pooled(masses(name, Fraction(2)), -2, 2),
        detects=0.93,
    )
    assert integers._FEW < 20
    monkeypatch.setattr(integers, "_CHUNK", 2)
    large = SAMPLERS[name](Fraction(2**64), 20).tolist()
    assert all(type(z) is int for z in large)
    assert len(set(large)) == 20


@pytest.mark.further
@pytest.mark.quick(name="gaussian", scale="100")
@pytest.mark.parametrize(
    ("name", "scale"), [("laplace", Fraction(100)), ("gaussian", Fraction(100)), ("gaussian", Fraction(1023))], ids=str
)
def test_many_values_of_medium_scale_have_a_table_of_their_own(
    name: str, scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In cells of half a scale, for a table of its own and for that of cells."""
    law = masses(name, scale)
    edges = [int(scale * j / 2) for j in range(-6, 7)]
    pooled_law = {j: mpmath.fsum(p for z, p in law.items() if sum(z > e for e in edges) == j) for j in range(14)}
    for many in (1, 2**40):
        monkeypatch.setattr(integers, "_MANY", many)
        found = SAMPLERS[name](scale, 20_000)
        cells = Counter(np.searchsorted(edges, found, side="left").tolist())
        assert_follows(cells, pooled_law, detects=0.2)
        assert len({int(z) % 16 for z in found}) == 16


@pytest.mark.further
@pytest.mark.quick(scale=100000000000000000000, name="laplace")
@pytest.mark.parametrize("scale", [Fraction(1e20), Fraction(10**70, 3)], ids=["1e20", "1e70/3"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_of_large_scale_follows_the_continuous_law(name: str, scale: Fraction) -> None:
    """In cells of half a scale, where the discrete and the continuous law differ by less than 1e-19."""
    found = SAMPLERS[name](scale, 2500).tolist()
    assert all(type(z) is int for z in found)
    assert len({z % 1000 for z in found}) > 800, "the last digits must be noise too"

    def cdf(t: float) -> Any:
        if name == "gaussian":
            return mpmath.ncdf(t)
        return mpmath.exp(t) / 2 if t < 0 else 1 - mpmath.exp(-t) / 2

    edges = [mpmath.mpf(j) / 2 for j in range(-6, 7)]
    ends = [mpmath.mpf(0), *map(cdf, edges), mpmath.mpf(1)]
    law = {j: ends[j + 1] - ends[j] for j in range(len(ends) - 1)}
    cells = Counter(sum(number(Fraction(z) / scale) > edge for edge in edges) for z in found)
    assert_follows(cells, law, detects=0.59)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(1e-9), Fraction(1, 10**200)], ids=["1e-9", "1e-200"])
def test_tiny_scales_leave_zeros(name: str, scale: Fraction) -> None:
    assert SAMPLERS[name](scale, 200).tolist() == [0] * 200


@pytest.mark.parametrize("name", SAMPLERS)
def test_without_scale_nothing_is_drawn(name: str) -> None:
    words = Words()
    assert SAMPLERS[name](Fraction(0), 4, words).tolist() == [0] * 4
    assert words.read == []


@pytest.mark.parametrize("words", [3, 5])
def test_one_value_of_laplace_noise_is_the_difference_of_two_floors(words: int) -> None:
    """With injected digits the noise is floor(b E) - floor(b E') of the two exponentials."""
    scale, n = Fraction(37, 4), integers._FEW
    source = Words(words)
    found = discrete_laplace(scale, n, source).tolist()
    assert len(source.read) == 2 * n
    for i in range(n):
        with mpmath.workdps(60):
            parts = [
                mpmath.floor(number(scale) * -mpmath.log1p(-number(Fraction(2 * word + 1, 2**65))))
                for word in source.read[2 * i : 2 * i + 2]
            ]
        assert found[i] == parts[0] - parts[1]


@pytest.mark.parametrize("sigma", [Fraction(7, 3), Fraction(1, 3), Fraction(10**40, 7)], ids=str)
def test_the_level_that_decides_is_exact(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """(y - sigma^2 / t)^2 / (2 sigma^2) as a rational: neither the centre nor the weight is rounded."""
    proposed, asked = [0, -1, 2, 17, -(10**6)], []
    answers, values = iter([False] * 4 + [True]), iter(proposed)

    def reaches(level: Any, entropy: Any) -> bool:
        asked.append(Fraction(level))
        return next(answers)

    def laplace(scale: Any, entropy: Any) -> int:
        assert scale == int(sigma) + 1
        return next(values)

    monkeypatch.setattr(integers, "draw_bernoulli_exp", reaches)
    monkeypatch.setattr(integers, "_draw_discrete_laplace", laplace)
    assert discrete_gaussian(sigma, 1).tolist() == proposed[-1:]
    assert asked == [(abs(y) - sigma**2 / (int(sigma) + 1)) ** 2 / (2 * sigma**2) for y in proposed]


@pytest.mark.parametrize("name", SAMPLERS)
def test_places_that_were_not_kept_alone_are_drawn_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[Any] = []

    def propose(law: Any, n: int, entropy: Any) -> Any:
        values = np.arange(n) + 100 * len(rounds)
        kept = np.arange(n) % 3 == 0 if n > 1 else np.ones(n, dtype=bool)
        rounds.append(n)
        return (values.astype(object) if len(rounds) > 1 else values), kept

    monkeypatch.setattr(integers, "propose_integers", propose)
    found = SAMPLERS[name](Fraction(50), 6).tolist()
    assert rounds == [6, 4, 2, 1]
    assert found == [0, 100, 200, 3, 300, 103]
