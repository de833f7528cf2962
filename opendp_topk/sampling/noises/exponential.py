"""Exponential noise, in standard form (scale 1), with all its known properties.

Write U for the uniform variable and V = 1 - U for its complement.

Proofs: proofs/noises/standard.tex, proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpq

from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds, Floats, log_bounds
from .noise import ArrivalDistribution, Noise, Side, Triple


# proof-region: exponential_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.negative(at.log(at.rational(1 - u)))  # [exponential]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    lower, upper = log_bounds(*v)
    return np.maximum(-upper, 0.0), -lower


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.exp(at.rational(-max(z, mpq(0))))  # [exponential-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.exp(at.rational(-z)) if z >= 0 else at.rational(0)  # [exponential-density]


_EXPONENTIAL = Noise(
    "Exponential",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    is_memoryless=True,
    tail=Fraction(1),
    race="opendp_topk.sampling.noises.exponential",
    words="exponential",
)  # [memoryless]
# end-proof-region: exponential_noise


def Exponential() -> Noise:
    """Exponential noise: F(z) = 1 - exp(-z) for z >= 0, F^{-1}(U) = -ln V.

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.noise.Exponential())
        >>> top3.map(1)
        0.5
    """
    return _EXPONENTIAL


# proof-region: exponential_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    return np.where(before, z, 1.0), np.where(before, 1 - z, 0.0), np.where(before, z, 0.0)


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    waiting = np.where(before, np.maximum(1 - left, 0.0), 0.0)
    return np.where(before, right, 1.0), waiting, np.where(before, right, 0.0)


LAW = ArrivalDistribution(_arrival_values, _on_disc, lambda m: 1.0 / m, kinked=True, ending=True)  # [exponential-law]
# end-proof-region: exponential_race
