"""Accuracy of an attacker who guesses between two neighbouring inputs, both equally likely, from one release.

Proof: proofs/spaces/curves/guesses.tex
"""

from __future__ import annotations

import math

from .closed_forms import ZCDPBound
from .curve import PrivacyCurve

# proof-region: guesses
_POINTS = [step / 16 for step in range(129)]  # epsilons at which the curve is evaluated; the smallest bound is used
_MARGIN = 1 + 1e-9  # far more than the rounding errors of a percentage


def total_variation(main: float, delta: float = 0.0, *, concentrated: bool = False) -> float:
    """Return a bound on the total variation distance of two output distributions.

    ``main`` is their epsilon, or their rho of zCDP if ``concentrated``, up to ``delta``.
    """
    if not concentrated:
        return min(1.0, _largest_variation(main, delta))  # [pair]
    curve = PrivacyCurve(ZCDPBound(main))
    pinsker = math.sqrt(main / 2)  # [pinsker]
    return min(
        1.0, delta + min(pinsker, *(_largest_variation(epsilon, curve.delta(epsilon)) for epsilon in _POINTS))
    )  # [least]


def attack_accuracy(total: float) -> float:
    """Return the largest attack accuracy at this total variation, in percent, rounded up to one decimal place."""
    return min(math.ceil(1000 * (1 + total) / 2 * _MARGIN) / 10, 100.0) if total else 50.0  # [percent]


def _largest_variation(epsilon: float, delta: float) -> float:
    """Return the largest total variation of two distributions that are (epsilon, delta)-close in both directions."""
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))  # [apart]


# end-proof-region: guesses
