"""Optimal partition selection: the largest probabilities with which a key of n users may be released.

Proof: proofs/measurements/partition_selection.tex
"""

from __future__ import annotations

import functools
from fractions import Fraction

from ..errors import ParameterError
from ..numerics.arithmetic import exp_up
from ..sampling.samplers.exponentials import DIGITS

_MOST_STEPS = 2**20  # a table of a million probabilities takes a second


# proof-region: selection_curve
@functools.lru_cache(maxsize=64)
def release_probabilities(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return p(0), p(1), ... up to the first that is 1, in units of 2^-128 and rounded down.

    p(0) = 0 and p(n + 1) = min(e^epsilon p(n) + delta, 1 - e^-epsilon (1 - p(n) - delta), 1).

    Raises:
        ParameterError: delta is below 2^-128, or the table would have more than 2^20 entries.
    """
    one, shrink = 1 << DIGITS, exp_up(-epsilon)  # [shrink]
    step = int(delta * one)  # [step]
    if step == 0:
        raise ParameterError("delta is too small: the share of one item must be at least 2^-128")
    low, high = shrink.numerator, shrink.denominator
    turn = (one - step) * low // (low + high)  # [turn]
    found, last = [0], 0
    while last < one:
        last = (
            last * high // low + step  # [grown]
            if last <= turn
            else one + -max(0, one - last - step) * low // high  # [left]
        )
        found.append(last)
        if len(found) > _MOST_STEPS:
            raise ParameterError(
                "epsilon and delta per item are too small: a table of a million probabilities does not reach "
                "1. Lower max_items, or raise epsilon and delta"
            )
    return tuple(found)


# end-proof-region: selection_curve
