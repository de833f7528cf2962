"""A forecast of the threshold at which a race ends, from the scores alone and before anything is drawn.

It may be wrong: then the race goes on, and takes longer. Whatever it is, the law is the same.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noises.noise import Noise
from ..numerics.floatlog import Floats
from ..numerics.surveyed import GROUP
from .advantages import Scores
from .quantile_tables import DIGITS, table

_STEPS = 64  # of the grid, between no noise and the most that 16 digits tell apart
_LONGEST = 2.0**900  # step: of noise with a heavier tail there is no forecast, and nothing overflows
_DEVIATIONS = 4.0  # by which more candidates than winners are expected above the threshold, and
_MORE = 10.0  # so many beside: then fewer than k of them are there less than once in ten thousand races
_ROOM = 1.1  # as many times the scores as would do are at least the reference
_OPEN = 4  # groups of which all scores are looked at, or
_PER_WANTED = 2  # as many scores as this for each that is wanted
_SAMPLE = 2048  # scores stand for all others
_BEST_OF_SAMPLE = 4  # of them are left out, lest few scores that are far above the others count for many
_STRIDE = 0x9E3779B1  # an odd number, with which places of the sample have no period that data might have


# proof-region: forecast
def forecast(scores: Scores, noise: Noise, k: int, groups: NDArray[Any]) -> tuple[Any, float] | None:
    """A score and a noisy advantage over it that k candidates will exceed, most likely; None if there is no telling.

    ``groups`` holds the best scores of groups.
    """
    wanted = k + _DEVIATIONS * math.sqrt(k) + _MORE
    step, above = _grid(noise)
    if not (0 < step <= _LONGEST and above[0, 0] > 0):  # [grid]
        return None
    top = _top(scores, groups, max(_OPEN, int(_PER_WANTED * wanted) // GROUP))
    rank = min(math.ceil(_ROOM * wanted / above[0, 0]), len(top))
    reference = _ranked(top, rank, scores.sign)
    sample = np.sort(_behind(scores, _sampled(scores), reference, step))[_BEST_OF_SAMPLE:]
    found = _histogram(_behind(scores, top, reference, step))
    found += _histogram(sample) * (max(len(scores.values) - len(top), 0) / len(sample))
    expected = above @ found
    if not expected[0] >= wanted:
        return None
    return reference, step * int(np.flatnonzero(expected >= wanted)[-1])  # [mark]


def _top(scores: Scores, groups: NDArray[Any], few: int) -> NDArray[Any]:
    """All scores of the best groups, and the best of each other group."""
    few = min(few, len(groups) - 1)
    at = len(groups) - few if scores.sign > 0 else few
    order = np.argpartition(groups, at)
    best, others = (order[at:], order[:at]) if scores.sign > 0 else (order[:at], order[at:])
    return np.concatenate([scores.take((best[:, None] * GROUP + np.arange(GROUP)).ravel()), groups[others]])


def _ranked(values: NDArray[Any], rank: int, sign: int) -> Any:
    at = len(values) - rank if sign > 0 else rank - 1
    return np.partition(values, at)[at]  # [one-of-them]


@functools.lru_cache(maxsize=16)
def _grid(noise: Noise) -> tuple[float, Floats]:
    """The step of a grid for ``noise``; and, a row for each point, the odds to exceed it from so many steps behind."""
    entries = table(noise)
    step = float(entries.tail[DIGITS - 1]) / _STEPS
    odds = 1 - np.searchsorted(entries.lower, step * np.arange(_STEPS), side="left") / len(entries.lower)
    steps = np.add.outer(np.arange(_STEPS), np.arange(_STEPS + 1))
    return step, np.append(odds, 0.0)[np.minimum(steps, _STEPS)]


def _histogram(steps: NDArray[np.int64]) -> Floats:
    return np.bincount(steps, minlength=_STEPS + 1).astype(np.float64)


def _sampled(scores: Scores) -> NDArray[Any]:
    return scores.take(np.arange(_SAMPLE) * _STRIDE % len(scores.values))


def _behind(scores: Scores, values: NDArray[Any], reference: Any, step: float) -> NDArray[np.int64]:
    """How many steps, rounded up, ``values`` lie behind the reference; none if they are better, and at most all."""
    steps = np.ceil(scores.advantages(values, reference) / -step)
    return np.clip(steps, 0, _STEPS).astype(np.int64)


# end-proof-region: forecast
