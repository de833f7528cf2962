"""Permute-and-flip among many outcomes: the probability that the first to arrive is right, enclosed.

An outcome of weight w <= 1 arrives at a uniform time in [0, 1 / w].

Proof: proofs/distributions/canonical_success.tex
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.floatlog import Floats
from ..noises.exponential import Exponential
from . import arrivals
from .arrivals import Crowd
from .quadrature import integral

_START = 2.0**-52  # where the integral starts; what lies before is bounded instead


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How many outcomes of each large weight there are, and how many of them are right; sums of powers of all weights,
    and of those that are right; ``error`` is a bound on the relative error of the sums and of the weights."""

    near: dict[float, int]
    near_right: dict[float, int]
    sums: Floats
    sums_right: Floats
    error: float


# proof-region: permute_and_flip_success
def first_is_right(outcomes: Outcomes, exact_end: bool) -> tuple[float, float]:
    """Bounds on the probability that the first outcome to arrive is right.

    Every weight above arrivals.NEAR is listed. With ``exact_end`` the largest weight is 1.
    """
    weights = np.array(sorted(outcomes.near), dtype=np.float64)
    n = np.array([outcomes.near[w] for w in weights.tolist()], dtype=np.int64)
    n_right = np.array([outcomes.near_right.get(w, 0) for w in weights.tolist()], dtype=np.int64)
    b = (1 / weights)[:, None]
    powers = np.cumprod(np.repeat(weights[:, None], arrivals.TERMS, axis=1), axis=1)
    right = _rest(outcomes.sums_right, np.asarray(n_right @ powers, dtype=np.float64), outcomes.error)
    wrong_error = (outcomes.sums + outcomes.sums_right) * outcomes.error
    others = np.asarray((n - n_right) @ powers, dtype=np.float64)
    wrong = _rest(outcomes.sums - outcomes.sums_right, others, outcomes.error, wrong_error)  # [rest]
    count = (float(n.sum()) + 4 * len(n) + 64) * 2.0**-50

    def rates(law: arrivals.Law, x: Floats, bound: int) -> Floats:
        none_right, rate = right.bounds(x)[bound]
        none = wrong.bounds(x)[bound][0]
        waiting = np.prod(np.repeat(law.waiting, n, axis=0), axis=0)  # [all-waiting]
        odds = np.sum(n_right[:, None] * law.rate / np.maximum(law.waiting, 2.0**-900), axis=0)
        return np.asarray(none * (none_right * odds + rate) * waiting)  # [right-rate]

    def values(x: Floats, left: Floats, end: Floats) -> tuple[Floats, Floats]:
        z = x / b
        lower, upper = arrivals.bounds(Exponential(), z, z <= 1)
        return rates(lower, x, 0) / x * (1 - count), rates(upper, x, 1) / x * (1 + count)

    def greatest(low: Floats, high: Floats, left: Floats, end: Floats) -> Floats:
        law = arrivals.majorants(Exponential(), low / b, high / b, np.ones((len(b), 1), dtype=bool))
        return np.asarray(rates(law, low, 1) * (high / low) / low * (1 + count))

    lower, upper = integral(np.append(_START * 2.0 ** (np.arange(208) / 4), 1.0), values, greatest)
    head = 2 * _START * (float(outcomes.sums_right[0]) + 1)  # [head]
    tail = 0.0
    if not exact_end:
        one = np.ones(1)
        waiting = np.repeat(arrivals.bounds(Exponential(), 1 / b, b >= 1)[1].waiting, n, axis=0)
        tail = 2 * float(np.prod(waiting)) * float(right.bounds(one)[1][0][0] * wrong.bounds(one)[1][0][0])  # [tail]
    slack = 8 * outcomes.error
    return lower * (1 - slack), (upper + head + tail) * (1 + slack)  # [perturbation]


def _rest(sums: Floats, near: Floats, error: float, more: Floats | float = 0.0) -> Crowd:
    """The outcomes that are not near, from sums over all of them."""
    errors = (np.abs(sums) + near) * (error + 2.0**-44) + more
    return Crowd(Exponential(), np.maximum(sums - near, 0.0), errors)  # [subtract]


# end-proof-region: permute_and_flip_success
