"""A noise in a race: the candidate with the k-th best noisy score arrives k-th.

With noise Z on the score s, a candidate arrives at X = e^(-s - Z). In z = x / b, b = e^-s, the probabilities of having
arrived (G) and of not having arrived (q) by the time x, and the rate x G'(x), are elementary functions.

Proof: proofs/distributions/one_shot_success.tex, proofs/distributions/series.tex
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....numerics.floats import Floats
from .cells import Cell

Side = NDArray[np.bool_]
Triple = tuple[Floats, Floats, Floats]


# proof-region: race_law
@dataclass(frozen=True)
class ArrivalDistribution:
    """G, q and x G' of one noise.

    ``at(z, before)`` returns their values at z > 0; ``on_disc(left, right, before)`` returns bounds on their moduli on
    the complex disc with the diameter [left, right]; ``coefficient(m)`` is c_m in -ln q = the sum of c_m z^m. If
    ``kinked``, there is one formula before z = 1 and one after it; if ``ending``, all have arrived at z = 1.
    ``cells(scores, edges)`` returns the densities and survival functions of all arrivals, cell by cell, if they are
    rational; noises whose rankings have a closed form do not need it.
    """

    at: Callable[[Floats, Side], Triple]
    on_disc: Callable[[Floats, Floats, Side], Triple]
    coefficient: Callable[[int], float]
    kinked: bool = False
    ending: bool = False
    cells: Callable[[list[Fraction], list[Fraction]], list[Cell]] | None = None


# end-proof-region: race_law
