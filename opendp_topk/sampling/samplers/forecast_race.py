"""Races over long vectors of scores, with a forecast of the threshold.

Of the candidates that cannot reach the forecast without large noise, those with noise in the upper tail enter, and the
others are deferred. The forecast may be wrong: if the race does not reach it, all deferred candidates enter, with
digits drawn conditionally on what is known about them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.surveyed import GROUP
from .advantages import widen_scores
from .entropy import Indices
from .scan import Drawn, Mark, Scan, concatenate_drawn, has_leading_ones, select_drawn
from .upper_tail import BLOCK, LEVELS, draw_survivors

GROUPS = BLOCK // GROUP  # groups in a block
FEWEST = 4  # least number of blocks: with fewer, the race of whole blocks is as fast
MOST = 2**7  # most winners per block, one candidate in 32: with more, few candidates would be deferred
_MANY = 2**14  # if more candidates are expected from the tails, those near the forecast are searched for
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
    if levels.min() < LEVELS[0] or float(np.exp2(-levels.astype(np.float64)).sum()) * BLOCK > _MANY:
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
