"""Logistic noise, in standard form (scale 1), with all its known properties.

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


# proof-region: logistic_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational(u)), at.negative(at.log(at.rational(1 - u))))  # [logistic]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    left, right = log_bounds(*u), log_bounds(*v)
    return next_below(left[0] - right[1]), next_above(left[1] - right[0])


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.divide(at.rational(1), at.add(at.rational(1), at.exp(at.rational(z))))  # [logistic-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    fallen = at.exp(at.rational(-abs(z)))
    whole = at.add(at.rational(1), fallen)
    return at.divide(fallen, at.multiply(whole, whole))  # [logistic-density]


_LOGISTIC = Noise(
    "Logistic",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    is_two_sided=True,
    has_exponential_odds=True,
    tail=Fraction(1),
    steepness=Fraction(1),
    race="opendp_topk.sampling.noises.logistic",
    words="logistic",
)  # [odds]
# end-proof-region: logistic_noise


def Logistic() -> Noise:
    """Logistic noise: F(z) = 1 / (1 + exp(-z)), F^{-1}(U) = ln U - ln V.

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.noise.Logistic())
        >>> top3.map(1)
        0.5
    """
    return _LOGISTIC


# proof-region: logistic_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    arrived, waiting = z / (1 + z), 1 / (1 + z)
    return arrived, waiting, arrived * waiting


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    waiting = 1 / (1 + left)
    return np.minimum(right / (1 + left), 1.0), waiting, right * waiting * waiting


def _build_cells(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, zero = [], mpfr(0)
    weights = [exp_of_fraction(score) for score in scores]
    for c, h, _ in cell_midpoints(edges):
        sums = [1 + w * c for w in weights]
        density = [Factor(w * h / a**2, zero, w * h / a, 2) for w, a in zip(weights, sums, strict=True)]
        survival = [Factor(1 / a, zero, w * h / a, 1) for w, a in zip(weights, sums, strict=True)]
        cells.append((density, survival))
    c = exp_of_fraction(-edges[-1]) / 2
    density = [Factor(w * c / (w + c) ** 2, zero, -c / (w + c), 2) for w in weights]
    survival = [Factor(c / (w + c), -c / (w + c), -c / (w + c), 1) for w in weights]
    cells.append((density, survival))  # [logistic-tail]
    return cells


LAW = ArrivalDistribution(  # -ln q = ln(1 + z)
    _arrival_values, _on_disc, lambda m: (1.0 if m % 2 else -1.0) / m, cells=_build_cells
)  # [logistic-law]
# end-proof-region: logistic_race
