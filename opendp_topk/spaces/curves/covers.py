"""Measures of losses on a grid that bound a privacy curve from above, multiplied in exact integer arithmetic.

Proof: proofs/spaces/curves/covers.tex
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz

# Digits of a unit of mass, 2^-128: rounding up a grid of a million nodes adds 10^-32. What weighs less than
# 2^-100 at either end of a grid is moved up, which no delta in use notices.
# proof-region: covers
DIGITS = 128
ONE = 1 << DIGITS
_LIGHT = mpz(1) << DIGITS - 100


@dataclass(frozen=True)
class Cover:
    """``masses[i]`` units at the loss (``lowest`` + i) h, h the step of a grid, and ``infinite`` units at infinity."""

    lowest: int
    masses: tuple[mpz, ...]
    infinite: mpz

    @property
    def total(self) -> mpz:
        """All of the mass."""
        return sum(self.masses, self.infinite)

    def __mul__(self, other: Cover) -> Cover:
        """A cover of two steps, of which this covers one and ``other`` the other one."""
        whole = self.total
        others = whole if other is self else other.total
        digits = int(whole * others + ONE).bit_length()  # [slot]
        one = gmpy2.pack(list(self.masses), digits)  # [pack]
        joint = one * (one if other is self else gmpy2.pack(list(other.masses), digits))  # [convolution]
        nodes = len(self.masses) + len(other.masses) - 1
        masses = gmpy2.unpack(_units_up(joint, nodes, digits), digits)  # [mass-up]
        infinite = self.infinite * others + (whole - self.infinite) * other.infinite  # [either-infinite]
        return Cover(self.lowest + other.lowest, tuple(masses), (infinite + (ONE - 1)) >> DIGITS)._trimmed()

    def power(self, count: int) -> Cover:
        """A cover of ``count`` >= 1 steps of which this covers each, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        return half * half * self if count % 2 else half * half  # [square]

    def spread(self, every: int) -> Cover:
        """The same on a grid whose step is so many times smaller."""
        masses = [mpz(0)] * ((len(self.masses) - 1) * every + 1)
        masses[::every] = self.masses  # [spread]
        return Cover(self.lowest * every, tuple(masses), self.infinite)

    def _trimmed(self) -> Cover:
        """Light masses at the top moved to infinity, and those at the bottom up to the lowest node that stays."""
        top = _light(reversed(self.masses))
        bottom = _light(self.masses[: len(self.masses) - top])
        kept = self.masses[bottom : len(self.masses) - top]
        if not kept:
            return Cover(0, (mpz(0),), self.total)  # [all-light]
        below, above = sum(self.masses[:bottom], mpz(0)), sum(self.masses[len(self.masses) - top :], mpz(0))
        return Cover(self.lowest + bottom, (kept[0] + below, *kept[1:]), self.infinite + above)  # [move-up]


def _units_up(joint: mpz, nodes: int, digits: int) -> mpz:
    """The digits of ``joint`` in base 2^``digits``, each at most 2^digits - 2^128, in units, rounded up."""
    ones = ((mpz(1) << nodes * digits) - 1) // ((mpz(1) << digits) - 1)  # [ones]
    return (joint + ones * (ONE - 1)) >> DIGITS & ones * ((mpz(1) << digits - DIGITS) - 1)


def _light(masses: Iterable[mpz]) -> int:
    """How many of the first masses weigh no more than 2^-100 together."""
    return len(list(itertools.takewhile(_LIGHT.__ge__, itertools.accumulate(masses))))


# end-proof-region: covers
