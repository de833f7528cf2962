"""Exponential noise in a race: arrivals are uniform.

Proof: proofs/distributions/one_shot_success.tex
"""

from __future__ import annotations

import numpy as np

from ....numerics.floats import Floats
from .law import ArrivalDistribution, Side, Triple


# proof-region: exponential_race
def _arrival_values(z: Floats, before: Side) -> Triple:
    return np.where(before, z, 1.0), np.where(before, 1 - z, 0.0), np.where(before, z, 0.0)


def _on_disc(left: Floats, right: Floats, before: Side) -> Triple:
    waiting = np.where(before, np.maximum(1 - left, 0.0), 0.0)
    return np.where(before, right, 1.0), waiting, np.where(before, right, 0.0)


LAW = ArrivalDistribution(_arrival_values, _on_disc, lambda m: 1.0 / m, kinked=True, ending=True)  # [exponential-law]
# end-proof-region: exponential_race
