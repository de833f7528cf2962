"""The exact ranking of noisy scores with the gaps between them, each gap correctly rounded to float64.

The digits that the race has drawn for the winners and the runner-up are kept. Further digits are drawn until both ends
of an interval around a gap round to the same number. This module does not deal with privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...errors import PlatformError
from ...numerics.arithmetic import Interval
from ...numerics.floats import Floats
from ..noises.noise import Noise
from . import entropy as noiseless
from .advantages import ScaledScores
from .entropy import SYSTEM, Entropy, Indices
from .race import find_contenders
from .settle import MOST_LEVELS, Contender, resolve_finalists

_PRECISION = 128  # bits, two words: with the digits that are drawn first, they decide all but a few gaps in a million
_DOWN = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundDown)
_UP = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp)
_NEAREST = gmpy2.context(precision=53, round=gmpy2.RoundToNearest)  # rounds as float64 rounds its normal numbers
_LEAST, _MOST = 2.0**-1000, 2.0**1000  # numbers between them are normal, with a wide margin


# proof-region: gaps
def top_k_with_gaps(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy = SYSTEM
) -> tuple[Indices, Floats]:
    """Return the ranking of the k largest of ``sign * values + scale * noise``, and how far each is ahead of the next.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: The scale of the noise, > 0.
        noise: The distribution of the noise at scale 1.
        k: The number of winners, 1 <= k < d.
        sign: +1 for the largest scores, -1 for the smallest.
        entropy: The source of digits; by default the operating system.

    Returns:
        int64 array of shape (k,), best first; float64 array of shape (k,), whose last gap is that to the runner-up.
    """
    with np.errstate(all="ignore"):  # [floating-point-state]
        best = resolve_finalists(
            *find_contenders(values, scale, noise, k + 1, sign=sign, entropy=entropy), k + 1
        )  # [runner-up]
    return indices_and_gaps(best, ScaledScores(values, scale, sign), noise)  # [released]


def indices_and_gaps(best: list[Contender], scores: ScaledScores, noise: Noise) -> tuple[Indices, Floats]:
    """Return the indices of all of ``best`` except the last, and the gaps between successive ones."""
    index = np.array([racer.index for racer in best], dtype=np.int64)
    exact = [scores.sign * mpq(score) for score in scores.values[index].tolist()]
    near = [_slope_enclosure(racer, noise) for racer in best]
    unit = mpq(scores.scale.numerator, scores.scale.denominator)
    gaps = [
        _quick_gap(x - y, first, second, unit) or _correctly_rounded_gap(a, b, unit)
        for (x, y), (first, second), (a, b) in zip(pairwise(exact), pairwise(near), pairwise(best), strict=True)
    ]  # [gaps]
    return index[:-1], np.array(gaps)


def _slope_enclosure(racer: Contender, noise: Noise) -> Interval | None:
    """Return an interval that contains the noise, from one quantile and a bound on its slope.

    Returns None if the known digits are all 0 or all 1.
    """
    below, above = racer.digits, (1 << racer.known) - racer.digits - 1
    if below == 0 or above == 0:
        return None
    lower, upper = noise.quantile(mpq(racer.digits, 1 << racer.known), _PRECISION)
    slope = racer.known + 3 - below.bit_length() - above.bit_length()
    return lower, _UP.add(upper, _UP.mul_2exp(1, slope) if slope > 0 else _UP.div_2exp(1, -slope))  # [slope]


def _quick_gap(lead: mpq, a: Interval | None, b: Interval | None, scale: mpq) -> float | None:
    """Return the gap of two scores with the difference ``lead`` if these intervals of noise decide it, else None."""
    if a is None or b is None:
        return None
    least = _NEAREST.plus(_DOWN.add(_DOWN.mul(_DOWN.sub(a[0], b[1]), scale), lead))  # [least-nearest]
    most = _NEAREST.plus(_UP.add(_UP.mul(_UP.sub(a[1], b[0]), scale), lead))  # [most-nearest]
    return float(most) if least == most and _LEAST <= most <= _MOST else None  # [normal]


def _correctly_rounded_gap(a: Contender, b: Contender, scale: mpq) -> float:
    """Return how far ``a`` is ahead of ``b`` in units of the scores: a positive real number, rounded to nearest."""
    lead = a.exact_advantage - b.exact_advantage  # [lead]
    for level in range(MOST_LEVELS + 1):
        (a_lower, a_upper), (b_lower, b_upper) = a.noise_enclosure(level), b.noise_enclosure(level)
        if all(map(gmpy2.is_finite, (a_lower, a_upper, b_lower, b_upper))):  # [finite]
            least = _round_to_nearest(scale * (lead + mpq(a_lower) - mpq(b_upper)))  # [least]
            most = _round_to_nearest(scale * (lead + mpq(a_upper) - mpq(b_lower)))  # [most]
            if least == most:
                return most  # [decided]
    raise PlatformError("the source of randomness returned repeated values: a gap stays half-way between two numbers")


def _round_to_nearest(value: mpq | Fraction) -> float:
    """Round ``value`` to float64 as IEEE 754 does: to nearest, ties to even, and infinite beyond the largest."""
    try:
        return int(value.numerator) / int(value.denominator)  # [nearest]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # [overflow]


def noiseless_top_k_with_gaps(values: NDArray[Any], k: int, *, sign: int) -> tuple[Indices, Floats]:
    """Return the exact ranking without noise and its gaps, rounded; the lowest index is first among equal scores."""
    best = noiseless.top_k(values, k + 1, sign=sign, ordered=True)
    scores = [sign * Fraction(score) for score in values[best].tolist()]
    return best[:k], np.array([_round_to_nearest(a - b) for a, b in pairwise(scores)])  # [exact-gaps]


# end-proof-region: gaps
