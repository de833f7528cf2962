"""Success events of selections, enclosures of probabilities, and accuracy by a union bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import gmpy2
from gmpy2 import mpq

from ...errors import ParameterError
from ...numerics.arithmetic import round_up, to_fraction
from ..noises.noise import Noise

# Events that define the success of a selection, and enclosures of their probabilities.
#
# A selection is *exact* if it releases the k best candidates. *Great* and *good* allow errors at both ends.

EVENTS = ("exact", "great", "good")


class Enclosure(NamedTuple):
    """Two numbers with ``lower <= true value <= upper``."""

    lower: float
    upper: float


# proof-region: events
def event_ranks(event: str, k: int, d: int) -> tuple[int, int]:
    """Return (sure, reach): the event is that the k winners contain the ranks 1..sure and none beyond reach.

    exact: (k, k). great: (ceil(k / 10), floor(1.1 k)). good: (ceil(k / 100), floor(1.5 k)). reach is at most d.
    """
    sure, reach = {"exact": (k, k), "great": (-(-k // 10), 11 * k // 10), "good": (-(-k // 100), 3 * k // 2)}[event]
    return sure, min(reach, d)  # [ranks]


# end-proof-region: events


# An accuracy bound for one-shot top-k with any noise, from two quantiles of the noise.
#
# Proof: proofs/distributions/union_bound.tex

_PRECISION = 128  # bits; both ends are rounded outward, and a higher precision would gain less than an ulp


# proof-region: union_bound
def accuracy(noise: Noise, n_candidates: int, k: int, tau: Fraction, alpha: Any) -> float:
    """Return a bound on the t-th best score minus the t-th winner's, for all t with probability at least 1 - alpha.

    It is tau (F^{-1}(1 - b) - F^{-1}(b)) with b = alpha / (2 d), rounded up; infinity if tau > 0 and a quantile is
    infinite.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    share = to_fraction(alpha) / (2 * n_candidates)
    tail = mpq(share.numerator, share.denominator)  # [share]
    lowest, highest = noise.quantile(tail, _PRECISION)[0], noise.quantile(1 - tail, _PRECISION)[1]  # [ends]
    if not (gmpy2.is_finite(lowest) and gmpy2.is_finite(highest)):
        return float("inf") if tau else 0.0  # [no-bound]
    spread = mpq(highest) - mpq(lowest)
    return round_up(tau * Fraction(int(spread.numerator), int(spread.denominator)))  # [spread]


# end-proof-region: union_bound
