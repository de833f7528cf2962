"""How often somebody is right who guesses between two neighbouring inputs, both equally likely, after a release.

Proof: proofs/spaces/curves/guesses.tex
"""

from __future__ import annotations

import math

from .closed_forms import ZCDPBound
from .curve import PrivacyCurve

# proof-region: guesses
_POINTS = [step / 16 for step in range(129)]  # epsilons at which a curve is asked for the best guess
_MARGIN = 1 + 1e-9  # far more than the float64 operations of a share err


def total_variation(main: float, delta: float = 0.0, *, concentrated: bool = False) -> float:
    """A bound on the total variation of two laws that are ``main`` apart, in epsilon or in rho, up to ``delta``."""
    if not concentrated:
        return min(1.0, _largest_variation(main, delta))  # [pair]
    curve = PrivacyCurve(ZCDPBound(main))
    pinsker = math.sqrt(main / 2)  # [pinsker]
    return min(
        1.0, delta + min(pinsker, *(_largest_variation(epsilon, curve.delta(epsilon)) for epsilon in _POINTS))
    )  # [least]


def attack_accuracy(total: float) -> float:
    """The share of right guesses at this total variation, in percent with one place, rounded up."""
    return min(math.ceil(1000 * (1 + total) / 2 * _MARGIN) / 10, 100.0) if total else 50.0  # [percent]


def _largest_variation(epsilon: float, delta: float) -> float:
    """The largest total variation of two laws that are (epsilon, delta)-close both ways."""
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))  # [apart]


# end-proof-region: guesses
