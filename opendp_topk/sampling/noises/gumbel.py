"""Gumbel noise, in standard form (scale 1), with all its known properties.

Write U for the uniform variable and V = 1 - U for its complement.

Proofs: proofs/noises/standard.tex, proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpq

from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds, Floats, exp, log_bounds, minus_log1m_bounds
from .noise import ArrivalDistribution, Noise, Side, Triple

_SMALL = 2.0**-7  # for smaller v, computing ln(1 - v) from u = 1 - v would lose seven bits and more


# proof-region: gumbel_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    log_u = at.log(at.rational(u)) if 2 * u < 1 else at.log1p(at.negative(at.rational(1 - u)))
    return at.negative(at.log(at.negative(log_u)))  # [gumbel]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    log_lower, log_upper = log_bounds(*u)
    near = np.minimum(v[0], 2 * _SMALL)
    small_lower, small_upper = minus_log1m_bounds(near, near if v[1] is v[0] else np.minimum(v[1], 2 * _SMALL))
    small = v[1] < _SMALL
    minus_log_u = (np.where(small, small_lower, np.maximum(-log_upper, 0.0)), np.where(small, small_upper, -log_lower))
    lower, upper = log_bounds(*minus_log_u)
    return -upper, -lower


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision + 2 * max(0, int(z)))  # at most this many extra digits cancel
    return at.add(at.rational(1), at.negative(at.exp(at.negative(at.exp(at.rational(-z))))))  # [gumbel-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.exp(at.add(at.rational(-z), at.negative(at.exp(at.rational(-z)))))  # [gumbel-density]


_GUMBEL = Noise(
    "Gumbel",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    is_max_stable=True,
    tail=Fraction(1),
    steepness=Fraction(1),
    race="opendp_topk.sampling.noises.gumbel",
    words="Gumbel",
)  # [max-stable]
# end-proof-region: gumbel_noise


def Gumbel() -> Noise:
    """Gumbel noise: F(z) = exp(-exp(-z)), F^{-1}(U) = -ln(-ln U).

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.noise.Gumbel())
        >>> top3.map(1)
        0.5
    """
    return _GUMBEL


_CLIP = 100.0  # e^-100 is far below all errors that are added
_FAR_CLIP = 600.0  # keeps the exponential a normal float64
_SERIES_END = 0.25  # below it 1 - e^-z would lose digits, so a series replaces it


# proof-region: gumbel_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    y = np.minimum(z, _CLIP)
    waiting = exp(-y)
    return np.where(z < _SERIES_END, _one_minus_exp(np.minimum(z, _SERIES_END)), 1 - waiting), waiting, y * waiting


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    waiting = exp(-np.minimum(left, _FAR_CLIP)) * (1 + 2.0**-43) + 2.0**-860
    return np.minimum(right, 1 + waiting), waiting, right * waiting


def _one_minus_exp(z: Floats) -> Floats:
    """Return 1 - e^-z for 0 <= z <= 1/4."""
    total = np.full_like(z, 1 / 13)
    for n in range(12, 1, -1):
        total = (1 - z * total) / n  # [one-minus-exp]
    return z * (1 - z * total)


LAW = ArrivalDistribution(_arrival_values, _on_disc, lambda m: 1.0)  # [gumbel-law]
# end-proof-region: gumbel_race
