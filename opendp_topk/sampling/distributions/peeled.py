"""Exact output distribution and accuracy of peeling: k selections of one of the remaining candidates.

Proof: proofs/distributions/peeled.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import mpmath

from ...errors import ParameterError
from ...numerics.arithmetic import scaled_log_up, to_fraction
from ..noises.noise import Noise
from . import one_shot

_DIGITS = 50  # 20 more than are guaranteed


# proof-region: peeled_accuracy
def accuracy(n_candidates: int, k: int, tau: Fraction, alpha: Any) -> float:
    """Return tau ln(d k / alpha), rounded up.

    With probability at least 1 - alpha, no t-th winner's score is below the t-th best by more.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    return scaled_log_up(tau, k * n_candidates / to_fraction(alpha))  # [bound]


# end-proof-region: peeled_accuracy


# proof-region: peeled_law
def output_distribution(noise: Noise, scores: Sequence[Fraction], noiseless: bool, k: int) -> dict[Hashable, Any]:
    """Return the probability of every ranking of k indices; each winner is removed before the next race.

    Args:
        noise: ``Gumbel()`` or ``Exponential()``.
        scores: The scores in units of the scale; larger is better.
        noiseless: Whether the scale is 0; then the exact top-k has probability 1.
        k: The number of winners, at most ``len(scores)``.

    Raises:
        CapacityError: The number of rankings times d^2 is above 5,000,000.
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    one_shot.require_enumerable(d, k)
    if noiseless:
        return one_shot.output_distribution(noise, scores, True, k, True)  # [point-mass]
    steps: dict[tuple[int, ...], dict[int, Any]] = {}
    for t in range(k):
        for gone in combinations(range(d), t):
            left = [i for i in range(d) if i not in gone]
            choice = one_shot.output_distribution(noise, [scores[i] for i in left], False, 1, True)  # [choice]
            steps[gone] = {i: choice[(place,)] for place, i in enumerate(left)}
    with mpmath.workdps(_DIGITS):
        return {
            outcome: mpmath.fprod(steps[tuple(sorted(outcome[:t]))][outcome[t]] for t in range(k))  # [product]
            for outcome in permutations(range(d), k)
        }


# end-proof-region: peeled_law
