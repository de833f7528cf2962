"""A forecast of the threshold at which a race ends, from the scores alone and before anything is drawn.

The forecast may be wrong. The race then continues and takes longer, but the output distribution is the same.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ...numerics.surveyed import GROUP
from ..noises.noise import Noise
from .advantages import ScaledScores
from .ladder import sort_ascending
from .quantile_tables import DIGITS, quantile_table
from .upper_tail import LEVELS

_STEPS = 64  # grid steps between no noise and the largest noise that 16 digits distinguish
_LONGEST = 2.0**900  # largest step: noise with a heavier tail gets no forecast, and nothing overflows
_DEVIATIONS = 3.5  # standard deviations by which the expected exceedances are above k: larger errors are rare
_ROOM = 1.1  # this many times the required number of scores are at least as good as the reference
_OPEN = 4  # least number of groups whose scores are all examined
_MANY = 2**10  # times as many groups contribute their best score: the remaining ones contain no exceptional score
_PER_WANTED = 2  # scores in examined groups for each wanted score
_OFTEN = 0.2  # of the groups: if more have a wanted score, many wanted scores are among the others of a group, too
_SAMPLE = 2048  # least number of scores that represent all others
_SAMPLE_PER_WANTED = 4  # sampled scores for each wanted score
_STRIDE = 0x9E3779B1  # an odd number that gives the places of the sample no period that data might have
_DEAR = 4  # time for a candidate that enters from the tail, relative to one that is near
_READ = 20  # time to search a group, relative to one candidate that is near


class Forecast(NamedTuple):
    """A score, and a noisy advantage over it that k candidates most likely exceed.

    ``level`` is the best number of leading ones to require of the candidates that are left to the upper tail.
    """

    mark: tuple[Any, float]
    level: int


# proof-region: forecast
def forecast_threshold(scores: ScaledScores, noise: Noise, k: int, groups: NDArray[Any]) -> Forecast | None:
    """Return the forecast for these scores, or None if none is possible.

    ``groups`` contains the best scores of groups.
    """
    step, above, _ = _exceedance_grid(noise)
    if not (0 < step <= _LONGEST and above[0, 0] > 0):  # [grid]
        return None
    wanted = _required_expectation(k, 0.0)
    top = _top_scores(scores, groups, max(_OPEN, int(_PER_WANTED * wanted) // GROUP))
    sample = _sample_scores(scores, int(_SAMPLE_PER_WANTED * wanted))
    each = max(len(scores.values) - len(top), 0) / len(sample)
    reference = _score_of_rank(top, wanted / above[0, 0], scores.sign)
    if wanted > _OFTEN * len(groups):
        lifted = max(each * above[0, 0], 1.0)
        likely = _score_of_rank(sample, _required_expectation(k, lifted) / lifted, scores.sign)
        reference = max(reference, likely) if scores.sign > 0 else min(reference, likely)
    steps = _steps_behind(scores, np.concatenate([top, sample]), reference, step)
    known, others = _step_histogram(steps[: len(top)]), _step_histogram(steps[len(top) :]) * each
    ahead = np.flatnonzero(_likely_exceedances(noise, known, others, each) >= k)
    if len(ahead) == 0:
        return None
    most = int(ahead[-1])
    return Forecast((reference, step * most), _cheapest_level(noise, known + others, most, len(groups)))  # [mark]


def _likely_exceedances(noise: Noise, known: Floats, others: Floats, each: float) -> Floats:
    """Return how many most likely exceed each point of the grid: of those known, or of the others as well."""
    _, above, squares = _exceedance_grid(noise)
    certain, probable = above @ known, above @ others
    spread = np.sqrt(certain + probable + each * (squares @ others))
    return np.maximum(certain - _DEVIATIONS * np.sqrt(certain), certain + probable - _DEVIATIONS * spread)


def _required_expectation(k: int, each: float) -> float:
    """Return the expected number that makes k exceedances most likely, if each score represents ``each`` others."""
    room = _DEVIATIONS * math.sqrt(1 + each)
    return ((room + math.sqrt(room**2 + 4 * k)) / 2) ** 2


def _cheapest_level(noise: Noise, found: Floats, ahead: int, groups: int) -> int:
    """Return the level that minimizes the total time of searching for near candidates and drawing from the tail."""
    near = np.interp(_reach_by_level(noise) - ahead, np.arange(_STEPS + 1), np.cumsum(found), left=0.0)
    tail = found.sum() * np.exp2(-np.arange(LEVELS.start, LEVELS.stop, dtype=np.float64))
    return LEVELS.start + int(np.argmin(near + _READ * np.minimum(near, groups) + _DEAR * tail))  # [level]


def _top_scores(scores: ScaledScores, groups: NDArray[Any], few: int) -> NDArray[Any]:
    """Return all scores of the best groups, and the best score of each of as many other groups as are informative."""
    few, d = min(few, len(groups) - 1), len(groups)
    ranked = sort_ascending(groups)[:: -scores.sign]
    looked_at, told = (
        _best_groups_mask(groups, ranked, count, scores.sign) for count in (few, min(_MANY * few + 1, d))
    )
    opened = looked_at.nonzero()[0]
    rest = groups[told & ~looked_at]
    return np.concatenate([scores.take((opened[:, None] * GROUP + np.arange(GROUP)).ravel()), rest])


def _best_groups_mask(groups: NDArray[Any], ranked: NDArray[Any], count: int, sign: int) -> NDArray[np.bool_]:
    """Return a mask of the ``count`` best groups; the first of equal ones, so the processor's sort does not matter."""
    if count == 0:
        return np.zeros(len(groups), dtype=np.bool_)
    last = ranked[count - 1]
    ahead = np.asarray(groups > last if sign > 0 else groups < last)
    ahead[(groups == last).nonzero()[0][: count - np.count_nonzero(ahead)]] = True
    return ahead


def _score_of_rank(values: NDArray[Any], rank: float, sign: int) -> Any:
    """Return the score of this rank with some margin, or the worst score.

    All values are sorted: NumPy's selection takes ten times as long if one score exceeds many equal ones.
    """
    last = min(math.ceil(_ROOM * rank), len(values))
    at = len(values) - last if sign > 0 else last - 1
    return sort_ascending(values)[at]  # [one-of-them]


@functools.lru_cache(maxsize=16)
def _exceedance_grid(noise: Noise) -> tuple[float, Floats, Floats]:
    """Return the step of a grid for ``noise``, the odds to exceed a point from some steps behind, and their squares.

    The odds and their squares have a row for each point.
    """
    entries = quantile_table(noise)
    step = float(entries.tail[DIGITS - 1]) / _STEPS
    odds = 1 - np.searchsorted(entries.lower, step * np.arange(_STEPS), side="left") / len(entries.lower)
    steps = np.add.outer(np.arange(_STEPS), np.arange(_STEPS + 1))
    above = np.append(odds, 0.0)[np.minimum(steps, _STEPS)]
    return step, above, np.square(above)


def _reach_by_level(noise: Noise) -> Floats:
    """Return for each level the most steps by which noise lifts a score if its digits begin with fewer ones."""
    return np.asarray(quantile_table(noise).tail[LEVELS.start : LEVELS.stop] / _exceedance_grid(noise)[0])


def _step_histogram(steps: NDArray[np.int64]) -> Floats:
    return np.bincount(steps, minlength=_STEPS + 1).astype(np.float64)


def _sample_scores(scores: ScaledScores, size: int) -> NDArray[Any]:
    return scores.take(np.arange(max(size, _SAMPLE)) * _STRIDE % len(scores.values))


def _steps_behind(scores: ScaledScores, values: NDArray[Any], reference: Any, step: float) -> NDArray[np.int64]:
    """Return by how many steps, rounded up, ``values`` are below the reference: 0 if better, and at most all steps."""
    steps = scores.approximate_advantages(values, reference)
    np.ceil(np.divide(steps, -step, out=steps), out=steps)
    return np.minimum(np.maximum(steps, 0, out=steps), _STEPS, out=steps).astype(np.int64)


# end-proof-region: forecast
