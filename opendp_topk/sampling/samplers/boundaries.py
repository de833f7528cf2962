"""Where the cumulative law of noise on the integers steps from one value to the next, in fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from gmpy2 import mpq

from ...numerics.arithmetic import Intervals, as_mpq

_GUARD = 64  # bits of fixed point beyond the digits asked for: errors grow like the cube of the number of steps
_MARGIN = 8  # bits of MPFR beyond those of the fixed point


# proof-region: boundaries
@dataclass(frozen=True)
class Weights:
    """w(x) = exp(-(linear x + square x^2)) for x = 0, 1, 2, ...: the weight of an integer of size x."""

    linear: Fraction
    square: Fraction

    def coarse(self, shift: int) -> Weights:
        """The weights of the multiples of 2^shift, of which x is the x-th."""
        return Weights(self.linear * 2**shift, self.square * 4**shift)  # [coarse]

    def level(self, x: int) -> mpq:
        """-ln w(x), exactly."""
        return as_mpq(self.linear) * x + as_mpq(self.square) * x * x  # [level]


@dataclass(frozen=True)
class Boundaries:
    """P(Z < z) for z from ``least + 1`` on: ``ends[i] <= 2^digits P(Z < least + 1 + i) <= ends[i] + width``."""

    ends: list[int]
    width: int
    least: int


def boundaries(weights: Weights, digits: int, *, mirrored: bool) -> Boundaries:
    """Those of the integers Z whose size H has this weight: Z = H or -H, or, unless ``mirrored``, Z = H or -1 - H."""
    sums, rest, bits = _sums(weights, digits, mirrored)
    k, total, half = len(sums), sums[-1], 1 << digits - 1
    error = 2 * k**3  # [error]
    inverse = (1 << 2 * bits) // (total + error + rest)  # [inverse]
    width = 3 + (2 * error + rest << digits - 1) // total  # [width]
    above = [part * inverse >> 2 * bits - digits + 1 for part in sums]  # [above]
    below = [half - end - width for end in reversed(above)]  # [below]
    ends = [*below, *([] if mirrored else [half]), *(half + end for end in above)]  # [ends]
    return Boundaries(ends, width, -k - (not mirrored))


def _sums(weights: Weights, digits: int, halved: bool) -> tuple[list[int], int, int]:
    """Sums of the first weights, from 1 of them to K, and a bound on the others, in units of 2^-bits."""
    bits = digits + _GUARD
    one = 1 << bits
    ratio, bend = _power(weights.linear + weights.square, bits), _power(2 * weights.square, bits)  # [factors]
    sizes, weight = [], one
    while weight << digits > one - ratio:  # [enough]
        sizes.append(weight)
        weight, ratio = weight * ratio >> bits, ratio * bend >> bits  # [next]
    sizes[0] >>= halved  # [halved]
    k = len(sizes)
    rest = (weight + 6 * k * k << bits) // (one - ratio - 4 * (k + 1)) + 1  # [rest]
    return list(accumulate(sizes)), rest, bits


def _power(exponent: Fraction, bits: int) -> int:
    """floor(2^bits y) for a y that is e^-exponent, or less by next to nothing."""
    if exponent == 0:
        return 1 << bits  # [no-bend]
    contexts = Intervals(bits + _MARGIN)
    lower, _ = contexts.exp(contexts.rational(-as_mpq(exponent)))
    return int(mpq(lower) * (1 << bits) // 1)  # [power]


# end-proof-region: boundaries
