"""Laplace noise in a race.

Proof: proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr

from ....numerics.floats import Floats
from .cells import Cell, Factor, cell_midpoints, exp_of_fraction
from .law import ArrivalDistribution, Side, Triple


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
