"""The probability that the best k-subset by noisy utility is a right one, enclosed by sums over classes of subsets.

A subset is right if it contains the ranks 1..sure and none beyond reach, in some order of equal scores.

Proof: proofs/distributions/canonical_success.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, lgamma
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from ...errors import CapacityError
from ...numerics.floatexp import parts
from ...numerics.floatlog import Floats
from ..noises.noise import Noise
from ..samplers import noiseless
from ..samplers.advantages import Scores
from . import subset_classes
from .arrivals import TERMS
from .departures import Groups
from .one_shot_success import grouped
from .permute_and_flip_success import Outcomes, first_is_right
from .subset_classes import Scaled

_DEEPEST = 15_000.0  # in nats: the error that is added grows with the depth
_MOST_WORK = 4 * 10**9  # a limit of work: the classes of subsets
_MARGIN = 60.0  # all subsets lighter than the best by this beyond ln C(d, k) weigh less than e^-60 together
_CLIP = 2.0**1000  # so that products with a weight stay finite
_TINY = Fraction(1, 2**900)  # products with a smaller weight could underflow: refused


@dataclass(frozen=True, eq=False)
class Family:
    """The right subsets: classes from ``first_h`` to ``last_t``, the k best if ``best``, and (log-weight, number)."""

    first_h: int
    last_t: int
    best: bool
    others: list[tuple[float, mpz]]


# proof-region: canonical_success
def probability(
    noise: Noise,
    values: NDArray[Any],
    tau: Fraction,
    gamma: Fraction,
    k: int,
    sign: int,
    capped: bool,
    sure: int,
    reach: int,
) -> tuple[float, float]:
    """Bounds on the probability of the event, for 1 <= sure <= k <= reach <= d, k < d and tau > 0.

    Raises:
        CapacityError: k (d - k) exceeds 4 * 10^9, ln C(d, k) exceeds 14,940, or gamma or 1 - gamma is positive but
            below 2^-900.
    """
    d = len(values)
    depth = lgamma(d + 1) - lgamma(k + 1) - lgamma(d - k + 1) + _MARGIN  # [depth]
    if k * (d - k) > _MOST_WORK or depth > _DEEPEST or any(0 < weight < _TINY for weight in (gamma, 1 - gamma)):
        raise CapacityError("the probability needs sums over too many classes of sets: use fewer scores or winners")
    order = noiseless.top_k(values, d, sign=sign, ordered=True)
    scores = Scores(np.ascontiguousarray(values[order]), tau, sign)
    ranked = scores.values
    with np.errstate(all="ignore"):
        fall = _logs(gamma, scores.advantages(ranked[k - 1 :], ranked[k - 1]), depth)  # [fall]
        rise = _logs(1 - gamma, -scores.advantages(ranked[:k], ranked[k - 1 if capped else k]), depth)  # [rise]
        everything = Family(0, d, True, [])
        right = family(grouped(ranked, k, sure, reach), k, fall, rise)
        powers = TERMS if noise.is_memoryless else 1
        error = 2.0**-48 * (k + 400) + 2.0**-60 * d + 2.0**-48 * depth * max(1, powers / 4)  # [error]
        if noise.is_memoryless:
            lower, upper = _flip(k, fall, rise, everything, right, error)
        else:
            whole, part = (mass(k, fall, rise, subsets, 1) for subsets in (everything, right))
            ratio = part.at(whole.exponent) / whole.mantissa  # [ratio]
            lower, upper = ratio * (1 - 4 * error), ratio * (1 + 4 * error)
    return max(float(lower) - 2.0**-80, 0.0), min(float(upper) + 2.0**-80, 1.0)  # [clipped]


def _logs(weight: Fraction, advantages: Floats, depth: float) -> Floats:
    """``weight`` times advantages that are not positive, at least -depth."""
    return np.asarray(np.maximum(np.clip(advantages, -_CLIP, 0.0) * float(weight), -depth))  # [logs]


def family(groups: Groups, k: int, fall: Floats, rise: Floats) -> Family:
    """The right subsets as classes, and those that split a tied group apart, by their log-weights."""
    free, start = k - groups.sure, groups.sure + groups.top
    end = start + groups.middle
    above = [gmpy2.bincoef(groups.top, j) if j >= groups.least else mpz(0) for j in range(min(groups.top, free + 1))]
    below = [mpz(0)] + [gmpy2.bincoef(groups.low, n) for n in range(1, min(groups.most, groups.low, free) + 1)]
    lowest, others = float(fall[max(end + 1 - k, 0)]) if groups.low else 0.0, []  # [lowest]
    if free < len(above):
        others.append((0.0, above[free]))  # [within-above]
    if 1 <= k - end < len(below):
        others.append((0.0, below[k - end]))  # [within-below]
    counts = above
    for t in range(start + 1, end + 1):
        if t > k and 1 <= free <= len(counts):
            others.append((fall[t - k] + rise[groups.sure], counts[free - 1]))  # [some-above]
        counts = _one_more(counts, free)
    if groups.top and groups.low:
        both = sum((counts[free - n] * m for n, m in enumerate(below) if 0 <= free - n < len(counts)), mpz(0))
        others.append((lowest + rise[groups.sure], both))  # [both]
    counts = below
    for h in range(end - 1, start - 1, -1):
        if h < k and groups.low and 0 <= k - h < len(counts):
            others.append((lowest + rise[h], counts[k - h]))  # [some-below]
        counts = _one_more(counts, free)
    return Family(start, end, start <= k <= end, [(log, n) for log, n in others if n])  # [classes]


def _one_more(counts: list[mpz], degree: int) -> list[mpz]:
    """The coefficients times 1 + z, up to the degree."""
    return [a + b for a, b in pairwise([mpz(0), *counts, mpz(0)])][: degree + 1]  # [one-more]


def mass(k: int, fall: Floats, rise: Floats, subsets: Family, power: int) -> Scaled:
    """The sum of w^power over the subsets, w their weight relative to that of the k best."""
    terms = [subset_classes.scaled(power * log, n) for log, n in subsets.others]
    if subsets.best:
        terms.append(Scaled(1.0, 0))  # [best]
    if subsets.last_t > k > subsets.first_h:
        terms.append(subset_classes.block(k, fall, rise, subsets.first_h, subsets.last_t, power))  # [block]
    return subset_classes.total(
        np.array([term.mantissa for term in terms]), np.array([term.exponent for term in terms], dtype=np.int64)
    )


def _flip(k: int, fall: Floats, rise: Floats, everything: Family, right: Family, error: float) -> tuple[float, float]:
    """Permute-and-flip over the subsets: the first to arrive at a uniform time in [0, 1 / w] wins."""
    whole = mass(k, fall, rise, everything, 1)
    shift = max(int(np.ceil(np.log2(whole.mantissa))) + whole.exponent - 6, 0)  # [unit]
    cut = (shift - 3) / 1.4426950408889634
    near = [_near(k, fall, rise, subsets, cut, shift) for subsets in (everything, right)]
    far = [
        np.array([mass(k, fall, rise, subsets, m).at(m * shift) for m in range(1, TERMS + 1)])
        for subsets in (everything, right)
    ]  # [all-powers]
    return first_is_right(Outcomes(near[0], near[1], far[0], far[1], error), exact_end=shift == 0)


def _near(k: int, fall: Floats, rise: Floats, subsets: Family, cut: float, shift: int) -> dict[float, int]:
    """The number of subsets of each log-weight from ``cut`` on, by weight in units of 2^shift."""
    found = [
        (fall[t - k] + rise[h], comb(t - h - 2, k - 1 - h))
        for h, t in subset_classes.near(k, fall, rise, subsets.first_h, subsets.last_t, cut)
    ]
    found += [(0.0, 1)] * (subsets.best and cut <= 0) + [(log, int(n)) for log, n in subsets.others if log >= cut]
    result: dict[float, int] = {}
    for log, n in found:
        mantissa, exponent = parts(np.array([log]))
        weight = float(np.ldexp(mantissa, exponent - shift)[0])
        result[weight] = result.get(weight, 0) + n  # [near-weights]
    return result


# end-proof-region: canonical_success
