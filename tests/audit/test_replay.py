"""Laws by enumeration of digits, against laws that are written down by hand.

Tries proofs/audit/replay.tex.
"""

import itertools
import math
import os
import random
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.replay import _enumerate_distribution
from opendp_topk.errors import ParameterError
from tests.concepts.sentinels import raises_exactly

LAW = dict[Any, Fraction]


def flips(x: Any, source: Any) -> int:
    """Permute-and-flip by coins of 1, 1/2, 1/4: a candidate d below the best shows heads with probability 2^-d."""
    return int(next(i for i in source.permutation(len(x)) if source.random() < 2.0 ** (x[i] - max(x))))


def flipped(x: Any) -> LAW:
    """The same by hand: over all orders, the first heads."""
    law = dict.fromkeys(range(len(x)), Fraction(0))
    orders = list(itertools.permutations(range(len(x))))
    for order in orders:
        left = Fraction(1, len(orders))
        for i in order:
            heads = Fraction(1, 2 ** (max(x) - x[i]))
            law[i] += left * heads
            left *= 1 - heads
    return law


def test_exact_losses() -> None:
    def respond(truth: float, bit: int, source: Any) -> int:
        return bit if source.random() < truth else 1 - bit

    for truth in (0.75, 1 / (1 + math.exp(-1.05))):
        found = tk.audit.replay(partial(respond, truth), 0, 1)
        assert found.lower == pytest.approx(math.log(truth / (1 - truth)), abs=1e-10)
        assert (found.unexplored, found.draws, found.runs) == (0.0, 1, 6)
        assert found.verdict(1.0) == "fails"
        assert found.verdict(1.2) == "holds"
    shifted = tk.audit.replay(partial(respond, 0.75), 0, 1, source="random", delta=0.25)
    assert shifted.lower == pytest.approx(math.log(0.5 / 0.25), abs=1e-10)
    assert tk.audit.replay(lambda x, source: x, 0, 1).draws == 0
    law, other = flipped([1, 0, 0]), flipped([0, 1, 1])
    found = tk.audit.replay(flips, [1, 0, 0], [0, 1, 1])
    assert found.lower == pytest.approx(max(abs(math.log(law[i] / other[i])) for i in law), abs=1e-10)


def test_what_digits_alone_show() -> None:
    """A seed that is constant, digits used for two candidates, and noise that shows the parity of what it hides."""

    def seeded(x: Any, source: Any) -> int:
        return int((x + np.random.default_rng(7).laplace(size=2)).argmax())

    def shared(x: Any, source: Any) -> int:
        noise = source.integers(0, 8)
        return int(np.argmax([x[0] + noise, x[1] + noise]))

    def even(x: int, source: Any) -> int:
        return x + 2 * int(source.integers(0, 500))

    def fails(x: int, source: Any) -> float:
        return source.integers(0, 2) / x  # type: ignore[no-any-return]

    for function, x, y in ((seeded, [0, 9], [9, 0]), (shared, [0, 1], [1, 0]), (even, 0, 1), (fails, 0, 1)):
        found = tk.audit.replay(function, x, y)
        assert (found.lower, found.unexplored, found.verdict(100)) == (math.inf, 0.0, "fails")


def test_digits_that_are_left_are_never_read_as_kept() -> None:
    """Of draws by rejection ever less is left, of noise that is a float all is; a loss beyond that is still certain."""

    def third(x: int, source: Any) -> int:
        return (x + source.randrange(3)) % 3 // 2

    found = tk.audit.replay(third, 0, 1, source="random", runs=60)
    assert 0 < found.unexplored < 1e-6
    assert 0 <= found.lower <= 1e-6
    assert found.verdict(1.0) == "not tested"
    noisy = tk.audit.replay(lambda x, source: x + source.laplace(), 0, 1)
    assert (noisy.lower, noisy.unexplored, noisy.verdict(1.0)) == (0.0, 1.0, "not tested")

    def half_open(x: int, source: Any) -> Any:
        return x if source.integers(0, 1000) else source.normal()

    bare = tk.audit.replay(half_open, 0, 1)
    assert bare.lower == pytest.approx(math.log(0.999 / 0.001), abs=1e-9)
    assert bare.verdict(6.0) == "fails"


def test_what_is_refused() -> None:
    fresh, calls = random.SystemRandom(), itertools.count()
    raises_exactly(ParameterError, lambda: tk.audit.replay(lambda x, _: fresh.random(), 0, 1), "draw only from source")

    def fickle(x: int, source: Any) -> int:
        return int(source.integers(0, 2)) if next(calls) < 1 else 0

    raises_exactly(ParameterError, lambda: tk.audit.replay(fickle, 0, 1), "different draws")
    raises_exactly(ParameterError, lambda: tk.audit.replay(flips, 0, 1, source="urandom"), "source must be")
    raises_exactly(ParameterError, lambda: tk.audit.replay(flips, 0, 1, delta=2), "delta")
    raises_exactly(ParameterError, lambda: tk.audit.replay(flips, 0, 1, runs=0), "runs")


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
