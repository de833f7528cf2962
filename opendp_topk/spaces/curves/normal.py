"""Bounds of privacy curves in closed form: of two normal laws that are apart, and of laws as good as made from them.

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

_DIGITS = 128  # more than a float64 has by 75, of which the difference of the two tails takes few
_FAR = 64  # roots of two: a tail of e^-4096 is less than any float64, and takes long to evaluate
# By how much logarithms of probabilities may differ from those of the laws that are made from normal ones.
NEAR = Fraction(1, 2**200)


# proof-region: normal_pair
@dataclass(frozen=True)
class NormalPair:
    """What normal laws of variance 1 whose means are the root of ``squares`` > 0 apart say, and all made of them."""

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
        """Whether a curve below this one is below ``other``, too; exact comparison of the parameters."""
        return isinstance(other, NormalPair) and self.squares <= other.squares


def normal_tail_bound(x: Fraction) -> Fraction:
    """A rational, not below the probability that a standard normal variable is at least ``x`` >= 0."""
    down, up = _CONTEXTS
    low = down.div(as_mpq(min(x, Fraction(_FAR))), up.sqrt(mpfr(2)))  # [no-farther]
    top, bottom = up.erfc(low).as_integer_ratio()  # [normal-tail]
    return Fraction(int(top), 2 * int(bottom))


_CONTEXTS = tuple(gmpy2.context(precision=_DIGITS, round=way) for way in (gmpy2.RoundDown, gmpy2.RoundUp))
# end-proof-region: normal_pair
