"""Noise of large scale: places in cells, and the decision that makes their law exact."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import lattice as module
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.lattice import build_lattice, propose_integers

from ..oracles.chi_square import assert_follows
from ..oracles.discrete import counted, masses, pooled, weight
from ..oracles.noise import number
from .test_boundaries import weights
from .words import Words

CASES = [
    (Fraction(40), 1),
    (Fraction(10**6), 15),
    (Fraction(10**16), 49),
    (Fraction(10**18, 3), 54),
    (Fraction(10**40), 128),
]


def beginning(name: str, scale: Fraction, shift: int, z: int) -> int | None:
    """16 digits that lead to the cell z, if there are such."""
    cells = build_lattice(weights(name, scale), shift).cells
    found = np.flatnonzero(cells.guide[: int(cells.given[-1])] == z)
    return int(found[len(found) // 2]) if len(found) else None


def proposal(
    name: str, scale: Fraction, shift: int, sixteen: int, digits: int, late: list[int]
) -> tuple[int, bool, int]:
    """What is proposed, whether it is kept, and how many words were read."""
    row = -(-(shift + 16) // 64)
    words = Words(script=[sixteen, *(digits >> 64 * i & 2**64 - 1 for i in range(row)), *late])
    values, kept = propose_integers(build_lattice(weights(name, scale), shift), 1, words)
    return int(values[0]), bool(kept[0]), len(words.read)


@pytest.mark.quick(scale=("40", "1000000000000000000/3"), name="gaussian")
@pytest.mark.parametrize(("scale", "shift"), CASES, ids=lambda x: str(x))
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_proposal_is_kept_when_its_uniform_says_so(name: str, scale: Fraction, shift: int) -> None:
    """The cell is that of 16 digits, the place is the leading digits of the words, the last 16 begin the decision."""
    generator = random.Random(5)
    row = 64 * -(-(shift + 16) // 64)
    outcomes = set()
    for trial in range(150):
        z = generator.randrange(-60, 60)
        sixteen = beginning(name, scale, shift, z)
        if sixteen is None:
            continue
        choice = generator.randrange(0, 10000 if trial % 2 else 1200)
        place = generator.getrandbits(shift)
        spare = generator.getrandbits(row - shift - 16) if row > shift + 16 else 0
        late = [generator.getrandbits(64) for _ in range(9)]
        x, kept, read = proposal(name, scale, shift, sixteen, place << row - shift | spare << 16 | choice, late)
        size = (z if z >= 0 else -1 - z) * 2**shift + place
        assert x == (size if z >= 0 else -1 - size)
        with mpmath.workdps(120):
            v = number(Fraction(choice * 2**48 + (late[0] >> 16), 2**64))
            ratio = weight(name, scale, abs(x)) / weight(name, scale, (z if z >= 0 else -1 - z) * 2**shift)
            assert kept == (v >= 1 - ratio)
        outcomes.add((kept, read > 1 + row // 64))
    assert outcomes == {(True, False), (True, True), (False, True)}


@pytest.mark.quick(scale=("40", "1000000000000000000/3"), name="gaussian")
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("scale", "shift"), CASES, ids=lambda x: str(x))
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_decisions_that_hug_their_level_read_on(name: str, scale: Fraction, shift: int, side: int) -> None:
    z, place = 2, 2 ** (shift - 1)
    sixteen = beginning(name, scale, shift, z)
    assert sixteen is not None
    row = 64 * -(-(shift + 16) // 64)
    with mpmath.workdps(150):
        ratio = weight(name, scale, z * 2**shift + place) / weight(name, scale, z * 2**shift)
        edge = int((1 - ratio) * mpmath.mpf(2) ** 256) + side * 2**100
    digits = [edge >> 240, edge >> 192 & 2**48 - 1, *(edge >> s & 2**64 - 1 for s in (128, 64, 0))]
    late = [digits[1] << 16, *digits[2:]]
    _, kept, read = proposal(name, scale, shift, sixteen, place << row - shift | digits[0], late)
    assert kept == (side > 0)
    assert read == 1 + row // 64 + 4


@pytest.mark.further
@pytest.mark.quick(scale="40", name="laplace")
@pytest.mark.parametrize("scale", [Fraction(40), Fraction(127)], ids=str)
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_kept_proposals_follow_the_law(name: str, scale: Fraction) -> None:
    shift = int(scale).bit_length() - 5
    values, kept = propose_integers(build_lattice(weights(name, scale), shift), 60_000, SYSTEM)
    assert 0.9 < kept.mean() < 0.999
    most = int(3 * scale)
    found = counted(values[kept].tolist(), -most, most)
    assert_follows(found, pooled(masses(name, scale), -most, most), detects=1.2)


@pytest.mark.quick(scale="40")
@pytest.mark.parametrize(("scale", "shift"), CASES[:3], ids=lambda x: str(x))
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_bounds_enclose_the_level(name: str, scale: Fraction, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def reach(words: Any, lower: Any, upper: Any, level: Any, entropy: Any) -> Any:
        asked.extend((lower[i], upper[i], level(i)) for i in range(len(lower)))
        return np.zeros(len(lower), dtype=bool)

    monkeypatch.setattr(module, "bernoulli_exp_events", reach)
    law = build_lattice(weights(name, scale), shift)
    propose_integers(law, 4000, Words(2))
    assert len(asked) > 40
    for low, high, level in asked:
        assert 0 <= Fraction(low) <= level <= Fraction(high)
        assert Fraction(high) - Fraction(low) <= level / 2**40 + Fraction(1, 2**40)


def test_from_its_bound_on_a_decision_is_certain() -> None:
    """The entry for a cell is not below 2^16 times the largest level in it, and hardly above."""
    for name in ("laplace", "gaussian"):
        for scale, shift in CASES:
            law = build_lattice(weights(name, scale), shift)
            for h in (0, 1, 2, 50, len(law.certain) - 1):
                level = law.weights.minus_log_weight((h + 1) << shift) - law.weights.minus_log_weight(h << shift)
                assert level * 2**16 <= int(law.certain[h]) <= level * 2**16 + 2
