"""Gumbel noise in a race: arrivals are exponential.

Proof: proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

import numpy as np

from ....numerics.floats import Floats, exp
from .law import ArrivalDistribution, Side, Triple

_CLIP = 100.0  # e^-100 is far below all errors that are added
_FAR_CLIP = 600.0  # keeps the exponential a normal float64
_SMALL = 0.25  # below it 1 - e^-z would lose digits, so a series replaces it


# proof-region: gumbel_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    y = np.minimum(z, _CLIP)
    waiting = exp(-y)
    return np.where(z < _SMALL, _one_minus_exp(np.minimum(z, _SMALL)), 1 - waiting), waiting, y * waiting


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
