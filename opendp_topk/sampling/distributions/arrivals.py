"""Noises as arrival times: the candidate with the k-th best noisy score arrives k-th.

With noise Z on the score s a candidate arrives at X = e^(-s - Z). In z = x / b, b = e^-s, the probabilities of having
arrived (G) and of not having arrived (q) by the time x, and the rate x G'(x), are elementary functions.

Proof: proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.floatexp import exp
from ...numerics.floatlog import Floats
from ..noises.noise import Noise
from ..noises.races.law import Side

_RELATIVE = 2.0**-46  # 128 units of roundoff: more than the formulas lose, as the proof counts
_ABSOLUTE = 2.0**-49  # 16 units of roundoff, for probabilities that are differences
_CLIP = 100.0  # e^-100 is far below all that is added as error
TERMS = 16  # powers of at most NEAR: what a series leaves out is of the order of 2^-48
_TINY = 2.0**-120  # room for rates that are cut at 0 or underflow
NEAR = 0.125  # who has z = x / b of at most this is in the crowd: one series for all, no factor each


@dataclass(frozen=True, eq=False)
class Law:
    """Bounds on G, q = 1 - G and the rate x G'(x), arrays of one shape."""

    arrived: Floats
    waiting: Floats
    rate: Floats

    def __getitem__(self, rows: Any) -> Law:
        return Law(self.arrived[rows], self.waiting[rows], self.rate[rows])


# proof-region: arrival_bounds
def bounds(noise: Noise, z: Floats, before: Side) -> tuple[Law, Law]:
    """Lower and upper bounds at z = x / b > 0; ``before`` says on which side of the kink z = 1 the formulas hold."""
    arrived, waiting, rate = noise.law_in_a_race().at(z, before)  # [formulas]
    lower = Law(
        arrived * (1 - _RELATIVE), np.maximum(waiting - _ABSOLUTE, 0.0), np.maximum(rate * (1 - _RELATIVE) - _TINY, 0.0)
    )  # [lower]
    return lower, Law(arrived * (1 + _RELATIVE), waiting + _ABSOLUTE, rate * (1 + _RELATIVE) + _TINY)  # [upper]


def majorants(noise: Noise, left: Floats, right: Floats, before: Side) -> Law:
    """Bounds on |G|, |q| and |x G'(x)| on the complex disc with the diameter [left, right] in z, 0 < left."""
    arrived, waiting, rate = noise.law_in_a_race().on_disc(left, right, before)
    up = 1 + _RELATIVE
    return Law(arrived * up, waiting * up + _ABSOLUTE, rate * up + _TINY)  # [majorants]


class Crowd:
    """Many candidates who will hardly have arrived by the time 1: b >= 1 / NEAR for each (any b > 0 with Gumbel noise).

    ``sums[m - 1]`` is the sum of b^-m over them, m = 1, 2, ..., within ``errors[m - 1]``.
    ``bounds(x)``: bounds on the probability that none of them has arrived by the time x in (0, 1], and on the rate
    x times its negative derivative.
    """

    def __init__(self, noise: Noise, sums: Floats, errors: Floats) -> None:
        self._sums, self._errors = sums, errors + sums * 2.0**-46
        coefficient = noise.law_in_a_race().coefficient
        self._weights = np.array([coefficient(m) for m in range(1, len(sums) + 1)])  # [coefficients]
        self._rest = 0.0 if noise.is_max_stable else 2.5 * (sums[0] + errors[0]) * NEAR**TERMS  # [remainder]

    @staticmethod
    def of(noise: Noise, b: Floats) -> Crowd:
        """The crowd of candidates with these b."""
        power, sums = np.ones_like(b), []
        for _ in range(1 if noise.is_max_stable else TERMS):
            power = power / b
            sums.append(_sum(power))  # [power-sums]
        exact = np.array(sums)
        return Crowd(noise, exact, exact * (2 * TERMS + 1200 + len(b) / 512) * 2.0**-52)  # [sum-error]

    def bounds(self, x: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """((none, rate) lower, (none, rate) upper) at each x."""
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


def total(values: Floats) -> float:
    """An upper bound on the sum of nonnegative numbers."""
    return _sum(values) * (1 + 2.0**-20)  # [total]


def _sum(values: Floats) -> float:
    """The sum of nonnegative numbers in blocks of 1024."""
    padded = np.zeros(-(-len(values) // 1024) * 1024)
    padded[: len(values)] = values
    return float(padded.reshape(-1, 1024).sum(axis=1).sum())  # [blocks]


# end-proof-region: arrival_bounds
