"""Draws that branch, against laws that are written down by hand.

Tries proofs/audit/replay.tex.
"""

from __future__ import annotations

import itertools
import os
import random
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.replay import _enumerate_distribution
from tests.audit.test_replay import LAW, flipped, flips


def counted(outcomes: Any) -> LAW:
    """The law of equally likely outcomes."""
    listed = list(outcomes)
    return {one: Fraction(listed.count(one), len(listed)) for one in set(listed)}


def shuffled(x: Any, source: Any) -> tuple[int, ...]:
    items = list(x)
    source.shuffle(items)
    return tuple(items)


def twice(x: Any, source: Any) -> int:
    """One float, compared twice."""
    drawn = source.random()
    return (drawn >= 0.25) + (drawn >= 0.5)


def of_secrets(x: int) -> tuple[int, int, int]:
    return x + secrets.randbelow(4), secrets.choice([0, 1]), secrets.randbits(2)


def of_the_system(x: int) -> tuple[int, int, int]:
    return os.urandom(1)[0] % 3, random.getrandbits(1), random.SystemRandom().getrandbits(1)


@pytest.mark.further
def test_laws_are_those_written_down_by_hand() -> None:
    x = [0, 2, 1]
    wrong = []
    cases: tuple[tuple[str, Callable[..., Any], Any, LAW], ...] = (
        ("generator", flips, x, flipped(x)),
        ("generator", shuffled, (0, 1, 2), counted(itertools.permutations(range(3)))),
        ("random", shuffled, (0, 1, 2), counted(itertools.permutations(range(3)))),
        ("random", lambda x, source: source.random() <= 0.5, 0, {True: Fraction(1, 2) + Fraction(1, 2**53)}),
        ("generator", lambda _, source: sum(source.integers(1, 3, size=2)), 0, counted([2, 3, 3, 4])),
        ("generator", lambda _, source: source.choice([5, 7], p=[0.25, 0.75]), 0, counted([5, 7, 7, 7])),
        ("generator", lambda _, source: tuple(source.random(2) > 0.75), 0, {(True, True): Fraction(1, 16)}),
        ("random", twice, 0, {0: Fraction(1, 4), 1: Fraction(1, 4), 2: Fraction(1, 2)}),
        ("system", of_secrets, 1, counted(itertools.product((1, 2, 3, 4), (0, 1), range(4)))),
        (
            "system",
            of_the_system,
            1,
            counted((byte % 3, *bits) for byte in range(256) for bits in itertools.product((0, 1), repeat=2)),
        ),
    )
    for source, function, value, by_hand in cases:
        law = _enumerate_distribution(function, value, source, 1500)
        tolerance = Fraction(1, 2**51)  # of a comparison with a multiple of 2^-53, which may be strict or not
        if sum(law.masses.values()) + law.rest != 1 or any(
            not -law.rest - tolerance <= law.masses.get(one, 0) - mass <= tolerance for one, mass in by_hand.items()
        ):
            wrong.append((source, function, law))
    assert not wrong


def test_the_system_has_its_sources_back() -> None:
    kept = os.urandom, random.random, random.SystemRandom.random, secrets.randbits, secrets.token_bytes
    tk.audit.replay(of_secrets, 0, 1, source="system", runs=20)
    assert kept == (os.urandom, random.random, random.SystemRandom.random, secrets.randbits, secrets.token_bytes)
