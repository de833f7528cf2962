"""A sixth noise of class A: a record, and its law in a race, as a maintainer would add them.

The arrival time X = e^-Z has P(X <= x) = 3 x / (2 + x) on [0, 1], which is concave: so the noise is of class A. The
module is its own module of the law in a race.
"""

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr, mpq

from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.numerics.floats import FloatBounds, Floats, log_bounds, next_above, next_below
from opendp_topk.sampling.noises import custom, standard
from opendp_topk.sampling.noises.noise import (
    ArrivalDistribution,
    Cell,
    Factor,
    Noise,
    Side,
    Triple,
    cell_midpoints,
    exp_of_fraction,
)


def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational((2 + u) / 2)), at.negative(at.log(at.rational(1 - u))))


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    above = log_bounds((1 + u[0] / 2) * (1 - 2.0**-51), (1 + u[1] / 2) * (1 + 2.0**-51))
    below = log_bounds(*v)
    return np.maximum(next_below(above[0] - below[1]), 0.0), next_above(above[1] - below[0])


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    grown = at.exp(at.rational(max(z, mpq(0))))
    return at.divide(at.rational(3), at.add(at.rational(1), at.multiply(at.rational(2), grown)))


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    if z < 0:
        return at.rational(0)
    fallen = at.exp(at.rational(-z))
    whole = at.add(at.rational(2), fallen)
    return at.divide(at.multiply(at.rational(6), fallen), at.multiply(whole, whole))


SIXTH = Noise(
    "Sixth",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    tail=Fraction(3, 2),
    race=__name__,
    words="one-sixth",
)


def _at(z: Floats, before: Side) -> Triple:
    arrived = np.where(before, 3 * z / (2 + z), 1.0)
    return arrived, np.where(before, 2 * (1 - z) / (2 + z), 0.0), np.where(before, 2 * arrived / (2 + z), 0.0)


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    arrived = np.where(before, 3 * right / (2 + left), 1.0)
    waiting = np.where(before, 2 * np.maximum(1 - left, 0.0) / (2 + left), 0.0)
    return arrived, waiting, np.where(before, 2 * arrived / (2 + left), 0.0)


def _cells(scores: list[Fraction], edges: list[Fraction]) -> list[Cell]:
    cells, none = [], Factor(mpfr(0), mpfr(0), mpfr(0), 0)
    for c, h, end in cell_midpoints(edges):
        density, survival = [], []
        for score in scores:
            w = exp_of_fraction(score)
            a, inside = 2 + w * c, end <= -score
            density.append(Factor(6 * w * h / a**2, mpfr(0), w * h / a, 2) if inside else none)
            survival.append(Factor(2 * (1 - w * c) / a, -2 * w * h / a, w * h / a, 1) if inside else none)
        cells.append((density, survival))
    return cells


LAW = ArrivalDistribution(_at, _on_disc, lambda m: (1 - (-0.5) ** m) / m, kinked=True, ending=True, cells=_cells)


def enter() -> None:
    """Put it on the one list of the library's noises, for this process."""
    standard.STANDARD = custom.STANDARD = (*standard.STANDARD, SIXTH)
