"""Arrival times of noisy candidates, rates at which a set of arrivals changes, and integrals with proven error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import CapacityError
from ...numerics.floats import FloatBounds, Floats, exp
from ..noises.noise import Noise, Side

# Noises as arrival times: the candidate with the k-th best noisy score arrives k-th.
#
# With noise Z on the score s, a candidate arrives at X = e^(-s - Z). The probabilities of having arrived (G) and of not
# having arrived (q) by the time x, and the rate x G'(x), are elementary functions of z = x / b with b = e^-s.
#
# Proof: proofs/distributions/one_shot_success.tex

_RELATIVE = 2.0**-46  # 128 units of roundoff: more than the rounding error of the formulas, as the proof shows
_ABSOLUTE = 2.0**-49  # 16 units of roundoff, for probabilities that are differences
_CLIP = 100.0  # e^-100 is far below the errors that are added
TERMS = 16  # terms of a series in powers of at most NEAR: its remainder is of the order of 2^-48
_TINY = 2.0**-120  # slack for rates that are cut at 0 or underflow
NEAR = 0.125  # candidates with z = x / b up to this are in the crowd: one series for all instead of a factor for each


@dataclass(frozen=True, eq=False)
class ArrivalBounds:
    """Bounds on G, q = 1 - G and the rate x G'(x), arrays of one shape."""

    arrived: Floats
    waiting: Floats
    rate: Floats

    def __getitem__(self, rows: Any) -> ArrivalBounds:
        return ArrivalBounds(self.arrived[rows], self.waiting[rows], self.rate[rows])


# proof-region: arrival_bounds
def arrival_bounds(noise: Noise, z: Floats, before: Side) -> tuple[ArrivalBounds, ArrivalBounds]:
    """Return lower and upper bounds at z = x / b > 0; ``before`` is true for the formulas below the kink 1."""
    arrived, waiting, rate = noise.arrival_distribution().at(z, before)  # [formulas]
    lower = ArrivalBounds(
        arrived * (1 - _RELATIVE), np.maximum(waiting - _ABSOLUTE, 0.0), np.maximum(rate * (1 - _RELATIVE) - _TINY, 0.0)
    )  # [lower]
    return lower, ArrivalBounds(
        arrived * (1 + _RELATIVE), waiting + _ABSOLUTE, rate * (1 + _RELATIVE) + _TINY
    )  # [upper]


def arrival_majorants(noise: Noise, left: Floats, right: Floats, before: Side) -> ArrivalBounds:
    """Return bounds on |G|, |q| and |x G'(x)| on the complex disc with the diameter [left, right] in z, 0 < left."""
    arrived, waiting, rate = noise.arrival_distribution().on_disc(left, right, before)
    up = 1 + _RELATIVE
    return ArrivalBounds(arrived * up, waiting * up + _ABSOLUTE, rate * up + _TINY)  # [majorants]


class LateCandidates:
    """The crowd: many candidates, each unlikely to arrive by the time 1.

    b >= 1 / NEAR for each of them, and any b > 0 with Gumbel noise. ``sums[m - 1]`` is the sum of b^-m over them,
    m = 1, 2, ..., within ``errors[m - 1]``.
    """

    def __init__(self, noise: Noise, sums: Floats, errors: Floats) -> None:
        self._sums, self._errors = sums, errors + sums * 2.0**-46
        coefficient = noise.arrival_distribution().coefficient
        self._weights = np.array([coefficient(m) for m in range(1, len(sums) + 1)])  # [coefficients]
        self._rest = 0.0 if noise.is_max_stable else 2.5 * (sums[0] + errors[0]) * NEAR**TERMS  # [remainder]

    @staticmethod
    def from_candidates(noise: Noise, b: Floats) -> LateCandidates:
        """Return the crowd of candidates with these b."""
        power, sums = np.ones_like(b), []
        for _ in range(1 if noise.is_max_stable else TERMS):
            power = power / b
            sums.append(_block_sum(power))  # [power-sums]
        exact = np.array(sums)
        return LateCandidates(noise, exact, exact * (2 * TERMS + 1200 + len(b) / 512) * 2.0**-52)  # [sum-error]

    def none_and_rate_bounds(self, x: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return ((none, rate) lower, (none, rate) upper), bounds at each time x in (0, 1].

        ``none`` is the probability that none of the candidates has arrived by x, and ``rate`` is x times its negative
        derivative.
        """
        exponent, error, slope, slope_error = np.zeros((4, *x.shape))
        for m in range(len(self._sums), 0, -1):
            c, p, e = self._weights[m - 1], self._sums[m - 1], self._errors[m - 1]
            exponent, error = (exponent + c * p) * x, (error + abs(c) * e) * x
            slope, slope_error = (slope + m * c * p) * x, (slope_error + m * abs(c) * e) * x  # [series]
        error, slope_error = (wrong * (1 + 2.0**-40) + self._rest for wrong in (error, slope_error))
        least, most = np.maximum(exponent - error, 0.0), exponent + error
        below = np.where(most < _CLIP, exp(-np.minimum(most, _CLIP)) * (1 - _RELATIVE), 0.0)
        above = exp(-np.minimum(least, _CLIP)) * (1 + _RELATIVE)  # [none]
        lower = below, below * np.maximum(slope - slope_error, 0.0) * (1 - _RELATIVE)
        return lower, (above, above * (slope + slope_error) * (1 + _RELATIVE))  # [crowd-rate]


def sum_upper_bound(values: Floats) -> float:
    """Return an upper bound on the sum of nonnegative numbers."""
    return _block_sum(values) * (1 + 2.0**-20)  # [total]


def _block_sum(values: Floats) -> float:
    """Return the sum of nonnegative numbers, added in blocks of 1024."""
    padded = np.zeros(-(-len(values) // 1024) * 1024)
    padded[: len(values)] = values
    return float(padded.reshape(-1, 1024).sum(axis=1).sum())  # [blocks]


# end-proof-region: arrival_bounds


# The rate at which a set of arrivals is left: sums of products of nonnegative numbers, evaluated as polynomials.
#
# In a pair (stay, leave) of polynomials, the coefficient n of ``stay`` is the probability that n of the candidates have
# arrived, and that of ``leave`` is the rate at which one more arrives after n others.
#
# Proof: proofs/distributions/one_shot_success.tex


@dataclass(frozen=True)
class RankGroups:
    """Groups of consecutive ranks, by what an event requires of the ``k`` winners.

    In order: ``sure`` ranks must win; of ``top`` tied ranks at least ``least`` must win; ``middle`` ranks are free; of
    ``low`` tied ranks at most ``most`` may win; all others must lose.
    """

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
    def representative_ranks(self) -> list[int]:
        """The ranks that may win, counted from 0, with only one representative for each tied group."""
        free = self.sure + self.top
        ties = [self.sure] * bool(self.top), [self.size - 1] * bool(self.low)
        return [*range(self.sure), *ties[0], *range(free, free + self.middle), *ties[1]]

    @property
    def product_sum_count(self) -> int:
        """The number of sums of products that one rate needs."""
        free = self.k - self.sure + 1
        ties = self.top.bit_length() + self.low.bit_length()
        return min(free, self.middle + 1) * self.middle + free * free * ties + self.sure


# proof-region: departures
def departure_rate(groups: RankGroups, law: ArrivalBounds, crowd: FloatBounds, floor: float = 0.0) -> Floats:
    """Return the rate at which the event is left: k candidates have arrived as it requires, and one more arrives.

    ``law`` has a row for each of ``groups.representative_ranks``, and then one for each other candidate outside the
    crowd. ``crowd`` is the pair (stay, leave) of the crowd, none of which may win. Every intermediate number is raised
    to at least ``floor``.
    """
    free = groups.k - groups.sure
    first = groups.sure + bool(groups.top)
    last = first + groups.middle
    stay, leave = crowd
    for waiting, arriving in zip(
        law.waiting[len(groups.representative_ranks) :], law.rate[len(groups.representative_ranks) :], strict=True
    ):
        leave = np.maximum(leave * waiting + stay * arriving, floor)
        stay = np.maximum(stay * waiting, floor)  # [rest]
    for arrived in law.arrived[: groups.sure]:
        leave, stay = np.maximum(leave * arrived, floor), np.maximum(stay * arrived, floor)  # [sure]
    counts = np.zeros((free + 1, 2, *stay.shape))
    counts[0, 0] = 1.0
    if groups.top:
        counts = _equal_candidate_counts(law[groups.sure], groups.top, free, floor)
        counts[: groups.least] = 0.0  # [least]
    for row in range(first, last):
        fewest = max(0, free - (last - row - 1) - groups.most)
        most = min(free, groups.top + row - first + 1)
        _add_candidate(counts, law[row], fewest, most, floor)  # [middle]
    if groups.low:
        low = _equal_candidate_counts(law[last], groups.low, free, floor)
        low[groups.most + 1 :] = 0.0  # [most]
        counts = _multiply_counts(counts, low, floor)
    return np.asarray(leave * counts[free, 0] + stay * counts[free, 1])  # [leave]


def _add_candidate(counts: Floats, law: ArrivalBounds, fewest: int, most: int, floor: float) -> None:
    """Add one candidate to ``counts``, in place, for the numbers of arrivals from ``fewest`` to ``most``."""
    before = counts[max(fewest - 1, 0) : most].copy()
    now = counts[fewest : most + 1]
    now[:, 1] = now[:, 1] * law.waiting + now[:, 0] * law.rate
    now[:, 0] *= law.waiting
    now[len(now) - len(before) :] += before * law.arrived
    np.maximum(now, floor, out=now)  # [one-more]


def _equal_candidate_counts(law: ArrivalBounds, n: int, degree: int, floor: float) -> Floats:
    """Return the counts of n candidates with the same arrival distribution, by repeated squaring."""
    result = np.zeros((degree + 1, 2, *law.arrived.shape))
    result[0, 0] = 1.0
    for digit in f"{n:b}":
        result = _multiply_counts(result, result, floor)  # [square]
        if digit == "1":
            _add_candidate(result, law, 0, degree, floor)
    return result


def _multiply_counts(left: Floats, right: Floats, floor: float) -> Floats:
    result = np.zeros_like(left)
    for n in range(len(left)):
        if left[n].any():
            result[n:, 0] += left[n, 0] * right[: len(left) - n, 0]
            result[n:, 1] += left[n, 0] * right[: len(left) - n, 1] + left[n, 1] * right[: len(left) - n, 0]
    return np.maximum(result, floor)  # [product]


def rounding_count_bound(groups: RankGroups, rows: int) -> int:
    """Return a bound on the number of roundings on every path from an argument to the result."""
    return 8 * (rows + groups.k + 64) + 4 * sum(n * (n.bit_length() + 2) for n in (groups.top, groups.low))


# end-proof-region: departures


# Integrals of analytic functions with a proven error, from a rule of 12 nodes and maxima on complex discs.
#
# Proof: proofs/distributions/quadrature.tex

_NODES = 12  # exact for polynomials up to degree 23
_SLACK = 2.0**-46  # error of the rule on a panel, relative to the largest value on its disc, with roundings
_SUMS = 2.0**-38  # relative rounding error of sums of up to 20,000 terms
_HEAVY = 2.0  # panels whose mass may exceed it are halved; it determines where work is spent, not the validity
_NEGLIGIBLE = 2.0**-60  # panels with at most this mass are bounded and not evaluated
_ROUNDS = 12  # a panel is halved at most eleven times
_CHUNK = 128  # panels at a time, so arrays of nodes by candidates stay small
MOST_PANELS = 20_000  # work limit for each round; the rounding error of the sums relies on it


# proof-region: quadrature
def integral_bounds(
    ends: Floats,
    values: Callable[[Floats, Floats, Floats], FloatBounds],
    greatest: Callable[[Floats, Floats, Floats, Floats], Floats],
) -> tuple[float, float]:
    """Return bounds on the integral of f >= 0 from ``ends[0]`` to ``ends[-1]``; f is analytic between adjacent ends.

    Args:
        ends: Positive and ascending, each at most 9/7 times the previous one.
        values: ``values(x, left, right)`` returns bounds on f(x); [left, right] is the panel of x.
        greatest: ``greatest(low, high, left, right)`` returns a bound on |f|, continued analytically from the panel
            [left, right], on the disc with the diameter [low, high]. The disc has the middle of the panel and four
            times its width.

    Raises:
        CapacityError: More than 20,000 panels are needed in one round of halving.
    """
    left, right = ends[:-1], ends[1:]
    lower = upper = wrong = 0.0
    for turn in range(_ROUNDS):
        if len(left) > MOST_PANELS:  # [panels]
            raise CapacityError("the probability requires too many panels: use fewer winners, or a larger scale")
        error, mass = _panel_errors(left, right, greatest)
        small, heavy = mass <= _NEGLIGIBLE, (mass > _HEAVY) & (turn < _ROUNDS - 1)
        kept = ~small & ~heavy
        below, above = _apply_quadrature_rule(left[kept], right[kept], values)
        lower, upper = lower + below, upper + above + float(np.sum(mass[small]))  # [negligible]
        wrong += float(np.sum(error[kept]))
        left, right = left[heavy], right[heavy]
        if len(left) == 0:
            break
        middle = (left + right) / 2  # [halve]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return lower * (1 - _SUMS) - wrong * (1 + _SUMS), (upper + wrong) * (1 + _SUMS)  # [sum]


def _panel_errors(left: Floats, right: Floats, greatest: Callable[..., Floats]) -> FloatBounds:
    """Return for each panel a bound on the error of the rule, and a bound on the integral."""
    error, mass = np.zeros((2, len(left)))
    for start in range(0, len(left), _NODES * _CHUNK):
        part = slice(start, start + _NODES * _CHUNK)
        a, b = left[part], right[part]
        width, centre = b - a, (a + b) / 2
        most = greatest((centre - 2 * width) * (1 - 2.0**-48), (centre + 2 * width) * (1 + 2.0**-48), a, b)  # [disc]
        most = np.where(np.isfinite(most), most, np.finfo(float).max)
        error[part] = most * (width * _SLACK + b * 2.0**-48)  # [error]
        mass[part] = most * width * (1 + _SLACK)  # [mass]
    return error, mass


def _apply_quadrature_rule(left: Floats, right: Floats, values: Callable[..., FloatBounds]) -> tuple[float, float]:
    nodes, weights = gauss_legendre_rule()
    below = above = 0.0
    for start in range(0, len(left), _CHUNK):
        a, b = (side[start : start + _CHUNK, None] for side in (left, right))
        x = np.clip((a + b) / 2 + nodes * ((b - a) / 2), a, b)  # [nodes]
        a, b = (np.broadcast_to(side, x.shape).ravel() for side in (a, b))
        scaled = (weights * ((right - left)[start : start + _CHUNK, None] / 2)).ravel()
        lower, upper = values(x.ravel(), a, b)
        below, above = below + float(np.sum(scaled * lower)), above + float(np.sum(scaled * upper))  # [weigh]
    return below, above


@functools.cache
def gauss_legendre_rule() -> FloatBounds:
    """Return the nodes in (-1, 1) and the positive weights of the Gauss-Legendre rule, in float64.

    The error of every moment of degree below 24 is at most 2^-50. This is checked in exact arithmetic.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    exact = [(Fraction(x), Fraction(w)) for x, w in zip(nodes.tolist(), weights.tolist(), strict=True)]
    for m in range(2 * _NODES):
        moment = Fraction(2, m + 1) if m % 2 == 0 else Fraction(0)
        if abs(sum(w * x**m for x, w in exact) - moment) > Fraction(1, 2**50):  # [moments]
            raise AssertionError("the quadrature rule of this NumPy is inaccurate")
    return nodes, weights


# end-proof-region: quadrature
