"""Inversion of cumulative laws: whatever the digits of a uniform are, the integer is the one they belong to."""

from __future__ import annotations

import functools
import random
from fractions import Fraction

import numpy as np
import pytest

from opendp_topk.samplers import inversion
from opendp_topk.samplers.inversion import draw, table

from ..oracles.chi_square import assert_follows
from ..oracles.discrete import counted, masses, pooled
from ..oracles.steps import Steps
from .test_boundaries import weights
from .words import Words

LAWS = [
    (name, scale) for name in ("laplace", "gaussian") for scale in (Fraction(1, 3), Fraction(7, 3), Fraction(200, 7))
]
IDS = [f"{name}-{scale}" for name, scale in LAWS]


@functools.cache
def exact(name: str, scale: Fraction, mirrored: bool = True) -> Steps:
    return Steps(name, scale, 90, mirrored=mirrored)


def value(name: str, scale: Fraction, u: int, bits: int, mirrored: bool = True) -> tuple[int, int]:
    """What is drawn from a uniform with these digits, and how many words were read."""
    parts = [u >> bits - 16 * i & 2**16 - 1 for i in (1, 2, 3)]
    rest = [u >> shift & 2**64 - 1 for shift in range(bits - 112, -1, -64)]
    words, out = Words(script=[*parts, *rest]), np.empty(1, dtype=np.int64)
    draw(table(weights(name, scale), mirrored=mirrored), out, words)
    return int(out[0]), len(words.read)


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_the_guide_knows_what_16_digits_decide(name: str, scale: Fraction, mirrored: bool) -> None:
    law, oracle = table(weights(name, scale), mirrored=mirrored), exact(name, scale, mirrored)
    known = np.flatnonzero(law.guide != inversion._OPEN)
    ends = np.array([oracle.beginning(z, 48) for z in range(oracle.least, -oracle.least)])
    low, high = known << 32, (known + 1) << 32
    first = np.searchsorted(ends, low, side="left") - 1
    assert (law.guide[known] == oracle.least + first).all()
    assert (high - 1 < np.append(ends, 2**48)[first + 1]).all()
    steps = len({end >> 32 for end in ends.tolist()} | {(end - 4) >> 32 for end in ends.tolist()})
    assert 2**16 - len(known) <= steps + 4, "16 digits decide all but the cells with a step"


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_the_value_is_that_of_the_real_number(name: str, scale: Fraction, mirrored: bool) -> None:
    """Uniforms at random, and uniforms that begin like a step of the law for 16, 32, 48 or more digits."""
    generator, oracle = random.Random(1), exact(name, scale, mirrored)
    read = set()
    for length in (0, 14, 16, 30, 32, 45, 47, 48, 60, 110):
        for _ in range(12):
            near = generator.randrange(max(oracle.least + 1, -40), min(-oracle.least, 41))
            begin = oracle.beginning(near, 176) >> 176 - length << 176 - length
            u = begin + generator.getrandbits(176 - length)
            z, words = value(name, scale, u, 176, mirrored)
            assert z == oracle.inverse(Fraction(2 * u + 1, 2**177))
            read.add(words)
    assert {1, 2, 3, 4} <= read


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("hugged", [46, 47, 48, 90, 111, 112, 150])
@pytest.mark.parametrize(("name", "scale"), LAWS[:2] + LAWS[3:5], ids=IDS[:2] + IDS[3:5])
def test_digits_that_hug_a_step_are_read_until_they_leave_it(
    name: str, scale: Fraction, hugged: int, side: int
) -> None:
    oracle = exact(name, scale)
    for step in (-1, 0, 1, 2):
        u = oracle.beginning(step, 240) + side * 2 ** (240 - hugged)
        z, words = value(name, scale, u, 240)
        assert z == (step if side > 0 else step - 1)
        assert words <= (4 if hugged < 100 else 6)


@pytest.mark.parametrize("u", [0, 1, 2**239, 2**240 - 2, 2**240 - 1])
def test_the_ends_of_the_unit_interval(u: int) -> None:
    for name, scale in ((("laplace", Fraction(1, 3))), ("gaussian", Fraction(7, 3))):
        oracle = Steps(name, scale, 160, mirrored=True)
        z, words = value(name, scale, u, 240)
        assert z == oracle.inverse(Fraction(2 * u + 1, 2**241))
        assert words >= 5 or u == 2**239


@pytest.mark.parametrize(("name", "scale"), LAWS, ids=IDS)
def test_draws_follow_the_law(name: str, scale: Fraction) -> None:
    out = np.empty(60_000, dtype=np.int64)
    draw(table(weights(name, scale), mirrored=True), out, Words(7))
    most = int(6 * scale) + 4
    assert_follows(counted(out.tolist(), -most, most), pooled(masses(name, scale), -most, most), detects=0.7)


def test_few_digits_are_read() -> None:
    """16 for each, 16 more for one in fifty at scale 142, and hardly any others."""
    words = Words(3)
    draw(table(weights("laplace", Fraction(200, 7)), mirrored=True), np.empty(20_000, dtype=np.int64), words)
    assert 5000 < len(words.read) < 5400
    assert table.cache_info().maxsize == 16
