"""Exact law, accuracy and success probability of the joint exponential mechanism.

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

_MOST_OUTPUTS = 100_000  # a limit of work: outputs are listed one by one
_MOST_WINNERS = 10  # counts of outputs round more with more winners: the proof has room for these
_MOST_LEVELS = 2**24  # a limit of memory: the levels of loss between two stages
_SMALL = 2**62  # differences below it are int64, and so is their double
_MANTISSA = 53  # binary digits of a float64
_CHUNK = 2**14  # levels at a time, so that arrays stay small
_STAGE = 8  # nats of loss, after which the rest is bounded, and the sum ends where that is small
_NEAR = gmpy2.context(precision=128, round=gmpy2.RoundToNearest)  # 75 digits more than the float64 that is made of them
_SLACK = Fraction(1, 2**40)  # what counts and sums round, and the error at which they end

Integers = NDArray[Any]
Bound = tuple[int, int]


# proof-region: joint_law
def output_losses(scores: Sequence[Fraction], k: int, ordered: bool) -> dict[Subset, Fraction]:
    """max_i (x_[i] - x_{S[i]}) for every ranking S of k indices, or every set, its members from best to worst."""
    best = sorted(scores, reverse=True)
    table = {}
    for output in permutations(range(len(scores)), k) if ordered else combinations(range(len(scores)), k):
        placed = [scores[i] for i in output] if ordered else sorted((scores[i] for i in output), reverse=True)
        table[output] = max(a - b for a, b in zip(best, placed, strict=False))  # [loss]
    return table


def output_distribution(scores: Sequence[Fraction], noiseless: bool, k: int, ordered: bool) -> dict[Hashable, Any]:
    """The probability of every ranking or set of k indices; a set is an ascending tuple.

    Args:
        scores: The scores in units of the scale, larger being better.
        noiseless: Whether the scale is 0: then the exact top-k has probability 1.
        k: The number of winners, at most ``len(scores)``.
        ordered: True for rankings, False for sets.

    Raises:
        CapacityError: There are more than 100,000 outcomes.
        ParameterError: ``k`` exceeds the number of scores.
    """
    d = len(scores)
    if k > d:
        raise ParameterError(f"the exact distribution needs at least k scores ({k})")
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
    """The number of rankings, or sets, of k among d."""
    return perm(d, k) if ordered else comb(d, k)


# end-proof-region: joint_law


def accuracy(n_candidates: int, k: int, ordered: bool, tau: Fraction, alpha: Any) -> float:
    """A bound that the largest gap meets with probability at least 1 - alpha.

    tau ln(outputs / alpha), rounded up, with d! / (d - k)! rankings or C(d, k) sets.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    # proof-region: joint_accuracy
    return scaled_log_up(tau, count_outputs(n_candidates, k, ordered) / to_fraction(alpha))  # [bound]
    # end-proof-region: joint_accuracy


# proof-region: shortfalls
@dataclass(frozen=True, eq=False)
class ScoreDeficits:
    """``steps[j] * unit`` is how far the j-th best score falls short of the best.

    ``steps`` is ascending from 0: int64 below 2^62, or Python integers as objects.
    """

    steps: NDArray[Any]
    unit: Fraction


def score_deficits(values: NDArray[Any], sign: int) -> ScoreDeficits:
    """Canonical scores, ranked: the largest first for ``sign`` = 1, the smallest first for -1."""
    whole, unit = _to_integer_multiples(np.sort(values)[::-sign])  # [rank]
    if whole.dtype != object and abs(int(whole[0]) - int(whole[-1])) >= _SMALL:
        whole = whole.astype(object)  # [objects]
    steps = whole[0] - whole if sign > 0 else whole - whole[0]  # [steps]
    return ScoreDeficits(steps if steps.dtype == object else steps.astype(np.int64), unit)


def _to_integer_multiples(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Integers and a power of two whose products are ``values``."""
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
    """Bounds on the probability that the winners hold all of the ranks 1..sure and none beyond ``reach``.

    Ties are ordered in favour of the event: it holds if some order of equal scores makes it true.

    Args:
        scores: Canonical scores, shape (d,).
        tau: The scale; at 0 the winners are the exact top-k.
        k: The number of winners, at most 10 and at most d.
        sign: +1 if larger scores are better, -1 if smaller ones are.
        ordered: True for rankings, False for sets.
        sure: 0 <= sure <= k.
        reach: k <= reach <= d.

    Raises:
        CapacityError: There are more than 10 winners, or more than 2^24 levels of loss to list.
    """
    if tau == 0:
        return 1.0, 1.0  # [exact-top-k]
    if k > _MOST_WINNERS:
        raise CapacityError(
            f"the success probability of the joint mechanism is known for at most {_MOST_WINNERS} winners"
        )
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
    """Pairs (p, m): the event is that at least m of the winners are among the p best ranks, for all of the pairs."""

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
    """``start``, the levels of loss between it and ``end``, and ``end``: ascending, in chunks that share an element."""
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
    """e^-(a step) - e^-(b step) for each level a and the next one b."""
    weights = [_level_weight(level, step) for level in levels.tolist()]
    return np.array([float(_NEAR.sub(a, b)) for a, b in pairwise(weights)])  # [drop]


def _level_weight(level: int, step: mpq) -> mpfr:
    return _NEAR.exp(_NEAR.add(-level * step, mpfr(0)))  # [weight]


def _count_event_outputs(ceilings: Integers, event: list[Bound], ordered: bool) -> Floats:
    """The number of rankings, or sets, under each row of ceilings for which the event holds."""
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
