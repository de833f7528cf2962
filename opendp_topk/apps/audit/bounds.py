"""From bounds on probabilities of events to lower bounds on a loss.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Eight a decade: between two neighbours the best order loses next to nothing.
ORDERS = tuple(1 + 10 ** (exponent / 8) for exponent in range(-24, 33))
"""Orders of the Renyi divergence that are tried: 1.001 to 10001."""

# _SHRINK: thousands of times what two logarithms and a difference round, and still below all that is ever read.
# proof-region: bounds
_SHRINK = 1e-11


def log_ratio(p: float, q: float) -> float:
    """At most ln(p / q); ``p`` is a lower bound on a probability, ``q`` > 0 an upper one."""
    if p <= 0:
        return -math.inf  # [nothing-seen]
    value = math.log(p) - math.log(q)
    return value - _SHRINK * (1 + abs(value))  # [log-ratio]


def renyi_of_two(p: Any, q: Any, alpha: float) -> Any:
    """The Renyi divergence of order ``alpha`` between Bernoulli(p) and Bernoulli(q), elementwise."""
    one = alpha * np.log(p) - (alpha - 1) * np.log(q)
    other = alpha * np.log1p(-p) - (alpha - 1) * np.log1p(-q)
    return np.logaddexp(one, other) / (alpha - 1)  # [renyi]


def concentrated(p: float, q: float, alpha: float) -> float:
    """At most D_alpha(Bernoulli(p) || Bernoulli(q)) / alpha, and 0 where p <= q."""
    if p <= q or q >= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        value = float(renyi_of_two(np.float64(p), np.float64(q), alpha)) / alpha
    loss = 1e-9 * value + 1e-10 / (alpha - 1)
    return max(0.0, value - loss)  # [rounding]


# end-proof-region: bounds
