"""Sources that repeat themselves or fall short: an error at once, or after few reads, and never an endless loop."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers import entropy
from tests.concepts.tried import specimens_of

Source = Callable[[int], bytes]
CONSTRUCTORS = [name for name in tk.__all__ if name.startswith("make_")]
ALIKE = np.zeros(3000, dtype=np.int64)
COUNTS = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
FAIR = os.urandom
MOST_READS, MOST_BYTES = 20_000, 2**28


class Endless(BaseException):
    """More was read than any release needs."""


class Stream:
    """The bytes of a source one after another, each handed out once."""

    def __init__(self, chunks: Callable[[], bytes]) -> None:
        self.chunks, self.left = chunks, b""

    def __call__(self, n: int) -> bytes:
        while len(self.left) < n:
            self.left += self.chunks()
        found, self.left = self.left[:n], self.left[n:]
        return found


def period(n: int, seed: int = 7) -> Source:
    round_ = random.Random(seed).randbytes(n) * (2**12 // n + 1)
    return Stream(lambda: round_)


def stuck() -> Source:
    """The last bit of every byte is never set; the others are fair."""
    return lambda n: bytes(byte & 0xFE for byte in FAIR(n)) if n < 2**16 else bytes(n)


AT_ONCE: dict[str, Source] = {
    "zeros": bytes,
    "ones": lambda n: b"\xff" * n,
    "alternating bits": lambda n: b"\xaa" * n,
    "the other alternating bits": lambda n: b"\x55" * n,
    "alternating bytes": lambda n: (b"\x00\xff" * n)[:n],
    "a period of 3": period(3),
    "a period of 16": period(16),
    "a period of 29": period(29),
    "one byte too few": lambda n: FAIR(n)[1:],
    "no bytes": lambda _: b"",
    "a byte too many": lambda n: FAIR(n) + b"a",
}
SOON: dict[str, Callable[[], Source]] = {
    "the same for the same question": lambda: lambda n: random.Random(n).randbytes(n),
    "a period of 256": lambda: period(256),
    "a period of 1000": lambda: period(1000),
    "a stuck bit": stuck,
}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Source], list[int]]:
    """Let this be the system's source; what it was asked for."""

    def install(source: Source) -> list[int]:
        asked: list[int] = []

        def urandom(n: int) -> bytes:
            asked.append(n)
            if len(asked) > MOST_READS or sum(asked) > MOST_BYTES:
                raise Endless
            return source(n)

        monkeypatch.setattr(entropy, "_WATCH", entropy._RepetitionDetector())
        monkeypatch.setattr(os, "urandom", urandom)
        return asked

    return install


def releases() -> dict[str, Callable[[], Any]]:
    """Releases of every kind that draw, of scores that are alike, so that much has to be drawn."""
    noise = tk.make_laplace(COUNTS[0], tk.L1Distance(), PURE, scale=Fraction(200, 3))
    gaussian = tk.make_gaussian(COUNTS[0], tk.L2Distance(), ZCDP, scale=Fraction(7, 3))
    made: dict[str, tuple[Any, Any]] = {
        "one-shot exponential": (COUNTS >> tk.then_report_noisy_top_k(PURE, k=3, scale=2.0), ALIKE),
        "one-shot Gumbel": (COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=3, scale=2.0), ALIKE),
        "a long vector": (COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=3, scale=2.0), np.zeros(10**5, dtype=np.int64)),
        "a set": (COUNTS >> tk.then_report_noisy_top_k(PURE, k=50, scale=2.0, release="set"), ALIKE),
        "peeled": (COUNTS >> tk.then_peeled_top_k(PURE, k=5, scale=2.0, mechanism="exponential"), ALIKE),
        "peeled by flips": (
            COUNTS >> tk.then_peeled_top_k(PURE, k=5, scale=2.0, mechanism="permute_and_flip"),
            ALIKE,
        ),
        "canonical": (COUNTS >> tk.then_canonical_top_k(PURE, k=5, scale=2.0), ALIKE),
        "canonical exponential": (COUNTS >> tk.then_canonical_top_k(PURE, k=5, scale=2, noise=tk.Exponential()), ALIKE),
        "joint": (COUNTS >> tk.then_joint_top_k(PURE, k=5, scale=2.0), ALIKE),
        "joint set": (COUNTS >> tk.then_joint_top_k(PURE, k=5, scale=2.0, release="set"), ALIKE),
        "gaps": (COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=5, scale=2.0), ALIKE),
        "counts": (COUNTS >> tk.then_select_then_count(ZCDP, k=5, scale=2.0, count_scale=9), ALIKE),
        "a value of Laplace noise": (noise, ALIKE[:1]),
        "values of Laplace noise": (noise, ALIKE),
        "a value of Gaussian noise": (gaussian, ALIKE[:1]),
        "values of Gaussian noise": (gaussian, ALIKE),
        "many values of Gaussian noise": (gaussian, np.zeros(2**19, dtype=np.int64)),
    }
    return {name: lambda one=one: one[0](one[1]) for name, one in made.items()}  # type: ignore[misc]


RELEASES = releases()


def again_and_again(release: Callable[[], Any]) -> None:
    while True:
        release()


@pytest.mark.quick(kind=("zeros", "a period of 29", "one byte too few"))
@pytest.mark.parametrize("kind", AT_ONCE)
@pytest.mark.parametrize("release", RELEASES)
def test_a_source_that_is_plainly_broken_ends_the_first_read(
    release: str, kind: str, broken: Callable[[Source], list[int]]
) -> None:
    asked = broken(AT_ONCE[kind])
    with pytest.raises(PlatformError, match="source of randomness"):
        RELEASES[release]()
    assert len(asked) == 1


@pytest.mark.quick(kind="the same for the same question")
@pytest.mark.parametrize("kind", SOON)
@pytest.mark.parametrize("release", RELEASES)
def test_other_sources_that_repeat_themselves_are_noticed_after_few_reads(
    release: str, kind: str, broken: Callable[[Source], list[int]]
) -> None:
    broken(SOON[kind]())
    with pytest.raises(PlatformError, match="repeats itself"):
        again_and_again(RELEASES[release])


def noticed(release: Callable[[], Any]) -> bool:
    """Whether one of five releases tells of the source."""
    try:
        for _ in range(5):
            release()
    except PlatformError:
        return True
    return False


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_whatever_a_constructor_builds_draws_nothing_or_tells_of_the_source(
    name: str, broken: Callable[[Source], list[int]]
) -> None:
    for specimen in specimens_of(name):
        for source in (AT_ONCE["zeros"], AT_ONCE["one byte too few"], SOON["the same for the same question"]()):
            asked = broken(source)
            assert noticed(lambda: specimen.cell(specimen.released, specimen.pair[0])) == bool(asked)  # noqa: B023
