"""The probability that the k best of independently perturbed scores are the right ones, enclosed.

The winners are right if they contain the ranks 1..sure and none beyond reach, in some order of equal scores. Some of
those that take part may be barred: they have no rank, and winners are wrong where one of them is among these.

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
from ..samplers.advantages import Scores
from . import quadrature as arrivals
from . import quadrature as departures
from .quadrature import Crowd, Groups, integral

_CLIP = 80.0  # in units of the scale: who is further off changes the probability by less than is added for it
_FLOOR = 2.0**-400  # bounds are raised to it, so that quotients of them stay finite
_TAIL = 2.0**-50  # about what is bounded instead of integrated at either end
_MOST_STEPS = 10**6  # a limit of work: the sums that each point of the integral needs
_MOST_CELLS = 2**23  # 64 MiB in one array


# proof-region: one_shot_success
def probability(
    noise: Noise, values: NDArray[Any], tau: Fraction, k: int, sign: int, sure: int, reach: int, barred: int = 0
) -> tuple[float, float]:
    """Bounds on the probability of the event, for 1 <= sure <= k <= reach <= d - barred, k < d and tau > 0.

    The last ``barred`` of the values take part and have no rank: where one of them wins, the event fails.

    Raises:
        CapacityError: The ranks between sure and reach are too many.
    """
    d = len(values)
    order = noiseless.top_k(values, d, sign=sign, ordered=True)
    reference = values[order][k]  # [reference]
    order = np.concatenate([order[order < d - barred], order[order >= d - barred]])  # [barred-last]
    scores = Scores(np.ascontiguousarray(values[order]), tau, sign)
    groups = grouped(scores.values[: d - barred], k, sure, reach)
    if groups.size == d and groups.sure == groups.top == 0:
        return 1.0, 1.0  # [nothing-asked]
    if groups.steps > _MOST_STEPS:
        raise CapacityError("the probability needs too many sums: use fewer winners, or the event exact")
    with np.errstate(all="ignore"):
        advantages = np.clip(scores.advantages(scores.values, reference), -_CLIP, _CLIP)  # [clip]
        spread = float(np.max(np.abs(advantages)))
        lower, upper = _enclosed(noise, exp(-advantages), groups, k)
    loss = 2 * k * (spread * 2.0**-50 + 2.0**-48)  # [perturbation]
    other = 2.0**-106 * d * (k + 1)  # [clipped]
    lower, upper = lower * (1 - loss) - other, upper * (1 + 2 * loss) + other
    return max(float(lower), 0.0), min(float(upper), 1.0)  # [certain-bounds]


def grouped(ranked: NDArray[Any], k: int, sure: int, reach: int) -> Groups:
    """The ranks by what the event asks of them; equal scores are together."""
    alpha, beta = ranked[sure - 1], ranked[reach - 1]
    first_alpha, last_alpha = _run(ranked, alpha)
    first_beta, last_beta = _run(ranked, beta)
    if first_alpha == first_beta:
        return Groups(first_alpha, 0, 0, 0, last_alpha - first_alpha, last_alpha - first_alpha, k)  # [one-run]
    if last_alpha == sure:
        first_alpha = sure  # [no-tie-above]
    if last_beta == reach:
        first_beta = reach  # [no-tie-below]
        last_beta = reach
    return Groups(
        first_alpha,
        max(last_alpha - first_alpha, 0),
        sure - first_alpha,
        first_beta - max(last_alpha, first_alpha),
        last_beta - first_beta,
        reach - first_beta,
        k,
    )


def _run(ranked: NDArray[Any], value: Any) -> tuple[int, int]:
    """The first place of ``value`` in the ranking, and the place after its last."""
    places = np.flatnonzero(ranked == value)
    return int(places[0]), int(places[-1]) + 1


def _enclosed(noise: Noise, b: Floats, groups: Groups, k: int) -> tuple[float, float]:
    rest = b[groups.size :]
    b = b / _end(noise, b, groups, k)  # [unit]
    rest = b[groups.size :]
    many = rest >= (0.0 if noise.is_max_stable else 1 / arrivals.NEAR)
    crowd = Crowd.of(noise, rest[many])  # [crowd]
    near = np.concatenate([b[groups.rows], rest[~many]])
    race = noise.law_in_a_race()
    kinks = near if race.kinked else near[:0]
    last = 1.0
    if race.ending and (~many).any():
        last = min(last, float(rest[~many].min()))  # [rest-has-arrived]
    start = 2.0 ** np.floor(np.log2(_TAIL / 4 / arrivals.total(1 / b[k:])))
    head = 4 * start * arrivals.total(1 / b[k:])  # [head]
    if start >= last:
        return 0.0, 1.0
    steps = int(np.ceil(-4 * np.log2(start)))
    grid = start * 2.0 ** (np.arange(steps) / 4)
    ends = np.unique(
        np.concatenate([[start, last], grid[(grid > start) & (grid < last)], kinks[(kinks > start) & (kinks < last)]])
    )
    column = near[:, None]
    count = departures.roundings(groups, len(near)) * 2.0**-52

    def values(x: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        pairs = crowd.bounds(x)
        laws = arrivals.bounds(noise, x / column, column >= right)
        low, high = (departures.rate(groups, law, pair) / x for law, pair in zip(laws, pairs, strict=True))
        return low * (1 - count), high * (1 + count)  # [values]

    def greatest(low: Floats, high: Floats, left: Floats, right: Floats) -> Floats:
        law = arrivals.majorants(noise, low / column, high / column, column >= right)
        none, rate = crowd.bounds(low)[1]
        pair = np.maximum(none, _FLOOR), np.maximum(rate * (high / low), _FLOOR)
        return np.asarray(departures.rate(groups, law, pair, _FLOOR) / low * (1 + count))  # [greatest]

    lower, upper = integral(ends, _in_pieces(values, len(near)), _in_pieces(greatest, len(near)))
    tail = 0.0 if last < 1 else _tail(noise, b, crowd, rest[~many], k)  # [tail]
    return lower, upper + head + tail


def _in_pieces(function: Callable[..., Any], rows: int) -> Callable[..., Any]:
    """The same function of arrays of points, at so few points at a time that an array of ``rows`` rows is not large."""
    size = max(1, _MOST_CELLS // max(1, rows))

    def whole(*points: Floats) -> Any:
        parts = [function(*(array[i : i + size] for array in points)) for i in range(0, len(points[0]), size)]
        return np.concatenate(parts, axis=-1)  # [pieces]

    return whole


def _tail(noise: Noise, b: Floats, crowd: Crowd, near: Floats, k: int) -> float:
    """A bound on the probability that the event is left after the time 1."""
    missing = float(np.sum(arrivals.bounds(noise, 1 / b[: k + 1], b[: k + 1] >= 1)[1].waiting))  # [one-of-the-best]
    none = float(crowd.bounds(np.ones(1))[1][0][0])
    none *= float(np.prod(arrivals.bounds(noise, 1 / near, near >= 1)[1].waiting))  # [no-rest]
    return 2 * min(missing, none)


def _end(noise: Noise, b: Floats, groups: Groups, k: int) -> float:
    """A power of two by which the event has hardly not been left; any would do."""
    low, high = -130, 200
    while high - low > 1:
        middle = (low + high) // 2
        x = 2.0**middle
        missing = np.sum(_waiting(noise, x / b[: k + 1]))
        none = np.exp(np.sum(np.log(_waiting(noise, x / b[groups.size :]))))
        low, high = (low, middle) if min(missing, none if groups.size < len(b) else 1.0) < _TAIL else (middle, high)
    return 2.0**high


def _waiting(noise: Noise, z: Floats) -> Floats:
    return arrivals.bounds(noise, z, z <= 1)[0].waiting


# end-proof-region: one_shot_success
