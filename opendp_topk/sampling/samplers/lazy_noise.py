"""Single noise variables, known as intervals that shrink until a comparison of two of them is decided.

Each variable is F^{-1}(U) for a uniform U. Its digits are drawn when a comparison needs them, and kept: one variable
may be compared with many others, one after the other. This module does not deal with privacy.

The first comparison uses 64 digits of both variables, and nearly always decides. If fewer digits were tried first, the
response time would reveal whether a noisy score is near a noisy threshold.
"""

from __future__ import annotations

import itertools

import gmpy2
from gmpy2 import mpq

from ..noises.noise import Noise
from .entropy import SYSTEM, Entropy

_WORD = 64  # digits come in machine words


# proof-region: lazy_noise
class LazyNoise:
    """One variable with the distribution of ``noise``; its value never changes."""

    def __init__(self, noise: Noise, entropy: Entropy = SYSTEM) -> None:
        self._noise = noise
        self._entropy = entropy
        self._digits = 0
        self._known = 0
        self._bounds: list[tuple[mpq, mpq] | None] = []

    def rational_bounds(self, level: int) -> tuple[mpq, mpq] | None:
        """Return rationals on both sides of the variable, closer at each level; None while one would be infinite."""
        while len(self._bounds) <= level:
            for word in self._entropy.draw_auxiliary_words(max(self._known // _WORD, 1)).tolist():  # [double]
                self._digits = self._digits << _WORD | word
                self._known += _WORD
            unit, precision = mpq(1, 1 << self._known), self._known + _WORD
            lower = self._noise.quantile(self._digits * unit, precision)[0]  # [lower]
            upper = self._noise.quantile((self._digits + 1) * unit, precision)[1]  # [upper]
            finite = gmpy2.is_finite(lower) and gmpy2.is_finite(upper)
            self._bounds.append((mpq(lower), mpq(upper)) if finite else None)  # [finite]
        return self._bounds[level]


def reaches_noisy_threshold(lead: mpq, own: LazyNoise, scale: mpq, other: LazyNoise, other_scale: mpq) -> bool:
    """Return whether ``lead + scale * own >= other_scale * other``, for scales >= 0."""
    for level in itertools.count():
        first, second = own.rational_bounds(level), other.rational_bounds(level)
        if first is not None and second is not None:
            if lead + scale * first[0] >= other_scale * second[1]:
                return True  # [certainly]
            if lead + scale * first[1] < other_scale * second[0]:
                return False  # [certainly-not]
    raise AssertionError  # the levels do not end


# end-proof-region: lazy_noise
