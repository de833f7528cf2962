"""Exact output distribution and accuracy of the best k-subset by noisy utility, by enumeration of all C(d, k) subsets.

Proof: proofs/distributions/canonical.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import mpmath

from ...errors import CapacityError, ParameterError
from ...numerics.arithmetic import scaled_log_up, to_fraction
from ..noises.noise import Noise
from . import one_shot

_WORKING_DIGITS = 50  # 20 more than are guaranteed
_MOST_SUBSETS = 100_000  # work limit: subsets are enumerated one by one
_MOST_WORK = 5_000_000  # work limit for exponential noise: the cube of the number of subsets

Subset = tuple[int, ...]


# proof-region: canonical_law
def subset_utilities(scores: Sequence[Fraction], k: int, gamma: Fraction, capped: bool) -> dict[Subset, Fraction]:
    """Return gamma m - (1 - gamma) M of every k-subset: m is its smallest score, M the largest outside (k < d).

    If ``capped``, M is replaced by max(M, m).
    """
    everyone = range(len(scores))
    result = {}
    for subset in combinations(everyone, k):
        worst = min(scores[i] for i in subset)
        best = max(scores[i] for i in everyone if i not in subset)
        result[subset] = gamma * worst - (1 - gamma) * (max(best, worst) if capped else best)  # [utility]
    return result


def output_distribution(
    noise: Noise, scores: Sequence[Fraction], noiseless: bool, k: int, gamma: Fraction, capped: bool
) -> dict[Hashable, Any]:
    """Return the probability of every k-subset, an ascending tuple of indices.

    Args:
        noise: ``Gumbel()`` or ``Exponential()``.
        scores: The scores in units of the scale; larger is better.
        noiseless: Whether the scale is 0; then the exact top-k has probability 1.
        k: The size of the subsets, at most ``len(scores)``.
        gamma: The weight of the smallest score inside, in [0, 1].
        capped: Whether the largest score outside is raised to at least the smallest inside.

    Raises:
        CapacityError: There are more than 100,000 subsets (Gumbel noise) or more than 170 (exponential noise).
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    if k > d:
        raise ParameterError(f"the exact distribution requires at least k scores ({k})")
    if noiseless or k == d:
        best = sorted(range(d), key=lambda i: (-scores[i], i))[:k]
        return {tuple(sorted(best)): mpmath.mpf(1)}  # [point-mass]
    n = comb(d, k)
    if n > _MOST_SUBSETS or (not noise.is_max_stable and n**3 > _MOST_WORK):
        raise CapacityError(
            f"the exact distribution over {n} sets of {k} among {d} is too large to enumerate: use fewer scores"
        )
    table = subset_utilities(scores, k, gamma, capped)
    if noise.is_max_stable:
        return softmax(table)  # [softmax]
    single = one_shot.output_distribution(noise, list(table.values()), False, 1, True)
    return {subset: single[(i,)] for i, subset in enumerate(table)}  # [one-winner]


def softmax(table: Mapping[Subset, Fraction]) -> dict[Hashable, Any]:
    """Return probabilities proportional to e^utility."""
    top = max(table.values())
    spread = int(top - min(table.values()))
    with mpmath.workdps(_WORKING_DIGITS + spread.bit_length() // 3 + 1):  # [digits]
        weights = {}
        for subset, utility in table.items():
            gap = utility - top
            weights[subset] = mpmath.exp(mpmath.mpf(gap.numerator) / gap.denominator)  # [weights]
        total = mpmath.fsum(weights.values())
        return {subset: weight / total for subset, weight in weights.items()}  # [normalise]


# end-proof-region: canonical_law


def accuracy(n_candidates: int, k: int, gamma: Fraction, tau: Fraction, alpha: Any) -> float:
    """Return a bound on the k-th best score minus the worst selected one, with probability at least 1 - alpha.

    It is (tau / gamma) ln(C(d, k) / alpha), rounded up, for gamma > 0.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    # proof-region: canonical_accuracy
    return scaled_log_up(tau / gamma, comb(n_candidates, k) / to_fraction(alpha))  # [bound]
    # end-proof-region: canonical_accuracy
