"""Float64 numbers one step further out.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

import numpy as np

from ...numerics.floats import Floats


# proof-region: outward_floats
def next_below(x: Floats) -> Floats:
    """Return the float64 numbers before these."""
    return np.nextafter(x, -np.inf)  # [down]


def next_above(x: Floats) -> Floats:
    """Return the float64 numbers after these."""
    return np.nextafter(x, np.inf)  # [up]


# end-proof-region: outward_floats
