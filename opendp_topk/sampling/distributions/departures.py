"""The rate at which a set of arrivals is left: sums of products of nonnegative numbers, evaluated as polynomials.

A pair (stay, leave) of polynomials: the coefficient n of ``stay`` is the probability that n of the candidates have
arrived, that of ``leave`` the rate at which one more arrives when n others have.

Proof: proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.floatlog import FloatBounds, Floats
from .arrivals import Law


@dataclass(frozen=True)
class Groups:
    """How many of the ranks, in order, must win (sure), are tied above (top: at least ``least`` of them must win), are
    free (middle), and are tied below (low: at most ``most`` of them may win); no other may win. ``k`` win."""

    sure: int
    top: int
    least: int
    middle: int
    low: int
    most: int
    k: int

    @property
    def size(self) -> int:
        """The number of ranks that may win."""
        return self.sure + self.top + self.middle + self.low

    @property
    def rows(self) -> list[int]:
        """Ranks, less one, that stand for all that may win: one for each tied group."""
        free = self.sure + self.top
        ties = [self.sure] * bool(self.top), [self.size - 1] * bool(self.low)
        return [*range(self.sure), *ties[0], *range(free, free + self.middle), *ties[1]]

    @property
    def steps(self) -> int:
        """How many sums of products a rate costs."""
        free = self.k - self.sure + 1
        ties = self.top.bit_length() + self.low.bit_length()
        return min(free, self.middle + 1) * self.middle + free * free * ties + self.sure


# proof-region: departures
def rate(groups: Groups, law: Law, crowd: FloatBounds, floor: float = 0.0) -> Floats:
    """The rate at which the event is left: k have arrived, as it demands, and one more arrives.

    ``law`` has a row for each of ``groups.rows``, and then for each other candidate outside of the crowd; ``crowd`` is
    the pair of the rest, none of which may win. Every intermediate number is raised to ``floor``.
    """
    free = groups.k - groups.sure
    first = groups.sure + bool(groups.top)
    last = first + groups.middle
    stay, leave = crowd
    for waiting, arriving in zip(law.waiting[len(groups.rows) :], law.rate[len(groups.rows) :], strict=True):
        leave = np.maximum(leave * waiting + stay * arriving, floor)
        stay = np.maximum(stay * waiting, floor)  # [rest]
    for arrived in law.arrived[: groups.sure]:
        leave, stay = np.maximum(leave * arrived, floor), np.maximum(stay * arrived, floor)  # [sure]
    counts = np.zeros((free + 1, 2, *stay.shape))
    counts[0, 0] = 1.0
    if groups.top:
        counts = _power(law[groups.sure], groups.top, free, floor)
        counts[: groups.least] = 0.0  # [least]
    for row in range(first, last):
        fewest = max(0, free - (last - row - 1) - groups.most)
        most = min(free, groups.top + row - first + 1)
        _one_more(counts, law[row], fewest, most, floor)  # [middle]
    if groups.low:
        low = _power(law[last], groups.low, free, floor)
        low[groups.most + 1 :] = 0.0  # [most]
        counts = _product(counts, low, floor)
    return np.asarray(leave * counts[free, 0] + stay * counts[free, 1])  # [leave]


def _one_more(counts: Floats, law: Law, fewest: int, most: int, floor: float) -> None:
    """One more candidate, in place, for the counts that matter."""
    before = counts[max(fewest - 1, 0) : most].copy()
    now = counts[fewest : most + 1]
    now[:, 1] = now[:, 1] * law.waiting + now[:, 0] * law.rate
    now[:, 0] *= law.waiting
    now[len(now) - len(before) :] += before * law.arrived
    np.maximum(now, floor, out=now)  # [one-more]


def _power(law: Law, n: int, degree: int, floor: float) -> Floats:
    """The counts of n candidates with one law, by repeated squaring."""
    result = np.zeros((degree + 1, 2, *law.arrived.shape))
    result[0, 0] = 1.0
    for digit in f"{n:b}":
        result = _product(result, result, floor)  # [square]
        if digit == "1":
            _one_more(result, law, 0, degree, floor)
    return result


def _product(left: Floats, right: Floats, floor: float) -> Floats:
    result = np.zeros_like(left)
    for n in range(len(left)):
        if left[n].any():
            result[n:, 0] += left[n, 0] * right[: len(left) - n, 0]
            result[n:, 1] += left[n, 0] * right[: len(left) - n, 1] + left[n, 1] * right[: len(left) - n, 0]
    return np.maximum(result, floor)  # [product]


def roundings(groups: Groups, rows: int) -> int:
    """More than the number of roundings on any way from an argument to the result."""
    return 8 * (rows + groups.k + 64) + 4 * sum(n * (n.bit_length() + 2) for n in (groups.top, groups.low))


# end-proof-region: departures
