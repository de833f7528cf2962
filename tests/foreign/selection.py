"""Selection by other libraries as functions of a vector of integer scores, and what it truly costs.

All have Gumbel or exponential noise of scale 1, which at d_in = 1 of LInfDistance() is a range distance of 2.
"""

from collections.abc import Callable
from typing import Any

import opendp_topk as tk

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
PAIRS = (([0, 0], [1, -1]), ([0, 0, 0], [1, -1, -1]), ([0, -2, -3], [-1, -1, -2]))
EPSILON = 2.0


def true_cost(mechanism: str, measure: tk.Measure) -> float:
    """What is proved for the mechanism, whoever draws from it."""
    make = {"exponential": tk.make_exponential_mechanism, "permute-and-flip": tk.make_permute_and_flip}[mechanism]
    cost: float = make(*SPACE, measure, scale=1).map(1)
    return cost


def opendp_selection(dp: Any, mechanism: str) -> Callable[[Any], int]:
    """OpenDP's noisy max: Gumbel noise under zCDP, exponential noise under pure differential privacy."""
    dp.enable_features("contrib")
    measure = {"exponential": dp.zero_concentrated_divergence, "permute-and-flip": dp.max_divergence}[mechanism]()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    chosen: Callable[[Any], int] = dp.m.make_noisy_max(*space, measure, scale=1.0)
    return chosen


def diffprivlib_selection(mechanisms: Any, mechanism: str) -> Callable[[Any], int]:
    """Diffprivlib's mechanisms at epsilon = 2 and sensitivity 1."""
    kind = {"exponential": mechanisms.Exponential, "permute-and-flip": mechanisms.PermuteAndFlip}[mechanism]
    return lambda scores: kind(epsilon=EPSILON, sensitivity=1, utility=list(map(float, scores))).randomise()
