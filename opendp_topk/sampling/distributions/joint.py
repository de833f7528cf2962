"""Exact output distribution, accuracy and success probability of the joint exponential mechanism.

Proof: proofs/distributions/joint.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import comb, fsum, perm
from typing import Any

import gmpy2
import mpmath
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ...errors import CapacityError, ParameterError
from ...numerics.arithmetic import as_mpq, round_down, round_up, scaled_log_up, to_fraction
from ...numerics.floats import Floats
from .canonical import Subset, softmax

_MOST_OUTPUTS = 100_000  # work limit: outputs are enumerated one by one
_MOST_WINNERS = 10  # counts of outputs have larger rounding errors for more winners: the proof covers up to 10
_MOST_LEVELS = 2**24  # memory limit: the levels of loss between two stages
_SMALL = 2**62  # smaller differences are int64, and twice them as well
_MANTISSA = 53  # bits of a float64
_CHUNK = 2**14  # levels at a time, so arrays stay small
_STAGE = 8  # nats of loss per stage: after each the rest is bounded, and the sum ends if the rest is small
_NEAR = gmpy2.context(precision=128, round=gmpy2.RoundToNearest)  # 75 bits more than the float64 that it is rounded to
_SLACK = Fraction(1, 2**40)  # relative rounding error of counts and sums, and the error at which a sum ends

Integers = NDArray[Any]
Bound = tuple[int, int]


# proof-region: joint_law
def output_losses(scores: Sequence[Fraction], k: int, ordered: bool) -> dict[Subset, Fraction]:
    """Return max_i (x_[i] - x_{S[i]}) for every ranking S of k indices, or every set, with members best first."""
    best = sorted(scores, reverse=True)
    table = {}
    for output in permutations(range(len(scores)), k) if ordered else combinations(range(len(scores)), k):
        placed = [scores[i] for i in output] if ordered else sorted((scores[i] for i in output), reverse=True)
        table[output] = max(a - b for a, b in zip(best, placed, strict=False))  # [loss]
    return table


def output_distribution(scores: Sequence[Fraction], noiseless: bool, k: int, ordered: bool) -> dict[Hashable, Any]:
    """Return the probability of every ranking or set of k indices; a set is an ascending tuple.

    Args:
        scores: The scores in units of the scale; larger is better.
        noiseless: Whether the scale is 0; then the exact top-k has probability 1.
        k: The number of winners, at most ``len(scores)``.
        ordered: True for rankings, False for sets.

    Raises:
        CapacityError: There are more than 100,000 outcomes and the scale is not 0.
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    if k > d:
        raise ParameterError(f"the exact distribution requires at least k scores ({k})")
    if noiseless:
        best = sorted(range(d), key=lambda i: (-scores[i], i))[:k]
        return {tuple(best if ordered else sorted(best)): mpmath.mpf(1)}  # [point-mass]
    if count_outputs(d, k, ordered) > _MOST_OUTPUTS:
        raise CapacityError(
            f"the exact distribution over {count_outputs(d, k, ordered)} outcomes is too large to enumerate: use "
            f"fewer scores"
        )
    return softmax({output: -loss for output, loss in output_losses(scores, k, ordered).items()})  # [softmax]


def count_outputs(d: int, k: int, ordered: bool) -> int:
    """Return the number of rankings or sets of k among d candidates."""
    return perm(d, k) if ordered else comb(d, k)


# end-proof-region: joint_law


def accuracy(n_candidates: int, k: int, ordered: bool, tau: Fraction, alpha: Any) -> float:
    """Return a bound on the loss of the output, the largest gap, with probability at least 1 - alpha.

    It is tau ln(outputs / alpha), rounded up, with d! / (d - k)! rankings or C(d, k) sets as outputs.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    # proof-region: joint_accuracy
    return scaled_log_up(tau, count_outputs(n_candidates, k, ordered) / to_fraction(alpha))  # [bound]
    # end-proof-region: joint_accuracy


# proof-region: shortfalls
@dataclass(frozen=True, eq=False)
class ScoreDeficits:
    """The differences between the best score and each score: ``steps[j] * unit`` for the j-th best, from j = 0.

    ``steps`` ascends from 0. It contains int64 below 2^62, or Python integers as objects.
    """

    steps: NDArray[Any]
    unit: Fraction


def score_deficits(values: NDArray[Any], sign: int) -> ScoreDeficits:
    """Return the deficits of canonical scores; the best is the largest for ``sign`` = 1, the smallest for -1."""
    whole, unit = _to_integer_multiples(np.sort(values)[::-sign])  # [rank]
    if whole.dtype != object and abs(int(whole[0]) - int(whole[-1])) >= _SMALL:
        whole = whole.astype(object)  # [objects]
    steps = whole[0] - whole if sign > 0 else whole - whole[0]  # [steps]
    return ScoreDeficits(steps if steps.dtype == object else steps.astype(np.int64), unit)


def _to_integer_multiples(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Return integers and a power of two whose products are ``values``."""
    if values.dtype != np.float64:
        return values, Fraction(1)  # [integers]
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**_MANTISSA).astype(np.int64)  # [mantissa]
    lowest = np.where(whole == 0, 1, whole & -whole)
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1  # [trailing-zeros]
    powers = np.where(whole == 0, np.max(exponent), exponent.astype(np.int64) - _MANTISSA + zeros)  # [powers]
    least = int(np.min(powers))
    shifts, odd = powers - least, whole >> zeros
    if int(np.max(exponent)) - least >= _MANTISSA + 8:
        whole = np.array([a << b for a, b in zip(odd.tolist(), shifts.tolist(), strict=True)], dtype=object)  # [long]
    else:
        whole = odd << np.where(odd == 0, 0, shifts)  # [short]
    return whole, Fraction(2) ** least


# end-proof-region: shortfalls


# proof-region: joint_success
def success_probability(
    scores: NDArray[Any], tau: Fraction, k: int, sign: int, ordered: bool, sure: int, reach: int
) -> tuple[float, float]:
    """Return bounds on the probability that the winners include all ranks 1..sure and none beyond ``reach``.

    Ties count in favour of the event: it occurs if it does for some order of equal scores.

    Args:
        scores: Canonical scores, shape (d,).
        tau: The scale; if it is 0, the winners are the exact top-k.
        k: The number of winners, at most 10 and at most d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for rankings, False for sets.
        sure: 0 <= sure <= k.
        reach: k <= reach <= d.

    Raises:
        CapacityError: There are more than 10 winners, or more than 2^24 levels of loss in one stage.
    """
    if tau == 0:
        return 1.0, 1.0  # [exact-top-k]
    if k > _MOST_WINNERS:
        raise CapacityError(f"the success probability of the joint mechanism requires k of at most {_MOST_WINNERS}")
    ladder = score_deficits(scores, sign)
    step, farthest = as_mpq(ladder.unit / tau), int(ladder.steps[-1])
    events: list[list[Bound]] = [_event_constraints(ladder.steps, k, sure, reach), []]

    def event_counts(levels: Integers) -> list[Floats]:
        reached = np.searchsorted(ladder.steps, levels[:, None] + ladder.steps[:k], side="right")  # [reached]
        return [_count_event_outputs(reached, event, ordered) for event in events]

    most = [Fraction(*_count_event_outputs(np.full((1, k), len(scores)), event, ordered)) for event in events]  # [most]
    sums, start = [Fraction(0), Fraction(0)], 0
    while True:
        end = min(start + max(1, int(_STAGE / step)), farthest)  # [stage]
        for levels in _loss_levels(ladder.steps, k, start, end):
            drops = _weight_drops(levels, step)
            for i, found in enumerate(event_counts(levels[:-1])):
                sums[i] += Fraction(fsum((drops * found).tolist()))  # [sum]
        weight = Fraction(float(_level_weight(end, step)))
        least = [Fraction(*found) for found in event_counts(ladder.steps[:1] + end)]  # [least]
        wanted, total = (
            ((known + low * weight) * (1 - _SLACK), (known + high * weight) * (1 + _SLACK))
            for known, low, high in zip(sums, least, most, strict=True)
        )  # [enclosures]
        if end == farthest or total[1] - total[0] <= 4 * _SLACK * total[0]:  # [enough]
            return round_down(wanted[0] / total[1]), min(1.0, round_up(wanted[1] / total[0]))  # [quotient]
        start = end


def _event_constraints(steps: Integers, k: int, sure: int, reach: int) -> list[Bound]:
    """Return pairs (p, m): the event is that, for every pair, at least m winners are among the p best ranks."""

    def tie_range(rank: int) -> tuple[int, int]:
        left = np.searchsorted(steps, steps[rank - 1], side="left")
        return int(left), int(np.searchsorted(steps, steps[rank - 1], side="right"))  # [ends]

    found: list[Bound] = []
    if sure:
        above, to = tie_range(sure)
        found += [(above, above), (to, sure)]  # [sure]
    above, to = tie_range(reach)
    return [*found, (above, k - reach + above), (to, k)]  # [reach]


def _loss_levels(steps: Integers, k: int, start: int, end: int) -> Iterator[Integers]:
    """Yield ``start``, the levels of loss up to ``end``, and ``end``: ascending, in chunks that overlap by one."""
    rows = []
    for best in _drop_duplicates(steps[:k]).tolist():
        first, last = (
            np.searchsorted(steps, min(best + level, int(steps[-1])), side="right") for level in (start, end)
        )
        rows.append(_drop_duplicates(steps[first:last]) - best)  # [row]
    if sum(map(len, rows)) > _MOST_LEVELS:
        raise CapacityError("there are too many levels of loss to list: use a smaller scale, or fewer scores")
    levels = _drop_duplicates(np.sort(np.concatenate([steps[:1] + start, *rows, steps[:1] + end])))  # [merge]
    for first in range(0, len(levels) - 1, _CHUNK):
        yield levels[first : first + _CHUNK + 1]


def _drop_duplicates(ascending: Integers) -> Integers:
    found: Integers = ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]
    return found


def _weight_drops(levels: Integers, step: mpq) -> Floats:
    """Return e^-(a step) - e^-(b step) for each level a and the next one b."""
    weights = [_level_weight(level, step) for level in levels.tolist()]
    return np.array([float(_NEAR.sub(a, b)) for a, b in pairwise(weights)])  # [drop]


def _level_weight(level: int, step: mpq) -> mpfr:
    return _NEAR.exp(_NEAR.add(-level * step, mpfr(0)))  # [weight]


def _count_event_outputs(ceilings: Integers, event: list[Bound], ordered: bool) -> Floats:
    """Return the number of rankings or sets under each row of ceilings for which the event occurs."""
    n, k = ceilings.shape
    ends = np.concatenate([ceilings, *(np.full((n, 1), p) for p, _ in event)], axis=1)
    found = [np.ones(n)] + [np.zeros(n)] * k
    before = np.zeros(n)
    for column in np.argsort(ends, axis=1, kind="stable").T:  # [columns]
        end = ends[np.arange(n), column].astype(np.float64)
        ways = [np.ones(n)]
        for t in range(k):
            ways.append(ways[-1] * np.maximum(end - before - t, 0) / (t + 1))  # [ways]
        mixed = [sum((ways[t] * found[m - t] for t in range(m + 1)), np.zeros(n)) for m in range(k + 1)]  # [mixed]
        needed = np.array([*range(1, k + 1), *(m for _, m in event)])[column]
        for m in range(k + 1):
            places = np.where(column < k, m - needed + 1, 1) if ordered else 1
            found[m] = np.where(m >= needed, mixed[m] * places, 0.0)  # [places]
        before = end
    return found[k]


# end-proof-region: joint_success
