"""The joint exponential mechanism over all rankings, or sets, of k candidates, drawn exactly without listing them.

The loss of an output is its largest gap max_i (x_[i] - x_{S[i]}), in units of the scale. Outputs are proposed in
nested layers: layer j contains all outputs with a loss up to some level, equally likely, and the last layer contains
all outputs. An output is accepted with the probability that turns the total of its proposals into e^(-loss).
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, inf, log2
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import as_mpq
from .bins import BinnedScores, extend_to_rank, order_best_scores
from .canonical import accept_proposal
from .ceilings import Paths, Rankings
from .entropy import SYSTEM, Entropy, Indices
from .ladder import SortedScores
from .subsets import draw_below
from .walks import Walk, build_walks

_LN2 = Fraction(0.6931471805599454)  # above ln 2 = 0.69314718055994530..., so that no layer ends too early
_BITS_PER_NAT = 1.4426950408889634  # 1 / ln 2 rounded; the slack at its use covers the error
_SPARE = 10  # the last layer, of all outputs, is proposed about once in 2^10 times
_NARROW = 4  # a layer weighs at most 16 times the outputs of the heaviest one, so a good part of proposals is accepted
_COARSE = 64  # the same in bits in the first detail, before it is known in which one the layers will be drawn
_FEW = 32  # sets of up to this size are counted exactly, which takes less time than a walk
_DETAIL, _FINER = 2, 2  # sets: gaps between kept conditions, and the factor by which the next attempt is finer
_CLOSE, _ANEW = 2.0, 8.0  # bits that a finer walk must gain to be worth its time: at first, and for all layers anew
_PATIENCE = 2**8  # rejected proposals, after which better layers are worth their time
_DIGITS = 40  # weights of layers are integers up to about 2^40


Outputs: TypeAlias = Rankings | Paths | Walk


class Layer(NamedTuple):
    """All ``outputs`` under ceilings, with losses of at most ``limit``; 2^log_size bounds their number.

    It is the first layer of the outputs with a loss above start ln 2 and up to end ln 2, in units of the scale. Sets
    are found in this ``detail``.
    """

    start: int
    end: int
    limit: float | int
    outputs: Outputs
    log_size: float
    detail: int

    @property
    def log_weight(self) -> float:
        """Base-2 logarithm of about the weight of all outputs whose first layer this is, or somewhat more."""
        return self.log_size - self.start

    @property
    def log_floor(self) -> float:
        """Base-2 logarithm of about the weight of all outputs in it, or somewhat less, if ``log_size`` is close."""
        return self.log_size - self.end


# proof-region: joint
@dataclass(frozen=True, eq=False)
class SelectionTask:
    """The task: to select k winners, in order or not, at a scale, of scores that are known by their ranks."""

    rungs: SortedScores | BinnedScores
    scale: Fraction
    k: int
    ordered: bool

    @property
    def is_counted_exactly(self) -> bool:
        """Whether the outputs under ceilings are counted exactly, so that detail does not apply."""
        return self.ordered or self.k <= _FEW

    def build_layers(self, spans: list[tuple[int, int]], detail: int) -> list[Layer]:
        """Return for each (start, end) the layer of all outputs with a loss up to end ln 2 scales."""
        limits = [self.rungs.difference_limit(_loss_from_bits(end) * self.scale) for _, end in spans]
        ceilings = [self.rungs.rank_ceilings(self.k, limit) for limit in limits]
        reached = _outputs_under_ceilings(ceilings, self.ordered, detail)  # [reached]
        found = []
        for (start, end), limit, outputs in zip(spans, limits, reached, strict=True):
            if limit < inf:
                end = min(end, ceil(Fraction(limit) / (_loss_from_bits(1) * self.scale)))  # [no-later]
            found.append(Layer(start, end, limit, outputs, _log_size(outputs), detail))
        return found

    def latest_end(self, end: int) -> int:
        """Return the last end with the same limit as this one; integers have few limits if the scale is small."""
        limit = self.rungs.difference_limit(_loss_from_bits(end) * self.scale)
        following = end + 1 if isinstance(limit, float) else ceil((limit + 1) / (_loss_from_bits(1) * self.scale))
        return max(end, following - 1)  # [latest]

    def refine_layers(self, layers: list[Layer], detail: int) -> list[Layer]:
        """Return the same layers in another detail."""
        outputs: Sequence[Outputs] = [layer.outputs for layer in layers]
        if not self.is_counted_exactly:
            outputs = _outputs_under_ceilings([each.ceilings for each in outputs], False, detail)
        return [
            layer._replace(outputs=each, log_size=_log_size(each), detail=detail)  # [same-layer]
            for layer, each in zip(layers, outputs, strict=True)
        ]


def draw_output(
    values: NDArray[Any], scale: Fraction, k: int, *, sign: int, ordered: bool, entropy: Entropy = SYSTEM
) -> Indices:
    """Draw k indices with probability proportional to exp(-max_i (x_[i] - x_{S[i]}) / scale), x = ``sign * values``.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        k: The number of winners, 1 <= k <= d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for a ranking, S[i] its i-th index; False for a set, S[i] its i-th best member.
        entropy: The source of digits; by default the operating system.

    Returns:
        int64 array of shape (k,), ascending if not ``ordered``.
    """
    return next(draw_outputs(values, scale, k, sign=sign, ordered=ordered, entropy=entropy))


def draw_outputs(
    values: NDArray[Any], scale: Fraction, k: int, *, sign: int, ordered: bool, entropy: Entropy = SYSTEM
) -> Iterator[Indices]:
    """Yield results of :func:`draw_output` without end; layers are found once, and improved layers are kept."""
    rungs = order_best_scores(
        values, sign, k, _loss_from_bits(_last_layer_start(len(values), k, ordered)) * scale, scale
    )  # [deep-enough]
    task = SelectionTask(rungs, scale, k, ordered)
    nested = build_layers(task)
    while True:
        chosen = _attempt_draw(task, nested, values, sign, entropy)
        if chosen is None:
            nested = improve_layers(task, nested)  # [again]
        else:
            yield chosen if ordered else np.sort(chosen)  # [release]


def _attempt_draw(
    task: SelectionTask, nested: list[Layer], values: NDArray[Any], sign: int, entropy: Entropy
) -> Indices | None:
    """Return an output, or None after so many rejected proposals that better layers are worth their time."""
    rungs, limits, shares = (
        task.rungs,
        [layer.limit for layer in nested],
        _proposal_shares([layer.start for layer in nested]),
    )
    weights, exponent = _integer_weights(shares, [layer.log_size for layer in nested])
    proposals = list(accumulate(weights))  # [proposals]
    for _ in range(_PATIENCE):
        i = bisect_right(proposals, draw_below(proposals[-1], entropy))  # [propose]
        drawn = nested[i].outputs.draw_ranks(entropy)  # [draw]
        if drawn is None:
            continue
        ranks, chance = drawn
        rungs = extend_to_rank(rungs, int(np.max(ranks)), values, sign)  # [others]
        loss = rungs.output_loss(ranks, task.ordered)  # [loss]
        if loss > limits[i]:
            continue  # [outside]
        first = nested[bisect_left(limits, loss)].start  # [first-layer]
        ratio = weights[i] * chance / shares[i] * mpq(2) ** (exponent - first)  # [ratio]
        if accept_proposal(as_mpq(-loss / task.scale), ratio, None, entropy):  # [accept]
            return rungs.candidates_at_ranks(ranks)
    return None  # [in-vain]


def build_layers(task: SelectionTask) -> list[Layer]:
    """Return nested layers: one that starts at a has the outputs with a loss up to b ln 2, with b the next start.

    The first layer starts at 0; the last contains all outputs. Sets of layers that may be heavy are found in detail,
    and none of these layers is much heavier than the heaviest outputs.
    """
    last = _last_layer_start(task.rungs.candidate_count, task.k, task.ordered)
    everything = _all_outputs(task.rungs.candidate_count, task.k, task.ordered)
    rest = Layer(last, last, inf, everything, _log_size(everything), _DETAIL)  # [last-layer]
    found = _split_heavy_layers(task, [*task.build_layers([(0, last)], _DETAIL), rest], _DETAIL, _COARSE)
    known, detail = -1, _DETAIL  # no layer ends there
    while True:
        top = _heaviest_layer(layer for layer in found[:-1] if layer.detail == detail)
        fine = top if top.end == known else _refine_until_close(task, top, _CLOSE if known < 0 else _ANEW)
        if known >= 0 and fine is top:
            return found
        known, detail = fine.end, fine.detail
        found = [fine if layer is top else layer for layer in found]  # [finer-top]
        found = _split_heavy_layers(task, found, detail, _NARROW)


def improve_layers(task: SelectionTask, found: list[Layer]) -> list[Layer]:
    """Return the same layers, those that may be heavy in more detail if more is possible."""
    detail, top = max(layer.detail for layer in found), _heaviest_layer(found[:-1])
    if detail < task.k:
        detail *= _FINER
    (fine,) = task.refine_layers([top], detail)  # [more-detail]
    return _split_heavy_layers(task, [fine if layer is top else layer for layer in found], detail, _NARROW)


def _refine_until_close(task: SelectionTask, layer: Layer, gain: float) -> Layer:
    """Return the layer with sets in so much detail that twice as much makes it at most ``gain`` lighter."""
    if task.is_counted_exactly or layer.detail >= task.k:
        return layer
    (finer,) = task.refine_layers([layer], layer.detail * _FINER)
    return layer if layer.log_size <= finer.log_size + gain else _refine_until_close(task, finer, gain)


def _split_heavy_layers(task: SelectionTask, found: list[Layer], detail: int, narrow: int) -> list[Layer]:
    """Return the same layers, those that may be heavy in this detail, as one already is, and split until narrow."""
    *kept, rest = found
    while True:
        kept.sort(key=lambda layer: layer.start)
        most = max(layer.log_floor for layer in kept if layer.detail == detail) + narrow
        coarse = [layer for layer in kept if layer.log_weight > most and layer.detail < detail]
        wide = [layer for layer in kept if layer.log_weight > most and layer.detail == detail]
        if not coarse and not wide:
            return [*kept, rest]
        middles = [min(task.latest_end((layer.start + layer.end) // 2), layer.end - 1) for layer in wide]
        halves = [(layer.start, middle) for layer, middle in zip(wide, middles, strict=True)]
        kept = [layer for layer in kept if layer.log_weight <= most]  # [light]
        kept += task.refine_layers(coarse, detail)  # [finer]
        kept += task.build_layers(halves, detail)  # [split]
        kept += [layer._replace(start=middle) for layer, middle in zip(wide, middles, strict=True)]


def _heaviest_layer(layers: Iterable[Layer]) -> Layer:
    return max(layers, key=lambda layer: layer.log_floor)


@functools.lru_cache(maxsize=64)
def _last_layer_start(d: int, k: int, ordered: bool) -> int:
    """Return the start of the last layer."""
    return ceil(_log_size(_all_outputs(d, k, ordered))) + _SPARE  # [last-start]


def _all_outputs(d: int, k: int, ordered: bool) -> Outputs:
    (found,) = _outputs_under_ceilings([np.full(k, d)], ordered, _DETAIL)
    return found


def _outputs_under_ceilings(ceilings: list[Indices], ordered: bool, detail: int) -> Sequence[Outputs]:
    if ordered:
        return [Rankings(each) for each in ceilings]
    return (
        [Paths(each) for each in ceilings]
        if not ceilings or len(ceilings[0]) <= _FEW
        else build_walks(ceilings, detail)
    )  # [few]


def _log_size(outputs: Outputs) -> float:
    """Return an upper bound on log2(1 / P), with P the least probability that one of these outputs has in a draw."""
    return outputs.log_bound() * _BITS_PER_NAT + 2.0**-20


def _proposal_shares(starts: list[int]) -> list[mpq]:
    """Return how often each output of a layer is proposed from this layer: 2^-a - 2^-b, and 2^-a from the last."""
    return [mpq((1 << b - a) - 1, 1 << b) for a, b in pairwise(starts)] + [mpq(1, 1 << starts[-1])]  # [shares]


def _integer_weights(shares: list[mpq], log_sizes: list[float]) -> tuple[list[int], int]:
    """Return integers w and an exponent e: 2^e w is at least the share times the size of each layer."""
    logs = [
        size + log2(int(share.numerator)) - log2(int(share.denominator))
        for size, share in zip(log_sizes, shares, strict=True)
    ]
    exponent = ceil(max(logs)) - _DIGITS
    return [int(2 ** (log - exponent) * (1 + 2.0**-20)) + 1 for log in logs], exponent  # [weights]


def _loss_from_bits(bits: int) -> Fraction:
    """Return a loss of at least ``bits`` ln 2, in units of the scale."""
    return bits * _LN2  # [level]


# end-proof-region: joint
