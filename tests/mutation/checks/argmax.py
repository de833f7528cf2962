"""A release equals the argmax at high precision over all candidates, for the same digits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from opendp_topk.samplers import gaps, noiseless, race
from tests.mutation.bits import DIGITS, Streams
from tests.mutation.library import tk
from tests.mutation.oracles import QUANTILES, expect, number

_LARGE = 2**60
_CASES: tuple[tuple[Any, Fraction], ...] = (
    (np.array([3, 1, 2, 2, 0, 1]), Fraction(1)),
    (np.array([0.5, 0.25, -1.5, 0.1, 0.3, 0.2]), Fraction(1, 3)),
    (_LARGE + np.arange(6), Fraction(2)),
    (np.array([7, 5, 5, 6, 7, 7]) - _LARGE, Fraction(7, 2)),
    (np.array([10**30 + i for i in range(6)], dtype=object), Fraction(5)),
)
_SHARED = (b"\x40\x01", b"\xc0\x07\xff", b"\xff\xff\xff", b"\x81" * 10, b"\x33" * 26)
"""First bytes that all candidates have in common: then later ones decide."""


def check() -> None:
    """Rankings, sets and gaps of races, with digits in common and without."""
    noises = tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic()
    for noise, (place, (values, scale)) in itertools.product(noises, enumerate(_CASES)):
        for turn in range(2):
            key = f"{noise.name}/{place}/{turn}"
            _compare(noise, values, scale, 1, Streams(key), key)
    for shared, sign in itertools.product(_SHARED, (1, -1)):
        leading = dict.fromkeys(range(6), shared)
        for noise, turn in itertools.product((tk.Gumbel(), tk.Exponential()), range(2)):
            key = f"{noise.name}/{shared.hex()}/{turn}"
            close = np.array([1.0, 1.0, 1.0 + 2.0**-52, 1.0, 1.0 - 2.0**-53, 1.0])
            _compare(noise, close, Fraction(2**40 if turn else 2), sign, Streams(key, leading), key)
    expect(noiseless.top_k(np.array([1, 3, 3, 2]), 2, sign=1, ordered=True).tolist() == [1, 2], "ties without noise")


def _compare(noise: Any, values: Any, scale: Fraction, sign: int, streams: Streams, key: str) -> None:
    order, gap = _oracle(noise.name, values.tolist(), scale, sign, streams)
    for k, ordered in ((1, True), (3, True), (3, False)):
        fresh = Streams(key, streams.leading)
        winners = race.top_k(values, scale, noise, k, sign=sign, ordered=ordered, entropy=fresh).tolist()
        expected = order[:k] if ordered else sorted(order[:k])
        expect(winners == expected, f"{key}: the release of {k} is not the argmax over all candidates")
    fresh = Streams(key, streams.leading)
    ranking, found = gaps.top_k_with_gaps(values, scale, noise, 2, sign=sign, entropy=fresh)
    expect(ranking.tolist() == order[:2], f"{key}: a ranking with gaps is not the argmax over all candidates")
    expect(found.tolist() == gap, f"{key}: a gap is not the one to the next candidate, rounded to nearest")


def _oracle(
    name: str, scores: Sequence[Any], scale: Fraction, sign: int, streams: Streams
) -> tuple[list[int], list[float]]:
    """All candidates from the best on, and the first two gaps, from all digits that a stream has."""
    with mpmath.workdps(150):
        noisy = []
        for i, score in enumerate(scores):
            u = Fraction(2 * streams.digits(i) + 1, 2 ** (DIGITS + 1))
            noisy.append(number(sign * Fraction(score)) + number(scale) * QUANTILES[name](u))
        order = sorted(range(len(scores)), key=lambda i: -noisy[i])
        return order, [_float(noisy[a] - noisy[b]) for a, b in itertools.pairwise(order[:3])]


def _float(value: Any) -> float:
    """The nearest float64."""
    return float(mpmath.mpf(value))
