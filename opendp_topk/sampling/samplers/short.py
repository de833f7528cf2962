"""Short vectors of scores: every candidate draws, and its noisy score is bounded relative to the best score.

What lies below is measured from the best score, so all distances have one sign and one multiplication bounds them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.arithmetic import round_down, round_up
from ...numerics.floatlog import Floats
from ..noises.noise import Noise
from .advantages import Scores
from .entropy import Entropy
from .quantile_tables import table
from .settle import Racers

MOST = 512  # scores; from here on it pays to drop those that cannot win before the others are sorted
_MODERATE = Fraction(2) ** 900  # scales and their reciprocals up to this make factors that are normal numbers
_RELATIVE = 2.0**-50  # eight times the error of one rounding: room for those of a distance and of a sum
_ABSOLUTE = 2.0**-1060  # room for subnormal numbers, whose errors are absolute
_HUGE = 2.0**1022  # distances up to here are added to noise without overflow


# proof-region: short
@dataclass(frozen=True)
class Factors:
    """Float64 bounds on 1 / scale with room for rounding: ``least`` from below, ``most`` from above."""

    least: float
    most: float


@functools.lru_cache(maxsize=256)
def factors(scale: Fraction) -> Factors | None:
    """The factors of ``scale``, or None where it is too large or too small for them."""
    if not 1 / _MODERATE <= scale <= _MODERATE:
        return None  # [moderate]
    room = Fraction(_RELATIVE)
    return Factors(round_down((1 - room) / scale), round_up((1 + room) / scale))  # [factors]


@functools.lru_cache(maxsize=16)
def padded(noise: Noise) -> NDArray[np.float64]:
    """The table of ``noise``, a row (lower, upper) for each prefix, with room for the rounding of one sum."""
    entries = table(noise)
    lower = entries.lower - (np.abs(entries.lower) * _RELATIVE + _ABSOLUTE)  # [padded-lower]
    upper = entries.upper + (np.abs(entries.upper) * _RELATIVE + _ABSOLUTE)  # [padded-upper]
    return np.stack([lower, upper], axis=1)


def behind(values: NDArray[Any], best: Any, sign: int) -> Floats:
    """How far ``values`` (int64, uint64 or float64) lie behind the ``best`` of them, each rounded to nearest."""
    ahead, after = (best, values) if sign > 0 else (values, best)
    if values.dtype == np.float64:
        return np.asarray(ahead - after)  # [float-distance]
    raw = np.asarray(ahead).view(np.uint64) - np.asarray(after).view(np.uint64)  # [modular-distance]
    return np.asarray(raw.astype(np.float64))


def bounds(distance: Floats, factor: Factors, noise: NDArray[np.float64]) -> tuple[Floats, Floats]:
    """Bounds on noise minus distance / scale, given rows of a padded table; nothing is ever NaN."""
    far = distance * factor.most + _ABSOLUTE  # [far]
    close = distance * factor.least - _ABSOLUTE  # [close]
    return noise[..., 0] - far, noise[..., 1] - close  # [bounds]


class Known(NamedTuple):
    """What is known of short vectors before anything is drawn: the best score, and how far the others lie behind."""

    best: Any
    distance: Floats
    factor: Factors


def distances_by_row(rows: NDArray[Any], scale: Fraction, sign: int) -> Known | None:
    """For each of several vectors, a row each, what :func:`distances` says; None where it would say so of one."""
    best = rows.max(axis=1, keepdims=True) if sign > 0 else rows.min(axis=1, keepdims=True)  # [best-of-each]
    return _measured(rows, best, scale, sign)


def distances(scores: Scores) -> Known | None:
    """The distances of all scores from the best; None where float64 numbers do not serve."""
    values = scores.values
    best = values[values.argmax() if scores.sign > 0 else values.argmin()]  # [best]
    return _measured(values, best, scores.scale, scores.sign)


def _measured(values: NDArray[Any], best: Any, scale: Fraction, sign: int) -> Known | None:
    factor = factors(scale)
    if factor is None or values.dtype == object:
        return None
    distance = behind(values, best, sign)
    if values.dtype == np.float64 and not distance.max() * factor.least < _HUGE:
        return None  # [overflow]
    return Known(best, distance, factor)


def everybody(scores: Scores, noise: Noise, entropy: Entropy) -> tuple[Racers, Floats, Floats] | None:
    """All candidates as racers, with bounds on their noisy advantages; None where float64 numbers do not serve."""
    known = distances(scores)
    if known is None:
        return None
    index = np.arange(len(scores.values))
    prefix = entropy.prefixes(index)  # [draw]
    lower, upper = bounds(known.distance, known.factor, padded(noise)[prefix])
    return Racers(index, prefix, scores, noise, known.best, entropy), lower, upper


# end-proof-region: short
