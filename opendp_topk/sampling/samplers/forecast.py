"""A forecast of the threshold at which a race ends, from the scores alone, and the races that use it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ...numerics.surveyed import GROUP
from ..noises.noise import Noise
from .advantages import ScaledScores, widen_scores
from .entropy import Indices
from .ladder import sort_ascending
from .quantile_tables import DIGITS, quantile_table
from .scan import Drawn, Mark, Scan, concatenate_drawn, has_leading_ones, select_drawn
from .upper_tail import BLOCK, LEVELS, draw_survivors

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


GROUPS = BLOCK // GROUP  # groups in a block
FEWEST = 4  # least number of blocks: with fewer, the race of whole blocks is as fast
MOST = 2**7  # most winners per block, one candidate in 32: with more, few candidates would be deferred
_MOST_EXPECTED = 2**14  # if more candidates are expected from the tails, those near the forecast are searched for
_MOST_NEAR = 8  # at most one score in this many may be near: with more, whole blocks are raced
_MIDDLE = 4  # near candidates that need this many leading ones enter at first only if they have them, as one in 16 has
_TOGETHER = 512  # groups at a time: a MiB of scores, which fits in a cache
_AGAIN = 16  # blocks at a time that enter if the forecast was wrong


# proof-region: forecast_race
def race_forecast(
    scan: Scan, values: NDArray[Any], groups: NDArray[Any], best: NDArray[Any], mark: Mark, far: int
) -> bool:
    """Take all of the scan's candidates into the race and return True, or take none and return False.

    ``values`` are whole blocks of scores, ``groups`` the best of each group of them and ``best`` that of each block.
    ``mark`` is a score, and a noisy advantage over it that k candidates are expected to have. A candidate is near if it
    may reach the mark with fewer than ``far`` leading ones. None enters if too many are near.
    """
    levels, some = scan.required_levels(best, mark), np.arange(len(values), len(scan.scores.values))
    reaches, able = None, np.ones(len(some), dtype=np.bool_)
    if levels.min() < LEVELS[0] or float(np.exp2(-levels.astype(np.float64)).sum()) * BLOCK > _MOST_EXPECTED:
        reaches = scan.reach_test(far, mark)
        found = _find_near_scores(reaches, values, groups)
        if found is None:
            return False
        near, their = found
        able = np.concatenate([able, scan.may_reach(their, _MIDDLE, mark)])  # [middle]
        some, levels = np.concatenate([some, near]), np.maximum(levels, far)
    fresh = scan.draw_fresh_prefixes(some)  # [draw]
    able |= has_leading_ones(fresh, _MIDDLE)
    place = draw_survivors(levels, scan.entropy)
    if reaches is not None:
        place = place[~reaches(widen_scores(values[place]))]  # [others]
    drawn = concatenate_drawn(
        [select_drawn(fresh, able), scan.draw_tail_prefixes(place, levels[place // BLOCK])]
    )  # [draw-others]
    reaching = scan.add_reaching(drawn, mark[1])
    if not scan.has_reached(mark):
        held = concatenate_drawn([select_drawn(fresh, ~able), select_drawn(drawn, ~reaching)])
        _all_others(scan, levels, held, drawn[0][reaching])  # [wrong]
    return True


def _all_others(scan: Scan, levels: Indices, held: Drawn, entered: Indices) -> None:
    """Take all others into the race: ``held``, and those without as many leading ones as in ``levels``."""
    scan.add_drawn(held)  # [held]
    out = np.zeros(len(scan.scores.values), dtype=np.bool_)
    out[held[0]], out[entered] = True, True
    for start in range(0, len(levels), _AGAIN):
        some = np.flatnonzero(~out[start * BLOCK : (start + _AGAIN) * BLOCK]) + start * BLOCK
        scan.add_drawn(scan.draw_body_prefixes(some, levels[some // BLOCK]))  # [rest]


def _find_near_scores(
    reaches: Callable[[NDArray[Any]], Any], values: NDArray[Any], groups: NDArray[Any]
) -> tuple[Indices, NDArray[Any]] | None:
    """Return the places, ascending, of ``values`` for which ``reaches`` is true, and these values; None if too many."""
    rows = values.reshape(len(groups), -1)
    reaching = np.flatnonzero(reaches(groups))  # [reaching]
    found, those, left = [np.zeros(0, dtype=np.int64)], [widen_scores(values[:0])], len(values) // _MOST_NEAR
    for start in range(0, len(reaching), _TOGETHER):
        part = reaching[start : start + _TOGETHER]
        in_a_row = part[-1] - part[0] < 2 * len(part)  # the groups between them contain no near scores
        some = widen_scores((rows[part[0] : part[-1] + 1] if in_a_row else rows[part]).ravel())
        place = _true_places(reaches(some))
        found.append(place + part[0] * GROUP if in_a_row else part[place // GROUP] * GROUP + place % GROUP)  # [apart]
        those.append(some[place])
        left -= len(place)
        if left < 0:
            return None
    return np.concatenate(found), np.concatenate(those)


def _true_places(marks: NDArray[np.bool_]) -> Indices:
    """Return the places of true entries, ascending; fast if they are rare."""
    if len(marks) % 8:
        return marks.nonzero()[0]  # [one-by-one]
    eights = marks.view(np.uint64)
    some = (eights != 0).nonzero()[0]  # [eights]
    place = eights[some].view(np.bool_).nonzero()[0]
    return np.asarray(some[place >> 3] * 8 + (place & 7))  # [within]


# end-proof-region: forecast_race
