"""Long vectors of noise: what cells give, what is lacking, and the places of other values."""

import functools
import random
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import integers
from opendp_topk.sampling.samplers import integers as module
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.integers import GapDistribution, MixtureTables, draw_from_mixture, mixture_tables

from ..oracles.chi_square import assert_follows
from ..oracles.discrete import counted, masses, pooled
from ..oracles.steps import Steps
from .test_exponentials import TINY, weights
from .test_integers import Divided
from .words import Words

CELLS = 2**16
LAWS = [
    ("laplace", Fraction(1, 3), True),
    ("laplace", Fraction(200, 7), True),
    ("gaussian", Fraction(7, 3), False),
    ("gaussian", Fraction(200), True),
]
IDS = [f"{name}-{scale}" for name, scale, _ in LAWS]
SCALES = [
    ("laplace", Fraction(7, 3)),
    ("laplace", Fraction(100)),
    ("gaussian", Fraction(7, 3)),
    ("gaussian", Fraction(1000)),
]


class Lacking:
    """The cumulative law of what is lacking, from exact steps and the cells that the guide gives away."""

    def __init__(self, law: MixtureTables, exact: Steps) -> None:
        self.least, cells = exact.least, Counter(law.guide.tolist())
        given = accumulate((cells[exact.least + i] for i in range(len(exact.steps) - 1)), initial=0)
        with mpmath.workdps(exact.digits + 20):
            odds = mpmath.mpf(law.odds) / CELLS
            self.steps = [(f - (1 - odds) * n / CELLS) / odds for f, n in zip(exact.steps, given, strict=True)]


class Geometric:
    """P(fewer than g places are passed), for g = 0, 1, 2, ..."""

    def __init__(self, odds: int, digits: int) -> None:
        self.least = 0
        with mpmath.workdps(digits + 20):
            stay, enough = 1 - mpmath.mpf(odds) / CELLS, mpmath.mpf(10) ** -(digits + 10)
            n = int(mpmath.log(enough) / mpmath.log(stay)) + 1
            self.steps = [1 - power for power in accumulate([stay] * n, lambda a, b: a * b, initial=mpmath.mpf(1))]


@functools.cache
def parts(name: str, scale: Fraction, mirrored: bool) -> tuple[MixtureTables, Steps, Lacking]:
    law, exact = mixture_tables(weights(name, scale), mirrored=mirrored), Steps(name, scale, 90, mirrored=mirrored)
    return law, exact, Lacking(law, exact)


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize(("name", "scale", "mirrored"), LAWS, ids=IDS)
def test_cells_give_nobody_more_than_its_probability(name: str, scale: Fraction, mirrored: bool) -> None:
    """All cells are given away, and at most as many as its probability has room for where values stay."""
    law, exact, _ = parts(name, scale, mirrored)
    cells = Counter(law.guide.tolist())
    assert sum(cells.values()) == len(law.guide) == CELLS
    assert 2**9 <= law.odds < 2**15
    for i, (a, b) in enumerate(pairwise([*exact.steps, mpmath.mpf(1)])):
        assert cells[exact.least + i] * (1 - law.odds / CELLS) <= (b - a) * CELLS


def test_hardly_more_places_than_needed_have_other_values() -> None:
    assert mixture_tables(weights("laplace", Fraction(1, 3)), mirrored=True).odds == 2**9
    for name, least, most in (("laplace", 4500, 5200), ("gaussian", 2700, 3100)):
        assert least < mixture_tables(weights(name, Fraction(1000)), mirrored=True).odds < most


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize("digits", [48, 112, 240])
@pytest.mark.parametrize(("name", "scale", "mirrored"), LAWS, ids=IDS)
def test_what_is_lacking_is_enclosed(name: str, scale: Fraction, mirrored: bool, digits: int) -> None:
    """So cells and what is lacking make up the law, whatever the digits."""
    law, _, lacking = parts(name, scale, mirrored)
    assert_encloses(law.rest.law.cumulative_bounds(digits), lacking, digits, 2**20)


@pytest.mark.quick(odds=5000)
@pytest.mark.parametrize("digits", [48, 112, 240])
@pytest.mark.parametrize("odds", [2**9, 5000, 2**15 - 1])
def test_distances_are_enclosed(odds: int, digits: int) -> None:
    assert_encloses(GapDistribution(odds).cumulative_bounds(digits), Geometric(odds, 90), digits, 3)


def assert_encloses(found: Any, exact: Any, digits: int, most: int) -> None:
    assert 1 <= found.width <= most
    assert list(found.ends) == sorted(found.ends)
    compared = 0
    with mpmath.workdps(110):
        for i, end in enumerate(found.ends):
            z = found.least + 1 + i
            if 0 <= z - exact.least < len(exact.steps):
                step = exact.steps[z - exact.least] * mpmath.mpf(2) ** digits
                assert -TINY <= step - end <= found.width + TINY, f"the step at {z} is not between its bounds"
                compared += 1
    assert compared >= min(len(found.ends), len(exact.steps)) - 1
    assert found.ends[0] <= found.width
    assert found.ends[-1] >= 2**digits - 2**12 * found.width - 4


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize(("name", "scale", "mirrored"), LAWS[1:3], ids=IDS[1:3])
def test_other_values_are_read_until_they_are_certain(name: str, scale: Fraction, mirrored: bool) -> None:
    law, _, lacking = parts(name, scale, mirrored)
    assert_is_certain(Divided(law.rest, lacking))


@pytest.mark.quick(odds=5000)
@pytest.mark.parametrize("odds", [2**9, 5000, 2**15 - 1])
def test_distances_are_read_until_they_are_certain(odds: int) -> None:
    assert_is_certain(Divided(module._gap_table(odds), Geometric(odds, 90)))


def assert_is_certain(oracle: Divided) -> None:
    """For uniforms that begin like a step for 16, 32, 48, 112 or more digits."""
    generator, read = random.Random(3), set()
    for length in (0, 16, 21, 32, 46, 48, 60, 112):
        for near in (1, 2, 5, 9):
            u = (oracle.beginning(near, 240) >> 240 - length << 240 - length) + generator.getrandbits(240 - length)
            z, words = oracle.draw(u, 240)
            assert z == oracle.value(u, 240)
            read.add(words)
        for side in (-1, 1) if length else ():
            z, words = oracle.draw(oracle.beginning(5, 240) + side * 2 ** (240 - length), 240)
            read.add(words)
            if length >= 32:
                assert z == (5 if side > 0 else 4)
    assert {1, 3, 4, 6} <= read


def test_other_values_are_put_where_distances_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of distances go on until a block is full, and each block begins anew."""
    law = mixture_tables(weights("gaussian", Fraction(7, 3)), mirrored=True)
    zeros, others = chain([[2, 0, 1], [30, 9, 3], [9, 9, 40], [100, 7, 7]]), iter(range(1000, 2000))
    asked = []

    def draw(part: Any, out: Any, entropy: Any) -> None:
        asked.append((part, len(out)))
        out[:] = [*next(zeros), *[2**40] * len(out)][: len(out)] if part is law.gaps else [next(others) for _ in out]

    monkeypatch.setattr(module, "draw_from_table", draw)
    monkeypatch.setattr(module, "_BLOCK", 40)
    monkeypatch.setattr(module, "_SPREAD", 3)
    monkeypatch.setattr(module, "_CHUNK", 32)
    out = np.empty(100, dtype=np.int64)
    draw_from_mixture(law, out, Words(1))
    expected = [2, 3, 5, 36, 40 + 9, 40 + 19]
    assert np.flatnonzero(out >= 1000).tolist() == expected
    assert out[expected].tolist() == [1000, 1001, 1002, 1003, 1004, 1005]
    assert [n for part, n in asked if part is law.gaps] == [3, 3, 3, 3]
    first = np.array(Words(1).draw_auxiliary_words(8)).view(np.uint16)
    kept = [i for i in range(32) if i not in expected]
    assert out[kept].tolist() == law.guide[first[kept]].tolist()


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize(("name", "scale"), SCALES, ids=str)
def test_draws_follow_the_law(name: str, scale: Fraction) -> None:
    """In cells of half a scale, or of one integer."""
    out = np.empty(500_000, dtype=np.int64)
    draw_from_mixture(mixture_tables(weights(name, scale), mirrored=True), out, SYSTEM)
    edges = sorted({int(scale * j / 2) for j in range(-6, 7)})
    counts = dict(enumerate(np.bincount(np.searchsorted(edges, out)).tolist()))
    law: dict[Hashable, Any] = Counter()
    for z, p in masses(name, scale).items():
        law[int(np.searchsorted(edges, z))] += p
    assert_follows(counts, law)


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize(("name", "scale", "mirrored"), LAWS[1:], ids=IDS[1:])
def test_other_values_are_as_many_as_the_law_lacks(name: str, scale: Fraction, mirrored: bool) -> None:
    """An error of 5 per cent of their number would be seen; and their law is that of what is lacking."""
    law, _, lacking = parts(name, scale, mirrored)
    cells_alone, n = 10**6, 4 * 10**6
    out = np.empty(n, dtype=np.int64)
    draw_from_mixture(MixtureTables(np.full(CELLS, cells_alone), law.rest, law.gaps, law.odds), out, SYSTEM)
    found, mean = out[out != cells_alone].tolist(), n * law.odds / CELLS
    assert abs(len(found) - mean) < 7 * mean**0.5 < 0.05 * mean
    shares = {lacking.least + i: b - a for i, (a, b) in enumerate(pairwise([*lacking.steps, mpmath.mpf(1)]))}
    most = int(2 * scale)
    assert_follows(counted(found, -most, most), pooled(shares, -most, most), detects=1.5)


@pytest.mark.parametrize("draw", [integers.discrete_laplace, integers.discrete_gaussian])
def test_long_vectors_take_this_way(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("opendp_topk.sampling.samplers.integers._MANY", 100)
    monkeypatch.setattr("opendp_topk.sampling.samplers.integers.mixture_tables", lambda weights, mirrored: mirrored)
    mixture = "opendp_topk.sampling.samplers.integers.draw_from_mixture"
    monkeypatch.setattr(mixture, lambda law, out, entropy: asked.append((law, len(out))))
    for scale in (Fraction(1, 3), Fraction(1023)):
        draw(scale, 100)
        draw(scale, 99)
    draw(Fraction(1024), 100)
    assert asked == [(True, 100), (True, 100)]


def test_first_and_last_places_of_all_blocks_are_replaced_and_none_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """With scripted distances: of places that all have other values, all get them; of one, that one alone."""
    law, other, untouched = mixture_tables(weights("laplace", Fraction(7, 3)), mirrored=True), 10**6, 10**7

    def drawn(first: int, then: int) -> Any:
        def draw(table: Any, out: Any, entropy: Any) -> None:
            out[:] = then if table is law.gaps else other
            out[:1] = first if table is law.gaps else other

        return draw

    wrong = []
    monkeypatch.setattr(module, "_BLOCK", 64)
    monkeypatch.setattr(module, "_CHUNK", 48)
    for n in (1, 2, 47, 48, 49, 63, 64, 65, 127, 128, 129):
        ends = [min(64, n - start) for start in range(0, n, 64)]
        for first, then, expected in (
            (0, 0, range(n)),
            (0, 64, range(0, n, 64)),
            (63, 64, range(63, n, 64)),
            (64, 64, ()),
            *((end - 1, 64, [64 * i + end - 1 for i, m in enumerate(ends) if m >= end]) for end in ends),
        ):
            monkeypatch.setattr(module, "draw_from_table", drawn(first, then))
            out = np.full(n, untouched)
            draw_from_mixture(law, out, SYSTEM)
            if untouched in out or np.flatnonzero(out == other).tolist() != list(expected):
                wrong.append((n, first, then))
    assert wrong == []
