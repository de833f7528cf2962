"""The k best of x / scale + F^{-1}(U), by sorting the sums themselves at as many digits as the order needs."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from . import noise

Digits = Callable[[int, int], int]
"""``digits(i, n)``: the first ``n`` binary digits of candidate i's uniform, as an integer."""


def best(
    name: str, scores: Sequence[Any], scale: Fraction, digits: Digits, k: int, sign: int, least_bits: int = 320
) -> list[int]:
    """The positions of the k largest sums, best first (at least 80 decimal digits; more until all is decided)."""
    advantages = exact_advantages(scores, scale, sign)
    bits = least_bits
    while True:
        ends = enclosures(name, advantages, digits, bits)
        order = sorted(range(len(ends)), key=lambda i: ends[i][0], reverse=True)
        if all(
            ends[i][0] > max((ends[j][1] for j in order[rank:]), default=-mpmath.inf)
            for rank, i in enumerate(order[:k], start=1)
        ):
            return order[:k]
        bits *= 2


def exact_advantages(scores: Sequence[Any], scale: Fraction, sign: int) -> list[Fraction]:
    """The scores in units of the scale, the larger the better, as rationals (one constant subtracted from all)."""
    origin = Fraction(sorted(scores)[len(scores) // 2])
    return [sign * (Fraction(score) - origin) / scale for score in scores]


def enclosures(name: str, advantages: Sequence[Fraction], digits: Digits, bits: int) -> list[tuple[Any, Any]]:
    """Intervals that hold the noisy advantages, from the first ``bits`` digits of the uniforms."""
    size = int(max(map(abs, advantages))) + 1
    with mpmath.workdps(int(bits * 0.302) + len(str(size.bit_length())) + int(size.bit_length() * 0.302) + 10):
        slack = mpmath.mpf(10) ** (-mpmath.mp.dps + int(size.bit_length() * 0.302) + 8)
        result = []
        for i, advantage in enumerate(advantages):
            n = digits(i, bits)
            assert 0 < n < 2**bits - 1, "a test stream of zeros or ones only"
            quantile, shift = noise.QUANTILE[name], noise.number(advantage)
            lower, upper = quantile(Fraction(n, 2**bits)), quantile(Fraction(n + 1, 2**bits))
            result.append((shift + lower - slack, shift + upper + slack))
        return result
