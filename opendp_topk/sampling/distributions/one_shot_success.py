"""Bounds on the success probability of one-shot top-k, the k best of independently perturbed scores.

The winners are correct if they contain the ranks 1..sure and none beyond reach, for some order of equal scores. Barred
candidates take part without a rank: the winners are wrong if one of them is barred.

Proof: proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CapacityError
from ...numerics.floats import Floats, exp
from ..noises.noise import Noise
from ..samplers import entropy as noiseless
from ..samplers.advantages import ScaledScores
from . import quadrature as arrivals
from . import quadrature as departures
from .quadrature import LateCandidates, RankGroups, integral_bounds

_CLIP = 80.0  # in units of the scale: the effect of clipping larger advantages is less than the error that is added
_FLOOR = 2.0**-400  # bounds are raised to it, so their quotients stay finite
_TAIL = 2.0**-50  # about the probability that is bounded instead of integrated at either end
_MOST_STEPS = 10**6  # work limit: the sums for each point of the integral
_MOST_CELLS = 2**23  # elements of one array: 64 MiB


# proof-region: one_shot_success
def success_probability(
    noise: Noise, values: NDArray[Any], tau: Fraction, k: int, sign: int, sure: int, reach: int, barred: int = 0
) -> tuple[float, float]:
    """Return bounds on the probability of the event, for 1 <= sure <= k <= reach <= d - barred, k < d and tau > 0.

    The last ``barred`` values take part without a rank. If one of them wins, the event fails.

    Raises:
        CapacityError: There are too many ranks between sure and reach, or the integral needs too many panels.
    """
    d = len(values)
    order = noiseless.top_k(values, d, sign=sign, ordered=True)
    reference = values[order][k]  # [reference]
    order = np.concatenate([order[order < d - barred], order[order >= d - barred]])  # [barred-last]
    scores = ScaledScores(np.ascontiguousarray(values[order]), tau, sign)
    groups = group_ranks(scores.values[: d - barred], k, sure, reach)
    if groups.size == d and groups.sure == groups.top == 0:
        return 1.0, 1.0  # [nothing-asked]
    if groups.product_sum_count > _MOST_STEPS:
        raise CapacityError('the probability requires too many sums: use fewer winners, or the event "exact"')
    with np.errstate(all="ignore"):
        advantages = np.clip(scores.approximate_advantages(scores.values, reference), -_CLIP, _CLIP)  # [clip]
        spread = float(np.max(np.abs(advantages)))
        lower, upper = _enclose_probability(noise, exp(-advantages), groups, k)
    loss = 2 * k * (spread * 2.0**-50 + 2.0**-48)  # [perturbation]
    other = 2.0**-106 * d * (k + 1)  # [clipped]
    lower, upper = lower * (1 - loss) - other, upper * (1 + 2 * loss) + other
    return max(float(lower), 0.0), min(float(upper), 1.0)  # [certain-bounds]


def group_ranks(ranked: NDArray[Any], k: int, sure: int, reach: int) -> RankGroups:
    """Group the ranks by what the event requires of them; equal scores are in one group."""
    alpha, beta = ranked[sure - 1], ranked[reach - 1]
    first_alpha, last_alpha = _tie_range(ranked, alpha)
    first_beta, last_beta = _tie_range(ranked, beta)
    if first_alpha == first_beta:
        return RankGroups(first_alpha, 0, 0, 0, last_alpha - first_alpha, last_alpha - first_alpha, k)  # [one-run]
    if last_alpha == sure:
        first_alpha = sure  # [no-tie-above]
    if last_beta == reach:
        first_beta = reach  # [no-tie-below]
        last_beta = reach
    return RankGroups(
        first_alpha,
        max(last_alpha - first_alpha, 0),
        sure - first_alpha,
        first_beta - max(last_alpha, first_alpha),
        last_beta - first_beta,
        reach - first_beta,
        k,
    )


def _tie_range(ranked: NDArray[Any], value: Any) -> tuple[int, int]:
    """Return the first place of ``value`` in the ranking, and the place after its last one."""
    places = np.flatnonzero(ranked == value)
    return int(places[0]), int(places[-1]) + 1


def _enclose_probability(noise: Noise, b: Floats, groups: RankGroups, k: int) -> tuple[float, float]:
    rest = b[groups.size :]
    b = b / _find_end_time(noise, b, groups, k)  # [unit]
    rest = b[groups.size :]
    many = rest >= (0.0 if noise.is_max_stable else 1 / arrivals.NEAR)
    crowd = LateCandidates.from_candidates(noise, rest[many])  # [crowd]
    near = np.concatenate([b[groups.representative_ranks], rest[~many]])
    race = noise.arrival_distribution()
    kinks = near if race.kinked else near[:0]
    last = 1.0
    if race.ending and (~many).any():
        last = min(last, float(rest[~many].min()))  # [rest-has-arrived]
    start = 2.0 ** np.floor(np.log2(_TAIL / 4 / arrivals.sum_upper_bound(1 / b[k:])))
    head = 4 * start * arrivals.sum_upper_bound(1 / b[k:])  # [head]
    if start >= last:
        return 0.0, 1.0
    steps = int(np.ceil(-4 * np.log2(start)))
    grid = start * 2.0 ** (np.arange(steps) / 4)
    ends = np.unique(
        np.concatenate([[start, last], grid[(grid > start) & (grid < last)], kinks[(kinks > start) & (kinks < last)]])
    )
    column = near[:, None]
    count = departures.rounding_count_bound(groups, len(near)) * 2.0**-52

    def integrand_bounds(x: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        pairs = crowd.none_and_rate_bounds(x)
        laws = arrivals.arrival_bounds(noise, x / column, column >= right)
        low, high = (departures.departure_rate(groups, law, pair) / x for law, pair in zip(laws, pairs, strict=True))
        return low * (1 - count), high * (1 + count)  # [values]

    def integrand_majorant(low: Floats, high: Floats, left: Floats, right: Floats) -> Floats:
        law = arrivals.arrival_majorants(noise, low / column, high / column, column >= right)
        none, rate = crowd.none_and_rate_bounds(low)[1]
        pair = np.maximum(none, _FLOOR), np.maximum(rate * (high / low), _FLOOR)
        return np.asarray(departures.departure_rate(groups, law, pair, _FLOOR) / low * (1 + count))  # [greatest]

    lower, upper = integral_bounds(
        ends, _in_pieces(integrand_bounds, len(near)), _in_pieces(integrand_majorant, len(near))
    )
    tail = 0.0 if last < 1 else _late_event_bound(noise, b, crowd, rest[~many], k)  # [tail]
    return lower, upper + head + tail


def _in_pieces(function: Callable[..., Any], rows: int) -> Callable[..., Any]:
    """Return a function that evaluates ``function`` in chunks of points, so arrays of ``rows`` rows stay small."""
    size = max(1, _MOST_CELLS // max(1, rows))

    def evaluate_in_pieces(*points: Floats) -> Any:
        parts = [function(*(array[i : i + size] for array in points)) for i in range(0, len(points[0]), size)]
        return np.concatenate(parts, axis=-1)  # [pieces]

    return evaluate_in_pieces


def _late_event_bound(noise: Noise, b: Floats, crowd: LateCandidates, near: Floats, k: int) -> float:
    """Return a bound on the probability that the state of the event is left after the time 1."""
    missing = float(
        np.sum(arrivals.arrival_bounds(noise, 1 / b[: k + 1], b[: k + 1] >= 1)[1].waiting)
    )  # [one-of-the-best]
    none = float(crowd.none_and_rate_bounds(np.ones(1))[1][0][0])
    none *= float(np.prod(arrivals.arrival_bounds(noise, 1 / near, near >= 1)[1].waiting))  # [no-rest]
    return 2 * min(missing, none)


def _find_end_time(noise: Noise, b: Floats, groups: RankGroups, k: int) -> float:
    """Return a power of two at which the state of the event has very likely been left; any one is valid."""
    low, high = -130, 200
    while high - low > 1:
        middle = (low + high) // 2
        x = 2.0**middle
        missing = np.sum(_waiting_probability(noise, x / b[: k + 1]))
        none = np.exp(np.sum(np.log(_waiting_probability(noise, x / b[groups.size :]))))
        low, high = (low, middle) if min(missing, none if groups.size < len(b) else 1.0) < _TAIL else (middle, high)
    return 2.0**high


def _waiting_probability(noise: Noise, z: Floats) -> Floats:
    return arrivals.arrival_bounds(noise, z, z <= 1)[0].waiting


# end-proof-region: one_shot_success
