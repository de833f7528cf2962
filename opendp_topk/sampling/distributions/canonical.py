"""The best k-subset by noisy utility: exact output distribution, accuracy and success probability.

Proof: proofs/distributions/canonical.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, lgamma
from typing import Any

import gmpy2
import mpmath
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from ...errors import CapacityError, ParameterError
from ...numerics.arithmetic import scaled_log_up, to_fraction
from ...numerics.floats import Floats, exp_mantissa_power
from ..noises.exponential import Exponential
from ..noises.noise import Noise
from ..samplers import entropy as noiseless
from ..samplers.advantages import ScaledScores
from . import one_shot
from . import quadrature as arrivals
from .one_shot_success import group_ranks
from .quadrature import TERMS, LateCandidates, RankGroups, integral_bounds

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


# Sums over classes of k-subsets, in floats with a separate exponent.
#
# The subsets of a class (h, t) contain the ranks 1..h, do not contain h + 1, and their worst rank is t > k. There are
# C(t - h - 2, k - 1 - h) of them, each of weight e^(fall(t) + rise(h)) relative to the weight of the k best.
#
# Proof: proofs/distributions/canonical_success.tex

_REACH = 300.0  # bits by which a value may drift before it is normalised; a float64 has room for 1,023
_STEP = 600.0  # e^-600 is still a normal float64
_PER_LN2 = 1.4426950408889634  # used to bound the drift only: any number near 1 / ln 2 is valid
_COLUMNS = 2**15  # columns at a time, so arrays stay small


# proof-region: subset_classes
@dataclass(frozen=True)
class ScaledFloat:
    """The nonnegative number ``mantissa * 2 ** exponent``."""

    mantissa: float
    exponent: int

    def divide_by_power(self, exponent: int) -> float:
        return float(np.ldexp(self.mantissa, max(min(self.exponent - exponent, 4000), -4000)))


def sum_scaled(mantissas: Floats, exponents: NDArray[np.int64]) -> ScaledFloat:
    """Return the sum of ``mantissas * 2 ** exponents``; terms below 2^-900 of the largest are not resolved."""
    if len(mantissas) == 0 or not mantissas.any():
        return ScaledFloat(0.0, 0)
    mantissas, shifts = np.frexp(mantissas)
    exponents = exponents + shifts
    top = int(exponents[mantissas > 0].max())
    terms = np.ldexp(mantissas, np.maximum(exponents - top, -1000).astype(np.int32))  # [align]
    padded = np.zeros(-(-len(terms) // 1024) * 1024)
    padded[: len(terms)] = terms
    return ScaledFloat(float(padded.reshape(-1, 1024).sum(axis=1).sum()), top)  # [blocks]


def scaled_exponential(log: float, count: mpz) -> ScaledFloat:
    """Return ``count * e ** log``."""
    mantissa, power = exp_mantissa_power(np.array([log]))
    shift = max(count.bit_length() - 60, 0)
    return sum_scaled(mantissa * float(count >> shift), power.astype(np.int64) + shift)  # [exact-count]


def sum_class_block(k: int, fall: Floats, rise: Floats, first_h: int, last_t: int, power: int = 1) -> ScaledFloat:
    """Return the sum of n w^power over the classes (h, t) with first_h <= h < k < t <= last_t, of size n and weight w.

    ``fall[t - k]`` is for t = k, ..., d, with 0 at k, and ``rise[h]`` for h = 0, ..., k - 1.
    """
    columns = [
        _column_sums(k, fall, rise, first_h, np.arange(start, min(start + _COLUMNS, last_t - k)), power)
        for start in range(0, last_t - k, _COLUMNS)
    ]
    if first_h >= k or not columns:
        return ScaledFloat(0.0, 0)
    return sum_scaled(np.concatenate([m for m, _ in columns]), np.concatenate([e for _, e in columns]))


def _column_sums(
    k: int, fall: Floats, rise: Floats, first_h: int, j: NDArray[np.int64], power: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return for each t = k + 1 + j the sum over h, by Horner's rule in the binomials C(j + m, m), m = k - 1 - h."""
    value, exponent = np.ones(len(j)), np.zeros(len(j), dtype=np.int64)
    one, drift = np.ones(len(j)), 0.0
    for m in range(k - 1 - first_h, 0, -1):
        drop = power * (rise[k - m] - rise[k - m - 1])
        growth = float(np.log2(1 + j[-1] / m)) + drop * _PER_LN2
        drift += abs(growth) + drop * _PER_LN2 + 1
        while drop > _STEP:
            value, exponent, drop = (
                *_normalise_mantissas(value * _exp_negative(_STEP), exponent),
                drop - _STEP,
            )  # [long-drop]
        value = value * ((j + m) * (_exp_negative(drop) / m))
        if drift < _REACH:
            value = value + one  # [horner]
        else:
            value, exponent = _normalise_mantissas(value, exponent)
            common = np.maximum(exponent, 0)
            one = np.ldexp(1.0, -np.minimum(common, 2000).astype(np.int32))
            value = np.ldexp(value, np.maximum(exponent - common, -2000).astype(np.int32)) + one  # [normalised]
            exponent, drift = common, 0.0
    mantissa, powers = exp_mantissa_power(power * (fall[j + 1] + rise[k - 1]))  # [column]
    return value * mantissa, exponent + powers


def _normalise_mantissas(value: Floats, exponent: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    mantissa, shift = np.frexp(value)
    return mantissa, exponent + shift


def _exp_negative(drop: float) -> float:
    """Return e^-drop."""
    mantissa, power = exp_mantissa_power(np.array([-drop]))
    return float(np.ldexp(mantissa, power)[0])


def heavy_classes(k: int, fall: Floats, rise: Floats, first_h: int, last_t: int, cut: float) -> list[tuple[int, int]]:
    """Return the classes of the block with log-weight at least ``cut``."""
    found = []
    for t in range(k + 1, last_t + 1):
        if fall[t - k] + rise[k - 1] < cut:
            break
        for h in range(k - 1, first_h - 1, -1):
            if fall[t - k] + rise[h] < cut:
                break
            found.append((h, t))  # [near]
    return found


# end-proof-region: subset_classes


# Permute-and-flip among many outcomes: bounds on the probability that the first to arrive is correct.
#
# An outcome of weight w <= 1 arrives at a uniform time in [0, 1 / w].
#
# Proof: proofs/distributions/canonical_success.tex

_START = 2.0**-52  # start of the integral; the part before it is bounded instead


@dataclass(frozen=True, eq=False)
class WeightedOutcomes:
    """Outcomes by weight.

    ``near`` is the number of outcomes of each large weight, and ``near_right`` the number of correct ones among them.
    ``sums`` are the power sums of the weights of all outcomes, and ``sums_right`` those of the correct ones. ``error``
    is a bound on the relative error of the sums and of the weights.
    """

    near: dict[float, int]
    near_right: dict[float, int]
    sums: Floats
    sums_right: Floats
    error: float


# proof-region: permute_and_flip_success
def first_correct_bounds(outcomes: WeightedOutcomes, exact_end: bool) -> tuple[float, float]:
    """Return bounds on the probability that the first outcome to arrive is correct.

    ``outcomes.near`` contains every weight above ``arrivals.NEAR``. If ``exact_end``, the largest weight is 1.
    """
    weights = np.array(sorted(outcomes.near), dtype=np.float64)
    n = np.array([outcomes.near[w] for w in weights.tolist()], dtype=np.int64)
    n_right = np.array([outcomes.near_right.get(w, 0) for w in weights.tolist()], dtype=np.int64)
    b = (1 / weights)[:, None]
    powers = np.cumprod(np.repeat(weights[:, None], arrivals.TERMS, axis=1), axis=1)
    right = _light_outcomes(outcomes.sums_right, np.asarray(n_right @ powers, dtype=np.float64), outcomes.error)
    wrong_error = (outcomes.sums + outcomes.sums_right) * outcomes.error
    others = np.asarray((n - n_right) @ powers, dtype=np.float64)
    wrong = _light_outcomes(outcomes.sums - outcomes.sums_right, others, outcomes.error, wrong_error)  # [rest]
    count = (float(n.sum()) + 4 * len(n) + 64) * 2.0**-50

    def integrand_rate(law: arrivals.ArrivalBounds, x: Floats, bound: int) -> Floats:
        none_right, rate = right.none_and_rate_bounds(x)[bound]
        none = wrong.none_and_rate_bounds(x)[bound][0]
        waiting = np.prod(np.repeat(law.waiting, n, axis=0), axis=0)  # [all-waiting]
        odds = np.sum(n_right[:, None] * law.rate / np.maximum(law.waiting, 2.0**-900), axis=0)
        return np.asarray(none * (none_right * odds + rate) * waiting)  # [right-rate]

    def integrand_bounds(x: Floats, left: Floats, end: Floats) -> tuple[Floats, Floats]:
        z = x / b
        lower, upper = arrivals.arrival_bounds(Exponential(), z, z <= 1)
        return integrand_rate(lower, x, 0) / x * (1 - count), integrand_rate(upper, x, 1) / x * (1 + count)

    def integrand_majorant(low: Floats, high: Floats, left: Floats, end: Floats) -> Floats:
        law = arrivals.arrival_majorants(Exponential(), low / b, high / b, np.ones((len(b), 1), dtype=bool))
        return np.asarray(integrand_rate(law, low, 1) * (high / low) / low * (1 + count))

    lower, upper = integral_bounds(
        np.append(_START * 2.0 ** (np.arange(208) / 4), 1.0), integrand_bounds, integrand_majorant
    )
    head = 2 * _START * (float(outcomes.sums_right[0]) + 1)  # [head]
    tail = 0.0
    if not exact_end:
        one = np.ones(1)
        waiting = np.repeat(arrivals.arrival_bounds(Exponential(), 1 / b, b >= 1)[1].waiting, n, axis=0)
        tail = (
            2
            * float(np.prod(waiting))
            * float(right.none_and_rate_bounds(one)[1][0][0] * wrong.none_and_rate_bounds(one)[1][0][0])
        )  # [tail]
    slack = 8 * outcomes.error
    return lower * (1 - slack), (upper + head + tail) * (1 + slack)  # [perturbation]


def _light_outcomes(sums: Floats, near: Floats, error: float, more: Floats | float = 0.0) -> LateCandidates:
    """Return the outcomes that are not near, by subtraction of the power sums of the near ones."""
    errors = (np.abs(sums) + near) * (error + 2.0**-44) + more
    return LateCandidates(Exponential(), np.maximum(sums - near, 0.0), errors)  # [subtract]


# end-proof-region: permute_and_flip_success


# Bounds on the probability that the best k-subset by noisy utility is correct, by sums over classes of subsets.
#
# A subset is correct if it contains the ranks 1..sure and none beyond reach, for some order of equal scores.
#
# Proof: proofs/distributions/canonical_success.tex

_DEEPEST = 15_000.0  # in nats: the error that is added grows with the depth
_MOST_CLASSES = 4 * 10**9  # work limit: the number of classes of subsets
_MARGIN = 60.0  # all subsets lighter than the best by ln C(d, k) + 60 nats have a total relative weight below e^-60
_CLIP = 2.0**1000  # keeps products with a weight finite
_TINY = Fraction(1, 2**900)  # smaller positive weights are refused, because products with them could underflow


@dataclass(frozen=True, eq=False)
class SubsetFamily:
    """A family of subsets: classes (h, t) with first_h <= h < k < t <= last_t, the k best if ``best``, and ``others``.

    ``others`` are pairs (log-weight, number of subsets).
    """

    first_h: int
    last_t: int
    best: bool
    others: list[tuple[float, mpz]]


# proof-region: canonical_success
def success_probability(
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
    """Return bounds on the probability of the event, for 1 <= sure <= k <= reach <= d, k < d and tau > 0.

    Raises:
        CapacityError: k (d - k) exceeds 4 * 10^9, ln C(d, k) exceeds 14,940, gamma or 1 - gamma is positive but below
            2^-900, or the integral for exponential noise needs too many panels.
    """
    d = len(values)
    depth = lgamma(d + 1) - lgamma(k + 1) - lgamma(d - k + 1) + _MARGIN  # [depth]
    if k * (d - k) > _MOST_CLASSES or depth > _DEEPEST or any(0 < weight < _TINY for weight in (gamma, 1 - gamma)):
        raise CapacityError("the probability requires sums over too many classes of sets: use fewer scores or winners")
    order = noiseless.top_k(values, d, sign=sign, ordered=True)
    scores = ScaledScores(np.ascontiguousarray(values[order]), tau, sign)
    ranked = scores.values
    with np.errstate(all="ignore"):
        fall = _scaled_log_weights(
            gamma, scores.approximate_advantages(ranked[k - 1 :], ranked[k - 1]), depth
        )  # [fall]
        rise = _scaled_log_weights(
            1 - gamma, -scores.approximate_advantages(ranked[:k], ranked[k - 1 if capped else k]), depth
        )  # [rise]
        everything = SubsetFamily(0, d, True, [])
        right = correct_subsets(group_ranks(ranked, k, sure, reach), k, fall, rise)
        powers = TERMS if noise.is_memoryless else 1
        error = 2.0**-48 * (k + 400) + 2.0**-60 * d + 2.0**-48 * depth * max(1, powers / 4)  # [error]
        if noise.is_memoryless:
            lower, upper = _permute_and_flip_bounds(k, fall, rise, everything, right, error)
        else:
            whole, part = (weight_power_sum(k, fall, rise, subsets, 1) for subsets in (everything, right))
            ratio = part.divide_by_power(whole.exponent) / whole.mantissa  # [ratio]
            lower, upper = ratio * (1 - 4 * error), ratio * (1 + 4 * error)
    return max(float(lower) - 2.0**-80, 0.0), min(float(upper) + 2.0**-80, 1.0)  # [clipped]


def _scaled_log_weights(weight: Fraction, advantages: Floats, depth: float) -> Floats:
    """Return ``weight`` times advantages, which are clipped to be at most 0; the result is at least -depth."""
    return np.asarray(np.maximum(np.clip(advantages, -_CLIP, 0.0) * float(weight), -depth))  # [logs]


def correct_subsets(groups: RankGroups, k: int, fall: Floats, rise: Floats) -> SubsetFamily:
    """Return the correct subsets: as classes, and by log-weight those that contain a part of a tied group only."""
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
        counts = _times_one_plus_z(counts, free)
    if groups.top and groups.low:
        both = sum((counts[free - n] * m for n, m in enumerate(below) if 0 <= free - n < len(counts)), mpz(0))
        others.append((lowest + rise[groups.sure], both))  # [both]
    counts = below
    for h in range(end - 1, start - 1, -1):
        if h < k and groups.low and 0 <= k - h < len(counts):
            others.append((lowest + rise[h], counts[k - h]))  # [some-below]
        counts = _times_one_plus_z(counts, free)
    return SubsetFamily(start, end, start <= k <= end, [(log, n) for log, n in others if n])  # [classes]


def _times_one_plus_z(counts: list[mpz], degree: int) -> list[mpz]:
    """Return the coefficients of the polynomial times 1 + z, up to ``degree``."""
    return [a + b for a, b in pairwise([mpz(0), *counts, mpz(0)])][: degree + 1]  # [one-more]


def weight_power_sum(k: int, fall: Floats, rise: Floats, subsets: SubsetFamily, power: int) -> ScaledFloat:
    """Return the sum of w^power over the subsets; w is their weight relative to that of the k best."""
    terms = [scaled_exponential(power * log, n) for log, n in subsets.others]
    if subsets.best:
        terms.append(ScaledFloat(1.0, 0))  # [best]
    if subsets.last_t > k > subsets.first_h:
        terms.append(sum_class_block(k, fall, rise, subsets.first_h, subsets.last_t, power))  # [block]
    return sum_scaled(
        np.array([term.mantissa for term in terms]), np.array([term.exponent for term in terms], dtype=np.int64)
    )


def _permute_and_flip_bounds(
    k: int, fall: Floats, rise: Floats, everything: SubsetFamily, right: SubsetFamily, error: float
) -> tuple[float, float]:
    """Return bounds for permute-and-flip over the subsets: the first to arrive, uniformly in [0, 1 / w], wins."""
    whole = weight_power_sum(k, fall, rise, everything, 1)
    shift = max(int(np.ceil(np.log2(whole.mantissa))) + whole.exponent - 6, 0)  # [unit]
    cut = (shift - 3) / 1.4426950408889634
    near = [_heavy_weight_counts(k, fall, rise, subsets, cut, shift) for subsets in (everything, right)]
    far = [
        np.array([weight_power_sum(k, fall, rise, subsets, m).divide_by_power(m * shift) for m in range(1, TERMS + 1)])
        for subsets in (everything, right)
    ]  # [all-powers]
    return first_correct_bounds(WeightedOutcomes(near[0], near[1], far[0], far[1], error), exact_end=shift == 0)


def _heavy_weight_counts(
    k: int, fall: Floats, rise: Floats, subsets: SubsetFamily, cut: float, shift: int
) -> dict[float, int]:
    """Return the number of subsets of each weight, in units of 2^shift, with log-weight at least ``cut``."""
    found = [
        (fall[t - k] + rise[h], comb(t - h - 2, k - 1 - h))
        for h, t in heavy_classes(k, fall, rise, subsets.first_h, subsets.last_t, cut)
    ]
    found += [(0.0, 1)] * (subsets.best and cut <= 0) + [(log, int(n)) for log, n in subsets.others if log >= cut]
    result: dict[float, int] = {}
    for log, n in found:
        mantissa, exponent = exp_mantissa_power(np.array([log]))
        weight = float(np.ldexp(mantissa, exponent - shift)[0])
        result[weight] = result.get(weight, 0) + n  # [near-weights]
    return result


# end-proof-region: canonical_success
