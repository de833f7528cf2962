"""Many draws of one output among few: all outputs are listed once, and race with noise of their own.

The output with the largest noisy utility is what joint and canonical selection draw; listing them costs as much as a
few draws without a list, and from then on a draw is a race over a short vector.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, lcm, perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noises.noise import Noise
from . import rows, short
from .entropy import SYSTEM, Entropy, Indices

_EACH = 2**6  # outputs: to list so many takes no longer than one draw without a list


# proof-region: listed
def joint(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    times: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices | None:
    """``times`` rankings or sets S, independent ones, each with the largest u(S) / scale + noise; None if too many.

    u(S) = -max_i (x_[i] - x_{S[i]}), x being ``sign * values``, as in :func:`joint.draw`.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: > 0.
        noise: Gumbel noise, for outputs with a probability proportional to e^(u(S) / scale).
        k: The number of winners, 1 <= k <= d.
        times: >= 1.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for rankings, S[i] the i-th index; False for sets, S[i] the i-th best member.
        entropy: The source of digits.

    Returns:
        int64 array of shape (times, k), each row ascending if not ``ordered``.
    """
    if not _few(perm if ordered else comb, len(values), k, times):
        return None
    order, best = _best_first(values, sign)
    found = list((permutations if ordered else combinations)(range(len(best)), k))  # [outputs]
    utilities = [-max(x - best[rank] for x, rank in zip(best, ranks, strict=False)) for ranks in found]  # [loss]
    chosen = _drawn(order, found, utilities, scale, noise, times, entropy)
    return chosen if chosen is None or ordered else np.sort(chosen, axis=1)


def canonical(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    gamma: Fraction,
    k: int,
    times: int,
    *,
    sign: int,
    capped: bool,
    entropy: Entropy = SYSTEM,
) -> Indices | None:
    """``times`` k-subsets S, independent ones, each with the largest u(S) / scale + noise; None if too many.

    u(S) is that of :func:`canonical.draws`, which has the other arguments, too; k < d. The rows, of shape (times, k),
    are ascending.
    """
    if not _few(comb, len(values), k, times):
        return None
    order, best = _best_first(values, sign)
    found = list(combinations(range(len(best)), k))  # [subsets]
    utilities = []
    for ranks in found:
        least = best[ranks[-1]]
        rival = best[next((i for i, rank in enumerate(ranks) if rank != i), k)]  # [rival]
        utilities.append(gamma * least - (1 - gamma) * (max(rival, least) if capped else rival))  # [utility]
    chosen = _drawn(order, found, utilities, scale, noise, times, entropy)
    return chosen if chosen is None else np.sort(chosen, axis=1)


def _few(number: Any, d: int, k: int, times: int) -> bool:
    """Whether so few outputs, all in all, that a race over them is one over a short vector, and listing them pays."""
    return d <= short.MOST and number(d, k) <= min(short.MOST, _EACH * times)


def _best_first(values: NDArray[Any], sign: int) -> tuple[Indices, list[Fraction]]:
    """The indices in an order in which the scores do not increase, and the scores in that order, exactly."""
    scores = [Fraction(sign * score) for score in values.tolist()]
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    return np.array(order, dtype=np.int64), [scores[i] for i in order]  # [exact-scores]


def _drawn(
    order: Indices,
    found: Iterable[tuple[int, ...]],
    utilities: list[Fraction],
    scale: Fraction,
    noise: Noise,
    times: int,
    entropy: Entropy,
) -> Indices | None:
    """The winners of races of outputs, as indices; None where the utilities have no unit that int64 numbers count."""
    unit, most = lcm(*(utility.denominator for utility in utilities)), max(utilities)
    heights = [int((utility - most) * unit) for utility in utilities]  # [heights]
    if min(heights) < -(2**63):
        return None  # [too-deep]
    races = np.array(heights, dtype=np.int64), scale * unit, noise, 1, times
    places = rows.top_k(*races, sign=1, ordered=True, entropy=entropy)[:, 0]  # [races]
    return order[np.array(found, dtype=np.int64)[places]]  # [indices]


# end-proof-region: listed
