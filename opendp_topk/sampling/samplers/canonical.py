"""The k-subset with the best noisy utility among all C(d, k), drawn exactly without listing them.

The utility of a subset is gamma m - (1 - gamma) M, with m the worst score inside of it and M the best outside. A cell
of classes is proposed with a probability proportional to a bound on its weight, a subset of it uniformly; the proposal
is accepted with the probability that corrects the bound, decided by as many binary digits as that takes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from math import ceil, log
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import Intervals, as_mpq, round_down
from ...numerics.floatlog import Floats
from . import subsets
from .advantages import Scores
from .arrivals import Clock, Uniform
from .cells import DEPTH, Fall, partition
from .entropy import SYSTEM, Entropy, Indices
from .head import head, reaching
from .subsets import below

_WORD = 64  # digits come in words of the machine
_CLIP = 2.0**1000  # so that products and sums of a few stay finite; clipping from below raises a bound
_SHRINK = 1 - 2.0**-40  # a smaller weight of a shortfall bounds it from above: room for all that is rounded
_RARE = 16  # subsets with a member that is not sorted with the others have less than e^-16 of the weight
_TINY = 2.0**-900  # a smaller weight counts as none, which bounds from above, too: its products could underflow


# proof-region: canonical
def draws(
    values: NDArray[Any],
    scale: Fraction,
    gamma: Fraction,
    k: int,
    *,
    sign: int,
    capped: bool,
    exponential: bool = False,
    entropy: Entropy = SYSTEM,
) -> Iterator[Indices]:
    """Without end, independent k-subsets S with the largest u(S) / scale + noise, as their indices, ascending.

    What depends on the scores alone is found once.

    u(S) = gamma m - (1 - gamma) M, where m is the least of ``sign * values`` in S and M the greatest outside of S, or
    max(M, m) in its place if ``capped``.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        gamma: 0 <= gamma <= 1.
        k: The size of the subset, 1 <= k < d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        capped: Whether M is replaced by max(M, m).
        exponential: False for a probability proportional to e^(u(S) / scale), the law of the largest
            u(S) / scale + Z(S) with Gumbel noise; True for the law of the largest with exponential noise.
        entropy: The source of digits.

    Yields:
        int64 arrays of shape (k,).
    """
    first = head(values, sign, k + 1, _depth(len(values), k, scale, gamma), scale)
    best = Scores(first.first[: k + 1], scale, 1)  # [rank]
    edge, rival = best.values[k - 1], best.values[k - 1 if capped else k]  # [references]
    with np.errstate(all="ignore"):
        fall = Fall(len(values) - k, lambda j: _bounds(gamma, best.advantages(first.at_most(k + j), edge)))  # [fall]
        rise = _bounds(1 - gamma, -best.advantages(best.values[:k], rival))  # [rise]
        cells = partition(k, fall, rise)
    lowest = max(0, int(cells.bits.max())) - DEPTH  # [lowest]
    bits = np.append(cells.bits, max(0, lowest))  # [with-best]
    proposals = np.cumsum(1 << (bits - lowest))  # [proposals]
    while True:
        rungs = first  # [as-at-first]
        clock = Clock(int(proposals[-1]) * _power_of_two(lowest), entropy) if exponential else None  # [clock]
        accepting = False
        while not accepting:
            i = bisect_right(proposals, below(int(proposals[-1]), entropy))  # [propose]
            if i == len(cells.bits):
                h, t, n = k, k, gmpy2.mpz(1)  # [best-proposed]
            else:
                cell = cells[i]
                (h, t), n = subsets.draw_class(k, cell, entropy), subsets.size(k, cell)  # [class-proposed]
                rungs = reaching(rungs, t - 1, values, sign)  # [others]
            ranks = subsets.members(k, h, t, entropy)  # [members]
            if h == k:
                log_weight = mpq(0)  # [weight-of-best]
            else:
                worst = Scores(rungs.worst(ranks), scale, 1)
                log_weight = _exact(gamma, worst, 0, edge) - _exact(1 - gamma, best, h, rival)  # [log-weight]
            accepting = accepted(log_weight, _power_of_two(int(bits[i])) / n, clock, entropy)
        yield np.sort(rungs.candidates(ranks))  # [release]


def _depth(d: int, k: int, scale: Fraction, gamma: Fraction) -> Fraction | None:
    """Sets with a member that is so much worse than the k-th best have hardly any weight."""
    return None if gamma == 0 else (ceil(k * (log(d / k) + 1)) + _RARE) * scale / gamma


def _bounds(weight: Fraction, advantages: Floats) -> Floats:
    """Upper bounds, but for less than 2^-1000, on ``weight`` times advantages that are not positive."""
    factor = round_down(weight) * _SHRINK if weight >= _TINY else 0.0  # [shrink]
    return np.asarray(np.maximum(advantages, -_CLIP) * factor)  # [product]


def _exact(weight: Fraction, scores: Scores, index: int, reference: Any) -> mpq:
    return as_mpq(weight * scores.exact(index, reference))


def _power_of_two(exponent: int) -> mpq:
    return mpq(1 << max(exponent, 0), 1 << max(-exponent, 0))


def accepted(log_weight: mpq, ratio: mpq, clock: Clock | None, entropy: Entropy) -> bool:
    """Whether a fresh uniform V satisfies ln(ratio V) + lag < log_weight; without a clock there is no lag."""
    uniform = Uniform(entropy)  # [fresh]
    if clock is not None:
        clock.tick()  # [tick]
    for known in count(_WORD, _WORD):
        at = Intervals(known + _WORD)
        lower, upper = uniform.bounds(known)
        lag = at.rational(mpq(0)) if clock is None else clock.lag(log_weight, known)
        left = at.add(at.log((at.rational(lower)[0], at.rational(upper)[1])), at.log(at.rational(ratio)))
        left, right = at.add(left, lag), at.rational(log_weight)  # [sides]
        if left[1] < right[0]:
            return True  # [accept]
        if left[0] > right[1]:
            return False  # [refuse]
    raise AssertionError("count() has no end")


# end-proof-region: canonical
