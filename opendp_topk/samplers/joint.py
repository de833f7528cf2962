"""The joint exponential mechanism over all rankings, or sets, of k candidates, drawn exactly without listing them.

The loss of an output is its largest gap max_i (x_[i] - x_{S[i]}), in units of the scale. Outputs are proposed in
nested layers: layer j holds all outputs with a loss up to some level, equally likely, and the last layer all outputs.
An output is accepted with the probability that turns the total of its proposals into e^(-loss).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import floor
from typing import Any, NamedTuple

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from . import ceilings
from .canonical import accepted
from .entropy import SYSTEM, Entropy, Indices
from .shortfalls import Ranked, ranked
from .subsets import below

_LN2 = Fraction(0.6931471805599454)  # above ln 2 = 0.69314718055994530..., so that no layer ends too early
_SPARE = 10  # the last layer, of all outputs, is proposed about once in 2^10 times
_NEGLIGIBLE = 8  # layers lighter than about 2^-8 of the heaviest are not worth splitting
_NARROW = 3  # weights in a layer differ by a factor of 8 at most, so that a good part of its proposals is accepted


class Layer(NamedTuple):
    """All outputs under ``ceilings``, ``size`` in number; it is the first layer of those with a loss > start ln 2."""

    start: int
    ceilings: list[int]
    size: int


# proof-region: joint
def draw(
    values: NDArray[Any], scale: Fraction, k: int, *, sign: int, ordered: bool, entropy: Entropy = SYSTEM
) -> Indices:
    """k indices with a probability proportional to exp(-max_i (x_[i] - x_{S[i]}) / scale), x being ``sign * values``.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        k: The number of winners, 1 <= k <= d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for a ranking, S[i] its i-th index; False for a set, S[i] its i-th best member.
        entropy: The source of digits.

    Returns:
        int64 array of shape (k,), ascending if not ``ordered``.
    """
    scores = ranked(values, sign)
    step = scores.unit / scale
    nested = layers(scores, step, k, ordered)
    starts = [layer.start for layer in nested]
    shares = _shares(starts)
    proposals = list(accumulate(share * layer.size for share, layer in zip(shares, nested, strict=True)))  # [proposals]
    while True:
        layer = nested[bisect_right(proposals, below(proposals[-1], entropy))]  # [propose]
        ranks = ceilings.draw(layer.ceilings, ordered, entropy)  # [uniform]
        loss = scores.loss(ranks) * step  # [loss]
        first = max(bisect_left(starts, loss, key=_level) - 1, 0)  # [first-layer]
        if accepted(mpq(-loss), mpq(1, 1 << starts[first]), None, entropy):  # [accept]
            chosen = scores.order[ranks]
            return chosen if ordered else np.sort(chosen)  # [release]


def layers(scores: Ranked, step: Fraction, k: int, ordered: bool) -> list[Layer]:
    """Nested layers: one that starts at a holds the outputs with a loss up to b ln 2, b being the next one's start.

    The first starts at 0; the last holds all outputs. Where weight may be, starts are at most 3 apart.
    """

    def layer(start: int, end: int) -> Layer:
        reached = scores.ceilings(k, floor(_level(end) / step))  # [reached]
        return Layer(start, reached, ceilings.count(reached, ordered))

    everything = [len(scores.steps)] * k
    total = ceilings.count(everything, ordered)
    last = total.bit_length() + _SPARE  # [last-start]
    heaviest = layer(0, 0).size.bit_length()
    kept = [Layer(last, everything, total)]  # [last-layer]
    open_layers: list[tuple[int, int, int, Layer]] = []

    def push(end: int, new: Layer) -> None:
        heappush(open_layers, (new.start - new.size.bit_length(), new.start, end, new))

    push(last, layer(0, last))
    while open_layers:
        bound, start, end, found = heappop(open_layers)
        if end - start <= _NARROW or -bound <= heaviest - _NEGLIGIBLE:
            kept.append(found)
            continue
        middle = (start + end) // 2
        left = layer(start, middle)  # [split]
        heaviest = max(heaviest, left.size.bit_length() - middle)
        push(middle, left)
        push(end, found._replace(start=middle))
    return sorted(kept)


def _shares(starts: list[int]) -> list[int]:
    """How often each output of a layer is proposed from this layer, in units of 2 ** -starts[-1]."""
    return [(1 << starts[-1] - a) - (1 << starts[-1] - b) for a, b in pairwise(starts)] + [1]  # [shares]


def _level(bits: int) -> Fraction:
    """A loss of at least ``bits`` ln 2, in units of the scale."""
    return bits * _LN2  # [level]


# end-proof-region: joint
