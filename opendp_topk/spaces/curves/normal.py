"""Closed-form privacy curves of two normal distributions, and of distributions that are nearly functions of them.

Proof: proofs/spaces/curves/normal.tex
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2
from gmpy2 import mpfr

from ...errors.checks import Number
from ...numerics.arithmetic import as_mpq, round_up, to_fraction

_DIGITS = 128  # 75 bits more than a float64; the difference of the two tails cancels only a few of them
_FAR = 64  # in units of the root of two: a tail of e^-4096 is below every positive float64 and slow to evaluate
# The most by which logarithms of probabilities may differ from those of functions of normal distributions.
NEAR = Fraction(1, 2**200)


# proof-region: normal_pair
@dataclass(frozen=True)
class NormalPair:
    """The curve of two normal distributions of variance 1 at squared distance ``squares`` > 0 between their means.

    It is also a bound for randomized functions of them, and for distributions within :data:`NEAR` of such functions.
    """

    squares: Fraction

    def __call__(self, epsilon: Number) -> float:
        down, up = _CONTEXTS
        e, half = to_fraction(epsilon) - 2 * NEAR, self.squares / 2  # [nearer]
        root = [context.sqrt(as_mpq(2 * self.squares)) for context in _CONTEXTS]
        low = down.div(as_mpq(e - half), root[e >= half])  # [lower-argument]
        if low >= _FAR:
            return math.ulp(0.0)  # [far]
        high = up.div(as_mpq(e + half), root[e + half < 0])  # [upper-argument]
        kept = down.mul(down.exp(as_mpq(e)), down.erfc(high))
        top, bottom = up.sub(up.erfc(low), kept).as_integer_ratio()  # [normal-curve]
        return round_up(min(Fraction(1), (1 + 2 * NEAR) * Fraction(int(top), 2 * int(bottom))))  # [delta-up]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``, by exact comparison of the parameters."""
        return isinstance(other, NormalPair) and self.squares <= other.squares


def normal_tail_bound(x: Fraction) -> Fraction:
    """Return a rational not below the probability that a standard normal variable is at least ``x`` >= 0."""
    down, up = _CONTEXTS
    low = down.div(as_mpq(min(x, Fraction(_FAR))), up.sqrt(mpfr(2)))  # [no-farther]
    top, bottom = up.erfc(low).as_integer_ratio()  # [normal-tail]
    return Fraction(int(top), 2 * int(bottom))


_CONTEXTS = tuple(gmpy2.context(precision=_DIGITS, round=way) for way in (gmpy2.RoundDown, gmpy2.RoundUp))
# end-proof-region: normal_pair
