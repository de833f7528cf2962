"""Inversion of cumulative laws: whatever the digits of a uniform are, the integer is the one they belong to."""

from __future__ import annotations

import functools
import random
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Protocol

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import inversion
from opendp_topk.sampling.samplers.inversion import InversionTable, draw_from_table, inversion_table

from ..oracles.chi_square import assert_follows
from ..oracles.discrete import counted, masses, pooled
from ..oracles.noise import number
from ..oracles.steps import Steps
from .test_boundaries import weights
from .words import Words

LAWS = [
    (name, scale) for name in ("laplace", "gaussian") for scale in (Fraction(1, 3), Fraction(7, 3), Fraction(200, 7))
]
IDS = [f"{name}-{scale}" for name, scale in LAWS]


class Cumulative(Protocol):
    """A cumulative law: P(Z < least), P(Z < least + 1), and so on."""

    least: int
    steps: list[Any]


class Divided:
    """The unit interval as the table divides it: cells that are given away, and exact steps between what is left."""

    def __init__(self, law: InversionTable, exact: Cumulative, *, digits: int = 90) -> None:
        self.law, self.exact = law, exact
        self.total = int(self.law.given[-1])
        self.cells = Counter(self.law.guide[: self.total].tolist())
        sums = list(accumulate((self.cells[z] for z in range(exact.least, exact.least + len(exact.steps))), initial=0))
        with mpmath.workdps(digits + 20):
            left = [mpmath.mpf(self.total - given) / 2**16 for given in sums]
            self.steps = [step + rest for step, rest in zip(self.exact.steps, left, strict=False)]
        self.digits = digits

    def beginning(self, z: int, bits: int) -> int:
        """The first digits of the step below z."""
        with mpmath.workdps(self.digits + 20):
            step = self.steps[z - self.exact.least] * mpmath.mpf(2) ** bits + mpmath.mpf(10) ** -15
            return min(int(mpmath.floor(step)), 2**bits - 1)

    def value(self, u: int, bits: int) -> int:
        """What a uniform that begins with these digits, and lies in the middle of what they leave, stands for."""
        cell = u >> bits - 16
        if cell < self.total:
            return int(self.law.guide[cell])
        with mpmath.workdps(self.digits + 20):
            return bisect_right(self.steps, number(Fraction(2 * u + 1, 2 ** (bits + 1)))) - 1 + self.exact.least

    def draw(self, u: int, bits: int) -> tuple[int, int]:
        """What is drawn from a uniform with these digits, and how many words were read."""
        parts = [u >> bits - 16 * i & 2**16 - 1 for i in (1, 2, 3)]
        rest = [u >> shift & 2**64 - 1 for shift in range(bits - 112, -1, -64)]
        words, out = Words(script=[*parts, *rest]), np.empty(1, dtype=np.int64)
        draw_from_table(self.law, out, words)
        return int(out[0]), len(words.read)


@functools.cache
def divided(name: str, scale: Fraction, mirrored: bool = True, digits: int = 90) -> Divided:
    exact = Steps(name, scale, digits, mirrored=mirrored)
    return Divided(inversion_table(weights(name, scale), mirrored=mirrored), exact, digits=digits)


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_nobody_is_given_more_cells_than_its_probability(name: str, scale: Fraction, mirrored: bool) -> None:
    """Then what is left is not negative, and the law is that of the steps; little is left."""
    found = divided(name, scale, mirrored)
    ends = [*found.exact.steps, mpmath.mpf(1)]
    shares = [(b - a) * 2**16 for a, b in pairwise(ends)]
    cells = [found.cells[z] for z in range(found.exact.least, -found.exact.least)]
    assert sum(cells) == found.total < 2**16
    for share, given in zip(shares, cells, strict=False):
        assert given <= share < given + 1 + 1e-4
    assert found.law.guide[: found.total].tolist() == sorted(found.law.guide[: found.total].tolist())


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_the_value_is_that_of_the_real_number(name: str, scale: Fraction, mirrored: bool) -> None:
    """Uniforms at random, and uniforms that begin like a step for 16, 20, 32, 48 or more digits."""
    generator, oracle = random.Random(1), divided(name, scale, mirrored)
    read = set()
    least = oracle.exact.least
    for length in (0, 14, 16, 19, 20, 21, 30, 32, 45, 47, 48, 60, 110):
        for _ in range(12):
            near = generator.randrange(max(least + 1, -40), min(-least, 41))
            begin = oracle.beginning(near, 176) >> 176 - length << 176 - length
            u = begin + generator.getrandbits(176 - length)
            z, words = oracle.draw(u, 176)
            assert z == oracle.value(u, 176)
            read.add(words)
    assert {1, 2, 3, 4} <= read


@pytest.mark.quick(scale="7/3", hugged=(48, 112))
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("hugged", [46, 47, 48, 90, 111, 112, 150])
@pytest.mark.parametrize(("name", "scale"), LAWS[:2] + LAWS[3:5], ids=IDS[:2] + IDS[3:5])
def test_digits_that_hug_a_step_are_read_until_they_leave_it(
    name: str, scale: Fraction, hugged: int, side: int
) -> None:
    oracle = divided(name, scale)
    for step in (-1, 0, 1, 2):
        u = oracle.beginning(step, 240) + side * 2 ** (240 - hugged)
        z, words = oracle.draw(u, 240)
        assert z == (step if side > 0 else step - 1)
        assert words <= (4 if hugged < 100 else 6)


@pytest.mark.parametrize("u", [0, 1, 2**240 - 2, 2**240 - 1])
def test_the_ends_of_what_is_left(u: int) -> None:
    for name, scale in (("laplace", Fraction(1, 3)), ("gaussian", Fraction(7, 3))):
        oracle = divided(name, scale, digits=160)
        at = u if u > 1 else u + (oracle.total << 224)
        z, words = oracle.draw(at, 240)
        assert z == oracle.value(at, 240)
        assert words >= 5


@pytest.mark.quick(scale="7/3")
@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_draws_follow_the_law(name: str, scale: Fraction) -> None:
    out = np.empty(60_000, dtype=np.int64)
    draw_from_table(inversion_table(weights(name, scale), mirrored=True), out, Words(7))
    most = int(6 * scale) + 4
    assert_follows(counted(out.tolist(), -most, most), pooled(masses(name, scale), -most, most), detects=0.7)


def test_values_of_all_chunks_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some dozens are left open at first, in most of the chunks; none stays open, which is no value of the law."""
    monkeypatch.setattr(inversion, "_CHUNK", 500)
    law, out = inversion_table(weights("laplace", Fraction(500)), mirrored=True), np.zeros(10_000, dtype=np.int64)
    draw_from_table(law, out, Words(5))
    assert int(abs(out).max()) < 500 * 40


def test_few_digits_are_read() -> None:
    """16 for each, 16 more for a few in a hundred, and hardly any others."""
    words = Words(3)
    draw_from_table(
        inversion_table(weights("laplace", Fraction(200, 7)), mirrored=True), np.empty(20_000, dtype=np.int64), words
    )
    assert 5000 < len(words.read) < 5200
    assert inversion_table.cache_info().maxsize == 16
