"""Laplace noise, in standard form (scale 1), with all its known properties.

Write U for the uniform variable and V = 1 - U for its complement.

Proofs: proofs/noises/standard.tex, proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr, mpq

from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds, Floats, log_bounds
from .noise import ArrivalDistribution, Cell, Factor, Noise, Side, Triple, cell_midpoints, exp_of_fraction


# proof-region: laplace_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    if 2 * u < 1:
        return at.log(at.rational(2 * u))
    return at.negative(at.log(at.rational(2 * (1 - u))))  # [laplace]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    left, right = log_bounds(2 * u[0], 2 * u[1]), log_bounds(2 * v[0], 2 * v[1])
    return np.where(u[0] < 0.5, left[0], -right[1]), np.where(u[1] < 0.5, left[1], -right[0])


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    tail = _density(z, precision)
    return tail if z >= 0 else at.add(at.rational(1), at.negative(tail))  # [laplace-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.divide(at.exp(at.rational(-abs(z))), at.rational(2))  # [laplace-density]


_LAPLACE = Noise(
    "Laplace",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    is_two_sided=True,
    tail=Fraction(1, 2),
    steepness=Fraction(1443, 1000),
    race="opendp_topk.sampling.noises.laplace",
    words="Laplace",
)  # [two-sided]
# end-proof-region: laplace_noise


def Laplace() -> Noise:
    """Laplace noise: density exp(-|z|) / 2, F^{-1}(U) = ln(2 U) below the median, -ln(2 V) above.

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.noise.Laplace())
        >>> top3.map(1)
        0.5
    """
    return _LAPLACE


# proof-region: laplace_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    waiting = np.where(before, 1 - z / 2, 0.5 / z)
    return np.where(before, z / 2, 1 - waiting), waiting, np.where(before, z / 2, waiting)


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    waiting = np.where(before, np.maximum(1 - left / 2, 0.0), 0.5 / left)
    return np.where(before, right / 2, 1 + waiting), waiting, np.where(before, right / 2, waiting)


def _build_cells(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, zero = [], mpfr(0)
    weights = [exp_of_fraction(score) for score in scores]
    for c, h, end in cell_midpoints(edges):
        density, survival = [], []
        for score, w in zip(scores, weights, strict=True):
            if end <= -score:
                density.append(Factor(w * h / 2, zero, zero, 0))
                survival.append(Factor(1 - w * c / 2, -w * h / 2, zero, 0))
            else:
                density.append(Factor(h / (2 * w * c**2), zero, h / c, 2))
                survival.append(Factor(1 / (2 * w * c), zero, h / c, 1))
        cells.append((density, survival))
    c = exp_of_fraction(-edges[-1]) / 2
    tail = [c / (2 * w) for w in weights]
    cells.append(([Factor(a, zero, zero, 0) for a in tail], [Factor(a, -a, zero, 0) for a in tail]))  # [laplace-tail]
    return cells


LAW = ArrivalDistribution(  # -ln q = -ln(1 - z / 2) before z = 1
    _arrival_values, _on_disc, lambda m: 2.0**-m / m, kinked=True, cells=_build_cells
)  # [laplace-law]
# end-proof-region: laplace_race
