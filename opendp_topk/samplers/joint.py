"""The joint exponential mechanism over all rankings, or sets, of k candidates, drawn exactly without listing them.

The loss of an output is its largest gap max_i (x_[i] - x_{S[i]}), in units of the scale. Outputs are proposed in
nested layers: layer j holds all outputs with a loss up to some level, equally likely, and the last layer all outputs.
An output is accepted with the probability that turns the total of its proposals into e^(-loss).
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from .bins import Bins
from .canonical import accepted
from .ceilings import Rankings
from .entropy import SYSTEM, Entropy, Indices
from .head import head, reaching
from .ladder import Ladder
from .paths import Paths
from .subsets import below
from .walks import Walk, walk

_LN2 = Fraction(0.6931471805599454)  # above ln 2 = 0.69314718055994530..., so that no layer ends too early
_BITS_PER_NAT = 1.4426950408889634  # 1 / ln 2 rounded; the slack where it is used covers the error
_SPARE = 10  # the last layer, of all outputs, is proposed about once in 2^10 times
_NEGLIGIBLE = 8  # layers lighter than about 2^-8 of the heaviest are not worth splitting
_NARROW = 4  # weights in a layer differ by a factor of 16 at most, so that a good part of its proposals is accepted
_MANY = 4  # each so many layers, narrow means one bit more: a proposal in vain costs less than a layer
_FEW = 32  # sets of so few are counted exactly, which takes less time than a walk
_DETAIL, _FINER = 2, 2  # sets: gaps between the conditions that are kept; and how much finer the next attempt is
_CLOSE = 2.0  # sets of a layer are found well enough if a finer walk finds them no more than four times as often
_DIGITS = 40  # weights of layers are integers up to about 2^40


class Layer(NamedTuple):
    """All outputs under ``ceilings``, whose losses are at most ``limit``; 2^log_size bounds their number.

    It is the first layer of those with a loss > start ln 2 scales. Sets are found in so much ``detail``.
    """

    start: int
    limit: float | int
    ceilings: Indices
    log_size: float
    detail: int

    @property
    def log_weight(self) -> float:
        """The logarithm to base 2 of about the weight of all that it is the first layer of, or somewhat more."""
        return self.log_size - self.start


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
    rungs = head(values, sign, k, _level(_last(len(values), k, ordered)) * scale, scale)  # [deep-enough]
    nested = _nested(rungs, scale, k, ordered)
    limits, shares = [layer.limit for layer in nested], _shares([layer.start for layer in nested])
    weights, exponent = _weights(shares, [layer.log_size for layer in nested])
    proposals = list(accumulate(weights))  # [proposals]
    known: dict[int, Rankings | Paths | Walk] = {}
    while True:
        i = bisect_right(proposals, below(proposals[-1], entropy))  # [propose]
        if i not in known:
            known[i] = _outputs(nested[i].ceilings, ordered, nested[i].detail)  # [kept-detail]
        drawn = known[i].draw(entropy)  # [draw]
        if drawn is None:
            continue
        ranks, chance = drawn
        rungs = reaching(rungs, int(np.max(ranks)), values, sign)  # [others]
        loss = rungs.loss(ranks, ordered)  # [loss]
        if loss > limits[i]:
            continue  # [outside]
        first = nested[bisect_left(limits, loss)].start  # [first-layer]
        ratio = weights[i] * chance / shares[i] * mpq(2) ** (exponent - first)  # [ratio]
        if accepted(mpq(-loss / scale), ratio, None, entropy):  # [accept]
            chosen = rungs.candidates(ranks)
            return chosen if ordered else np.sort(chosen)  # [release]


def _nested(rungs: Ladder | Bins, scale: Fraction, k: int, ordered: bool) -> list[Layer]:
    found = layers(rungs, scale, k, ordered)
    return found if ordered or k <= _FEW else _detailed(found)  # [nested]


def _detailed(found: list[Layer]) -> list[Layer]:
    """The same layers of sets, those that are heavy in so much detail that more would not make them much lighter."""
    top = max(found, key=lambda layer: layer.log_weight)
    fine, finer = top, _finer(top, _DETAIL * _FINER)
    while fine.detail < len(top.ceilings) and fine.log_size > finer.log_size + _CLOSE:
        fine, finer = finer, _finer(top, finer.detail * _FINER)
    heaviest, heavy = fine.log_weight, dict.fromkeys([top.start], fine)
    for layer in sorted(found, key=lambda layer: -layer.log_weight):
        if layer.log_weight <= heaviest - _NEGLIGIBLE or fine.detail == _DETAIL:
            break
        heavy[layer.start] = heavy.get(layer.start) or _finer(layer, fine.detail)  # [finer]
        heaviest = max(heaviest, heavy[layer.start].log_weight)
    return [heavy.get(layer.start, layer) for layer in found]


def _finer(layer: Layer, detail: int) -> Layer:
    return layer._replace(log_size=_log_size(layer.ceilings, False, detail), detail=detail)  # [same-layer]


def layers(rungs: Ladder | Bins, scale: Fraction, k: int, ordered: bool) -> list[Layer]:
    """Nested layers: one that starts at a holds the outputs with a loss up to b ln 2, b being the next one's start.

    The first starts at 0; the last holds all outputs. Where weight may be, starts are at most 3 apart.
    """

    def layer(start: int, end: int) -> Layer:
        limit = rungs.limit(_level(end) * scale)
        return new(start, limit, rungs.ceilings(k, limit))  # [reached]

    def new(start: int, limit: float | int, reached: Indices) -> Layer:
        return Layer(start, limit, reached, _log_size(reached, ordered, _DETAIL), _DETAIL)

    last = _last(rungs.everybody, k, ordered)
    kept = [new(last, inf, np.full(k, rungs.everybody))]  # [last-layer]
    heaviest = layer(0, 0).log_size
    open_layers: list[tuple[float, int, int, Layer]] = []

    def push(end: int, found: Layer) -> None:
        heappush(open_layers, (found.start - found.log_size, found.start, end, found))

    push(last, layer(0, last))
    while open_layers:
        bound, start, end, found = heappop(open_layers)
        if end - start <= _NARROW + len(kept) // _MANY or -bound <= heaviest - _NEGLIGIBLE:
            kept.append(found)
            continue
        middle = (start + end) // 2
        left = layer(start, middle)  # [split]
        heaviest = max(heaviest, left.log_size - middle)
        push(middle, left)
        push(end, found._replace(start=middle))
    return sorted(kept, key=lambda layer: layer.start)


@functools.lru_cache(maxsize=64)
def _last(d: int, k: int, ordered: bool) -> int:
    """Where the last layer starts."""
    return ceil(_log_size(np.full(k, d), ordered, _DETAIL)) + _SPARE  # [last-start]


def _outputs(ceilings: Indices, ordered: bool, detail: int) -> Rankings | Paths | Walk:
    if ordered:
        return Rankings(ceilings)
    return Paths(ceilings) if len(ceilings) <= _FEW else walk(ceilings, detail)  # [few]


def _log_size(ceilings: Indices, ordered: bool, detail: int) -> float:
    """An upper bound on log2(1 / P), P being the least probability with which one of these outputs is drawn."""
    return _outputs(ceilings, ordered, detail).log_bound() * _BITS_PER_NAT + 2.0**-20


def _shares(starts: list[int]) -> list[mpq]:
    """How often each output of a layer is to be proposed from this layer: 2^-a - 2^-b, and 2^-a from the last."""
    return [mpq((1 << b - a) - 1, 1 << b) for a, b in pairwise(starts)] + [mpq(1, 1 << starts[-1])]  # [shares]


def _weights(shares: list[mpq], log_sizes: list[float]) -> tuple[list[int], int]:
    """Integers w and an exponent e: 2^e w is at least the share times the size of each layer."""
    logs = [
        size + log2(int(share.numerator)) - log2(int(share.denominator))
        for size, share in zip(log_sizes, shares, strict=True)
    ]
    exponent = ceil(max(logs)) - _DIGITS
    return [int(2 ** (log - exponent) * (1 + 2.0**-20)) + 1 for log in logs], exponent  # [weights]


def _level(bits: int) -> Fraction:
    """A loss of at least ``bits`` ln 2, in units of the scale."""
    return bits * _LN2  # [level]


# end-proof-region: joint
