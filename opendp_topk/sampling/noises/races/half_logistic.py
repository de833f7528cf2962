"""Half-logistic noise in a race.

Proof: proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr

from ....numerics.floats import Floats
from .cells import Cell, Factor, cell_midpoints, exp_of_fraction
from .law import ArrivalDistribution, Side, Triple


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
