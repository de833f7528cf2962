"""Logistic noise in a race.

Proof: proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpfr

from ....numerics.floats import Floats
from .cells import Cell, Factor, cell_midpoints, exp_of_fraction
from .law import ArrivalDistribution, Side, Triple


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
