"""Discrete Laplace and discrete Gaussian noise against their mass functions."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.samplers import integers
from opendp_topk.samplers.integers import discrete_gaussian, discrete_laplace

from ..oracles.chi_square import assert_follows
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


@pytest.mark.quick(name="laplace")
@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_drawn_one_by_one_follows_its_mass_function(name: str) -> None:
    found = [int(SAMPLERS[name](Fraction(1), 1)[0]) for _ in range(1500)]
    assert_follows(counted(found, -2, 2), pooled(masses(name, Fraction(1)), -2, 2), detects=0.43)


@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_drawn_in_chunks_follows_the_same_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_CHUNK", 64)
    found = SAMPLERS[name](Fraction(2), 10_001)
    assert found.shape == (10_001,)
    assert_follows(counted(found.tolist(), -8, 8), pooled(masses(name, Fraction(2)), -8, 8), detects=0.28)
    assert_follows(
        counted(found[-17:].tolist() + found[:9000:9].tolist(), -2, 2),
        pooled(masses(name, Fraction(2)), -2, 2),
        detects=0.93,
    )
    assert SAMPLERS[name](Fraction(2), 0).tolist() == []
    monkeypatch.setattr(integers, "_CHUNK", 2)
    assert all(type(z) is int for z in SAMPLERS[name](Fraction(2**64), 20).tolist())


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


def test_the_proposals_survive_with_the_probability_of_the_algorithm() -> None:
    """exp(-(y - sigma^2 / t)^2 / (2 sigma^2)) for each size y, t = floor(sigma) + 1."""
    sigma, t, n = Fraction(12, 5), 3, 20_000
    for y in (0, 1, 3, 4, 5, 6):
        kept = int(integers._accepted(np.full(n, y), sigma * sigma, t, Words(y)).sum())
        p = mpmath.exp(-number((y - sigma * sigma / t) ** 2 / (2 * sigma * sigma)))
        assert_follows({True: kept, False: n - kept}, {True: p, False: 1 - p}, detects=0.083)


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 10**20), Fraction(1, 3), Fraction(12, 5), Fraction(10**6), Fraction(1e13)]
)
def test_levels_lie_between_their_bounds(sigma: Fraction) -> None:
    generator = random.Random(str(sigma))
    t = int(sigma) + 1
    centre, weight = sigma * sigma / t, 1 / (2 * sigma * sigma)
    sizes = [0, 1, 2, t, int(centre), int(centre) + 1, 2**53 - 1]
    sizes += [generator.randrange(1, 2 ** generator.randrange(2, 53)) for _ in range(300)]
    with np.errstate(over="raise", invalid="raise"):
        lower, upper = integers._level_bounds(np.array(sizes, dtype=np.float64), centre, weight)
    for y, low, high in zip(sizes, lower.tolist(), upper.tolist(), strict=True):
        level = (y - centre) ** 2 * weight
        assert Fraction(low) <= level <= Fraction(high)
        if abs(y - centre) > centre / 100:
            assert Fraction(high) - Fraction(low) <= level / 10**10


@pytest.mark.parametrize("words", [3, 5])
def test_laplace_noise_is_the_difference_of_two_floors(words: int) -> None:
    """With injected digits the noise is floor(b E) - floor(b E') of the two exponentials."""
    scale, n = Fraction(37, 4), 50
    source = Words(words)
    found = discrete_laplace(scale, n, source).tolist()
    assert len(source.read) == 2 * n
    for i in range(n):
        with mpmath.workdps(60):
            parts = [
                mpmath.floor(number(scale) * -mpmath.log1p(-number(Fraction(2 * word + 1, 2**65))))
                for word in (source.read[i], source.read[n + i])
            ]
        assert found[i] == parts[0] - parts[1]


def test_rejected_places_alone_are_drawn_again() -> None:
    """The places kept in the first round keep their proposals."""
    sigma, n = Fraction(3), 300
    first = discrete_laplace(Fraction(4), n, Words(8))
    source = Words(8)
    found = discrete_gaussian(sigma, n, source)
    same = int((found == first).sum())
    assert n // 3 < same < n
    assert len(source.read) < 9 * n


@pytest.mark.parametrize("sigma", [Fraction(7, 3), Fraction(1, 3), Fraction(10**40, 7)], ids=str)
def test_the_level_that_decides_is_exact(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """(y - sigma^2 / t)^2 / (2 sigma^2) as a rational: neither the centre nor the weight is rounded."""
    asked: list[Any] = []

    def reach(lower: Any, upper: Any, level: Any, entropy: Any) -> Any:
        asked.extend(level(i) for i in range(len(lower)))
        return np.zeros(len(lower), dtype=bool)

    monkeypatch.setattr(integers, "reach", reach)
    t, sizes = int(sigma) + 1, [0, 1, 2, 17, 10**6]
    integers._accepted(np.array(sizes), sigma * sigma, t, Words())
    assert [Fraction(level) for level in asked] == [(y - sigma**2 / t) ** 2 / (2 * sigma**2) for y in sizes]
