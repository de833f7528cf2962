"""The bound of a privacy curve of several steps, each of which obeys a curve of its own that was fixed in advance.

Proof: proofs/spaces/curves/covers.tex
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gmpy2 import mpz

from ...errors import checks
from ...errors.checks import Number
from ...numerics.arithmetic import exact, one_minus_exp_up, round_up
from .covers import DIGITS, ONE, Cover
from .curve import PrivacyCurve
from .dots import dots
from .grids import grid, surely_beyond

_NEARLY_ONE = 1 - 2.0**-53  # the greatest float below 1
_MOST_STEPS = 2**20  # of more a grid is too coarse to say more than their rho does
_FARTHEST = 64  # epsilons up to here are in use: where steps say nothing at any of them, adding up is not worth it

Parts = tuple[tuple[PrivacyCurve, int], ...]


# proof-region: composed
@dataclass(frozen=True)
class Composed:
    """What steps say together, ``count`` >= 1 of them obeying ``curve``, for each (curve, count) of ``parts``.

    The curve of each step is joined by chords between the nodes of a grid, and the laws of losses so defined are
    convolved: exact integers, every rounding upward. No delta below about count * 10^-30 is resolved. The curves of
    ``parts`` differ: counts of equal ones are added up when the bound is made.
    """

    parts: Parts
    takes_long: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts: dict[PrivacyCurve, int] = {}
        for curve, count in self.parts:
            counts[curve] = counts.get(curve, 0) + checks.count("count", count)  # [distinct]
        object.__setattr__(self, "parts", tuple(counts.items()))

    def __call__(self, epsilon: Number) -> float:
        if epsilon < _begins(self.parts):
            return 1.0  # [one-step-says-nothing]
        h, infinite, first, beyond = _beyond(self.parts)
        e = exact(epsilon)
        place = max(e // h + 1, first)  # [cell]
        if place - first >= len(beyond):
            return _delta(Fraction(infinite, ONE))  # [above-all]
        weight, damped = beyond[place - first]
        decay = 1 - one_minus_exp_up(place * h - e)  # [decay]
        return _delta((int(weight) - decay * int(damped)) / ONE)  # [hockey-stick]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too: whether ``other`` has these steps, and maybe more.

        Steps of one curve each are compared bound by bound.
        """
        if not isinstance(other, Composed):
            return False
        if len(self.parts) == len(other.parts) == 1:
            (curve, count), (wider, most) = *self.parts, *other.parts
            return count <= most and all(_follows(bound, curve) for bound in wider.bounds)  # [one-kind]
        counts = dict(other.parts)
        return all(count <= counts.get(curve, 0) for curve, count in self.parts)  # [implies]


def _follows(bound: Any, curve: PrivacyCurve) -> bool:
    """Whether a bound of ``curve`` is ``bound``, or implies it."""
    return any(own == bound or (hasattr(own, "implies") and own.implies(bound)) for own in curve.bounds)  # [follows]


def _delta(value: Fraction) -> float:
    return round_up(min(Fraction(1), value))  # [delta-up]


@functools.lru_cache(maxsize=64)
def _begins(parts: Parts) -> float:
    """The epsilon below which a step alone says nothing, so that no grid is worth its work; infinity beyond all use."""
    if sum(count for _, count in parts) > _MOST_STEPS:
        return math.inf  # [many]
    first = max(curve.epsilon(_NEARLY_ONE) if curve.delta(0) == 1 else 0.0 for curve, _ in parts)
    return math.inf if first > _FARTHEST or surely_beyond(parts, _FARTHEST) else first  # [far]


@functools.lru_cache(maxsize=16)
def _beyond(parts: Parts) -> tuple[Fraction, int, int, list[tuple[mpz, mpz]]]:
    """The grid's step h, the mass at infinity, and sums over the other masses in a cover of all steps.

    For i = ``first``, ``first`` + 1, ...: all of the mass at losses >= i h, and a number not above the sum of mass
    e^(i h - loss) there. Between 0 and ``first`` h, the third number, is no mass.
    """
    h, reads = grid(parts)  # [grid]
    powers = (_power(*part, every * h, every, n) for part, (every, n) in zip(parts, reads, strict=True))
    cover = functools.reduce(Cover.__mul__, powers)  # [product]
    decay = math.floor((1 - one_minus_exp_up(h)) * ONE)  # [decay-down]
    weight, damped, beyond = cover.infinite, mpz(0), []
    first = max(cover.lowest, 0)  # [first]
    for mass in reversed(cover.masses[first - cover.lowest :]):
        weight, damped = weight + mass, mass + (decay * damped >> DIGITS)  # [sums]
        beyond.append((weight, damped))
    return h, int(cover.infinite), first, beyond[::-1]


@functools.lru_cache(maxsize=4)
def _power(curve: PrivacyCurve, count: int, step: Fraction, every: int, n: int) -> Cover:
    """A cover of ``count`` steps that obey ``curve``, which is read at n multiples of ``step`` on a finer grid."""
    return dots(curve, step, n).spread(every).power(count)  # [powers]


# end-proof-region: composed
