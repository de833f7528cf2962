"""Half-logistic noise, in standard form (scale 1), with all its known properties.

Write U for the uniform variable and V = 1 - U for its complement.

Proofs: proofs/noises/standard.tex, proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr, mpq

from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds, Floats, log_bounds, next_above, next_below
from .noise import ArrivalDistribution, Cell, Factor, Noise, Side, Triple, cell_midpoints, exp_of_fraction


# proof-region: half_logistic_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational(1 + u)), at.negative(at.log(at.rational(1 - u))))  # [half-logistic]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    above = log_bounds((1 + u[0]) * (1 - 2.0**-52), (1 + u[1]) * (1 + 2.0**-52))
    below = log_bounds(*v)
    return np.maximum(next_below(above[0] - below[1]), 0.0), next_above(above[1] - below[0])


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    grown = at.exp(at.rational(max(z, mpq(0))))
    return at.divide(at.rational(2), at.add(at.rational(1), grown))  # [half-logistic-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    if z < 0:
        return at.rational(0)
    fallen = at.exp(at.rational(-z))
    whole = at.add(at.rational(1), fallen)
    return at.divide(at.multiply(at.rational(2), fallen), at.multiply(whole, whole))  # [half-logistic-density]


_HALF_LOGISTIC = Noise(
    "HalfLogistic",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    tail=Fraction(2),
    race="opendp_topk.sampling.noises.half_logistic",
    words="half-logistic",
)  # [tail]
# end-proof-region: half_logistic_noise


def HalfLogistic() -> Noise:
    """Half-logistic noise: F(z) = tanh(z / 2) for z >= 0, F^{-1}(U) = ln((1 + U) / V).

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> half = tk.noise.HalfLogistic()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=half)
        >>> top3.map(1)
        0.5
    """
    return _HALF_LOGISTIC


# proof-region: half_logistic_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    arrived = np.where(before, 2 * z / (1 + z), 1.0)
    return arrived, np.where(before, (1 - z) / (1 + z), 0.0), np.where(before, arrived / (1 + z), 0.0)


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    arrived = np.where(before, 2 * right / (1 + left), 1.0)
    waiting = np.where(before, np.maximum(1 - left, 0.0) / (1 + left), 0.0)
    return arrived, waiting, np.where(before, arrived / (1 + left), 0.0)


def _build_cells(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, none = [], Factor(mpfr(0), mpfr(0), mpfr(0), 0)
    for c, h, end in cell_midpoints(edges):
        density, survival = [], []
        for score in scores:
            w = exp_of_fraction(score)
            a, inside = 1 + w * c, end <= -score  # [inside]
            density.append(Factor(2 * w * h / a**2, mpfr(0), w * h / a, 2) if inside else none)
            survival.append(Factor((1 - w * c) / a, -w * h / a, w * h / a, 1) if inside else none)
        cells.append((density, survival))
    return cells


LAW = ArrivalDistribution(  # -ln q = ln(1 + z) - ln(1 - z)
    _arrival_values, _on_disc, lambda m: 2 / m if m % 2 else 0.0, kinked=True, ending=True, cells=_build_cells
)  # [half-logistic-law]
# end-proof-region: half_logistic_race
