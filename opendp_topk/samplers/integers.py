"""Discrete Laplace and discrete Gaussian noise on the integers, exact for every rational scale."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ..numerics.arithmetic import round_down, round_up
from ..numerics.floatlog import Floats
from .entropy import SYSTEM, Entropy
from .exponentials import floors, reach

Integers = NDArray[Any]

_EXACT_FLOATS = 2**53  # integers below it are float64 exactly
_REGULAR = 2**200  # with variances from 2^-200 to 2^200, squares and products neither underflow nor overflow
_CHUNK = 2**16  # draws at a time, so that memory beyond the result stays small


# proof-region: integers
def discrete_laplace(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """n independent integers with P(z) proportional to exp(-|z| / scale); zeros where ``scale`` is 0.

    Returns:
        An int64 array, or an array of Python integers where one of the parts is 2^62 or more.
    """
    return _in_chunks(n, lambda m: floors(scale, m, entropy) - floors(scale, m, entropy))  # [difference]


def discrete_gaussian(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """n independent integers with P(z) proportional to exp(-z^2 / (2 scale^2)); zeros where ``scale`` is 0.

    By rejection from discrete Laplace noise of scale t = floor(scale) + 1, which keeps more than a third.

    Returns:
        An int64 array, or an array of Python integers where one of the proposals needed them.
    """
    return _in_chunks(n, lambda m: _gaussian(scale, m, entropy))


def _gaussian(scale: Fraction, n: int, entropy: Entropy) -> Integers:
    if scale == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-scale]
    variance, t = scale * scale, scale.numerator // scale.denominator + 1  # [proposal-scale]
    kept = np.zeros(n, dtype=np.int64)
    open_ = np.arange(n)
    while len(open_):
        proposed = discrete_laplace(Fraction(t), len(open_), entropy)  # [propose]
        accepted = _accepted(np.abs(proposed), variance, t, entropy)
        if proposed.dtype == object:
            kept = kept.astype(object)
        kept[open_[accepted]] = proposed[accepted]  # [keep]
        open_ = open_[~accepted]
    return kept


def _accepted(sizes: Integers, variance: Fraction, t: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Independent events of probability exp(-(y - variance / t)^2 / (2 variance)) for the y of ``sizes``."""
    centre, weight = variance / t, 1 / (2 * variance)

    def level(i: int) -> mpq:
        return mpq((int(sizes[i]) - centre) ** 2 * weight)  # [level]

    lower, upper = np.zeros(len(sizes)), np.full(len(sizes), np.inf)
    if sizes.dtype != object and variance * _REGULAR >= 1 and variance <= _REGULAR:
        small = sizes < _EXACT_FLOATS  # [exact-floats]
        lower[small], upper[small] = _level_bounds(sizes[small].astype(np.float64), centre, weight)
    return reach(lower, upper, level, entropy)


def _level_bounds(y: Floats, centre: Fraction, weight: Fraction) -> tuple[Floats, Floats]:
    """Outward float64 bounds on (y - centre)^2 * weight."""
    below = np.nextafter(y - round_up(centre), -np.inf)  # [below]
    above = np.nextafter(y - round_down(centre), np.inf)  # [above]
    near = np.maximum(np.maximum(below, -above), 0.0)  # [near]
    far = np.maximum(above, -below)  # [far]
    lower = np.nextafter(np.nextafter(near * near, 0) * round_down(weight), 0)  # [level-below]
    return lower, np.nextafter(np.nextafter(far * far, np.inf) * round_up(weight), np.inf)  # [level-above]


def _in_chunks(n: int, draw: Callable[[int], Integers]) -> Integers:
    """n integers from draws of at most 2^16, so that memory beyond the result stays small."""
    return np.concatenate([draw(min(_CHUNK, n - start)) for start in range(0, max(n, 1), _CHUNK)])  # [chunks]


# end-proof-region: integers
