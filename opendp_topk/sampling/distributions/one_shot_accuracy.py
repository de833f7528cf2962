"""Accuracy of one-shot top-k with a noise of known tail. No module of exact distributions is loaded for it.

Proof: proofs/distributions/one_shot.tex
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...errors import ParameterError
from ...numerics.arithmetic import scaled_log_up, to_fraction
from ..noises.noise import Noise


def accuracy(noise: Noise, n_candidates: int, k: int, tau: Fraction, alpha: Any) -> float:
    """Return a bound on the t-th best score minus the t-th winner's, for all t with probability at least 1 - alpha.

    With c the ``tail`` of the noise, it is tau ln(c d / alpha), or 2 tau ln(2 c d / alpha) if the noise is two-sided.
    For max-stable noise, whose winners are selected one after the other, it is tau ln(c d k / alpha). It is rounded up.
    """
    if n_candidates < k:
        raise ParameterError(f"n_candidates must be at least k ({k})")
    # proof-region: accuracy
    assert noise.tail is not None
    sides = 2 if noise.is_two_sided else 1  # [sides]
    odds = sides * noise.tail * (k if noise.is_max_stable else 1)  # [union]
    return scaled_log_up(sides * tau, odds * n_candidates / to_fraction(alpha))  # [bound]
    # end-proof-region: accuracy
