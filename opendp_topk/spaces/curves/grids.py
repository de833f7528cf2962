"""How fine the grid of a composition is: heuristics alone, since every grid gives an upper bound.

A grid of step h costs no more than a further release of range h after every release, which is h^2 / 8 of zCDP
(proofs/spaces/curves/covers.tex). With h at a hundredth of the standard deviation of a loss it adds about 0.001 % to
epsilon, and at a twentieth 0.03 %. Where there are few steps, a small delta lies in the tails of each, and the grid is
finer.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from ...numerics.arithmetic import round_up
from .covers import Cover
from .curve import PrivacyCurve
from .dots import dots

# How far apart the nodes of a step's curve are, as a part of its standard deviation: as close as is of use, and at
# most, if more work can help it. Where all losses end within six deviations, as those of few steps do, the ends show,
# and closer is of use.
_FINE, _MOST_COARSE, _ENDS = 0.03, 0.05, 6
# Values of all curves together, some tens of microseconds each, and nodes of the last convolution: as a rule, and at
# most, where losses would be resolved too coarsely.
_VALUES, _MOST_VALUES = 4096, 16384
_NODES, _MOST_NODES = 2.0**15, 2.0**18
_COARSE = 16  # nodes of the first look at a curve, which tells its variance
_TAILS = 24  # standard deviations from one end to the other: beyond is less than 2^-100 of a normal law
_TAIL = 2.0**-100
_FARTHEST, _NEAREST = 2.0**20, 2.0**-60  # epsilons in use, and the least step that the arithmetic takes
# Of its reach, a curve's deviation is taken to be this at least: where nearly all losses are one, as of noise far too
# small, nodes would have no end.
_NARROWEST = 2.0**-20


def grid(parts: tuple[tuple[PrivacyCurve, int], ...]) -> tuple[Fraction, list[tuple[int, int]]]:
    """The step h of the grid, and for each part every how many nodes its curve is read, and how often.

    Each part may add as much as any other to the variance of all losses.
    """
    reaches, _, spreads = zip(*(_moments(curve) for curve, _ in parts), strict=True)
    counts = [count for _, count in parts]
    deviation = math.sqrt(sum(count * spread * spread for count, spread in zip(counts, spreads, strict=True)))
    shares = [deviation / math.sqrt(len(parts) * count) for count in counts]
    values = sum(reach / share for reach, share in zip(reaches, shares, strict=True)) if deviation > 0 else 0.0
    end = sum(count * reach for count, reach in zip(counts, reaches, strict=True))
    wanted = _FINE * (end / deviation / _ENDS) ** 4 if end < _ENDS * deviation else _FINE
    fine = _allowed(wanted, values / _VALUES, values / _MOST_VALUES)
    width = min(2 * end, _TAILS * deviation + 2 * max(reaches))
    least = min(shares)
    nodes = width / least if least > 0 else 0.0
    step = max(least * _allowed(fine, nodes / _NODES, nodes / _MOST_NODES), _NEAREST)
    first = max(zip(counts, reaches, strict=True), key=lambda pair: pair[0] * pair[1])[1]
    h = Fraction(round_up(Fraction(first) / math.ceil(first / step))) if first > 0 else Fraction(1)
    h = max(h, Fraction(step) if first < step else Fraction(_NEAREST))
    every = [max(1, math.floor(fine * share / float(h))) for share in shares]
    return h, [
        (stride, max(1, math.ceil(Fraction(reach) / (stride * h))))
        for reach, stride in zip(reaches, every, strict=True)
    ]


def surely_beyond(parts: tuple[tuple[PrivacyCurve, int], ...], farthest: float) -> bool:
    """Whether next to all of what the steps lose together is about more than ``farthest``."""
    moments = [(count, *_moments(curve)) for curve, count in parts]
    deviation = math.sqrt(sum(count * spread * spread for count, *_, spread in moments))
    return sum(count * mean for count, _, mean, _ in moments) - _TAILS / 2 * deviation > farthest


def _allowed(wanted: float, usual: float, least: float) -> float:
    """As fine as ``wanted``, but coarser where that is more work than is usual, or most of all where it has to be."""
    return max(wanted, min(usual, max(_MOST_COARSE, least)))


def _reach(curve: PrivacyCurve) -> float:
    """The epsilon from which on a curve hardly falls any more."""
    return min(curve.epsilon(min(1.0, max(_TAIL, curve.delta(_FARTHEST)))), _FARTHEST)


@functools.lru_cache(maxsize=64)
def _moments(curve: PrivacyCurve) -> tuple[float, float, float]:
    """The reach, and about the mean and the deviation of the finite losses, at least a small part of the reach."""
    reach = _reach(curve)
    if reach <= _NEAREST:
        return reach, 0.0, 0.0
    h = Fraction(reach) / _COARSE
    cover: Cover = dots(curve, h, _COARSE)
    whole = float(sum(cover.masses))
    losses = [float(h) * (cover.lowest + i) for i in range(len(cover.masses))]
    shares = [float(mass) / whole for mass in cover.masses] if whole else [0.0 for _ in losses]
    mean = sum(share * loss for share, loss in zip(shares, losses, strict=True))
    variance = sum(share * (loss - mean) ** 2 for share, loss in zip(shares, losses, strict=True))
    return reach, mean, max(math.sqrt(variance), _NARROWEST * reach)
