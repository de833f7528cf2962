"""How fine the grid of a composition is: heuristics alone, since every grid gives an upper bound.

A grid of step h costs no more than a further release of range h after every release, which is h^2 / 8 of zCDP
(proofs/spaces/curves/covers.tex). With h below a twentieth of the standard deviation of a loss it adds about 0.03 % to
epsilon.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ...numerics.arithmetic import round_up
from .covers import Cover
from .curve import PrivacyCurve
from .dots import dots

# Values of all curves together, some tens of microseconds each, and nodes of the last convolution: as a rule, and at
# most, where losses would be resolved too coarsely.
_VALUES, _MOST_VALUES = 4096, 16384
_NODES, _MOST = 2.0**15, 2.0**18
_COARSE = 16  # nodes of the first look at a curve, which tells its variance
_RESOLVED = 0.05  # of the standard deviation of a loss
_TAILS = 24  # standard deviations from one end to the other: beyond is less than 2^-100 of a normal law
_TAIL = 2.0**-100
_FARTHEST, _NEAREST = 2.0**20, 2.0**-60  # epsilons in use, and the least step that the arithmetic takes


def grid(parts: tuple[tuple[PrivacyCurve, int], ...]) -> tuple[Fraction, list[int]]:
    """The step h of the grid, and how many steps each part's curve reaches from 0."""
    reaches = [_reach(curve) for curve, _ in parts]
    counts = [count for _, count in parts]
    spreads = [_deviation(curve, reach) for (curve, _), reach in zip(parts, reaches, strict=True)]
    variance = sum(count * spread * spread for count, spread in zip(counts, spreads, strict=True))
    ends = sum(2 * count * reach for count, reach in zip(counts, reaches, strict=True))
    width = min(ends, _TAILS * math.sqrt(variance) + 2 * max(reaches))
    resolved = _RESOLVED * math.sqrt(variance / sum(counts))
    step = max(sum(reaches) / _VALUES, width / _NODES)
    step = max(min(step, max(resolved, width / _MOST)), sum(reaches) / _MOST_VALUES, _NEAREST)
    first = max(zip(counts, reaches, strict=True), key=lambda pair: pair[0] * pair[1])[1]
    h = Fraction(round_up(Fraction(first) / math.ceil(first / step))) if first > 0 else Fraction(1)
    h = max(h, Fraction(_NEAREST))
    return h, [max(1, math.ceil(Fraction(reach) / h)) for reach in reaches]


def _reach(curve: PrivacyCurve) -> float:
    """The epsilon from which on a curve hardly falls any more."""
    return min(curve.epsilon(min(1.0, max(_TAIL, curve.delta(_FARTHEST)))), _FARTHEST)


def _deviation(curve: PrivacyCurve, reach: float) -> float:
    """About the standard deviation of the finite losses."""
    if reach <= _NEAREST:
        return 0.0
    h = Fraction(reach) / _COARSE
    cover: Cover = dots(curve, h, _COARSE)
    whole = float(sum(cover.masses))
    losses = [float(h) * (cover.lowest + i) for i in range(len(cover.masses))]
    shares = [float(mass) / whole for mass in cover.masses] if whole else [0.0 for _ in losses]
    mean = sum(share * loss for share, loss in zip(shares, losses, strict=True))
    return math.sqrt(sum(share * (loss - mean) ** 2 for share, loss in zip(shares, losses, strict=True)))
