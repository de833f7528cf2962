"""Long vectors of which few scores are near the best: these race one by one first, and the others by their tails.

The best of small groups of scores are the leaders. Their race gives a threshold, which separates those who are near
it; whoever is left enters only with noise from the upper tail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .entropy import Indices
from .scan import Scan
from .upper_tail import BLOCK, survivors

GROUPS = 16  # in a block; the best score of each may be a leader
FEWEST = 16  # blocks; with fewer, the race of whole blocks is as fast
_LEADERS = 1024  # at least, and
_PER_WINNER = 4  # for each winner, and of so many groups
_EVERY = 8  # one, to set a threshold that is not much too low
_MOST_NEAR = 8  # one score in so many may be near: more of them are raced in whole blocks
FAR = 8  # the level of those who are not near: one in 256 of them enters
MIDDLE = 4  # of those near who need so many leading ones, one in 16 is bounded
_TOGETHER = 512  # groups at a time, a MiB of scores, which a cache holds


# proof-region: leaders
def race_leaders(
    scan: Scan, values: NDArray[Any], groups: NDArray[Any], best: NDArray[Any], taken: NDArray[np.bool_]
) -> bool:
    """Take leaders into the race and mark them in ``taken``; if few others are near, take all, and return True.

    ``values`` are whole blocks of scores, ``groups`` the best of each group of them and ``best`` that of each block.
    """
    leaders = _leaders(values, groups, scan)
    taken[leaders] = True
    scan.draw(leaders)  # [draw-leaders]
    near = _near(values, groups, scan) if np.isfinite(scan.threshold) else None
    if near is None:
        return False
    levels = scan.levels(best)
    near = near[~taken[near]]  # [no-leaders]
    taken[near] = True
    middle = scan.near(values[near], MIDDLE)
    scan.draw(near[middle], max(int(levels.min()), 0))  # [draw-middle]
    scan.draw(near[~middle], MIDDLE)  # [draw-near]
    levels = np.maximum(levels, FAR)
    position = survivors(levels, scan.entropy)
    position = position[~taken[position]]  # [others]
    scan.draw_tail(position, levels[position // BLOCK])  # [draw-others]
    return True


def _leaders(values: NDArray[Any], groups: NDArray[Any], scan: Scan) -> Indices:
    """The best of the best groups; any candidates would do."""
    few = max(_LEADERS, _PER_WINNER * scan.k, len(groups) // _EVERY)
    sign, chosen = scan.scores.sign, np.arange(len(groups))
    if few < len(groups):
        chosen = np.argpartition(groups, -few)[-few:] if sign > 0 else np.argpartition(groups, few)[:few]
    rows = values.reshape(len(groups), -1)
    rows = rows[chosen] if few < len(groups) else rows
    return np.asarray(chosen * rows.shape[1] + (rows.argmax(axis=1) if sign > 0 else rows.argmin(axis=1)))


def _near(values: NDArray[Any], groups: NDArray[Any], scan: Scan) -> Indices | None:
    """Who may reach the threshold without ``FAR`` leading ones; None if they are too many."""
    near, rows = scan.nearer(FAR), values.reshape(len(groups), -1)
    reaching = np.flatnonzero(near(groups))  # [reaching]
    found, left = [np.zeros(0, dtype=np.int64)], len(values) // _MOST_NEAR
    for start in range(0, len(reaching), _TOGETHER):
        part = reaching[start : start + _TOGETHER]
        if part[-1] - part[0] < 2 * len(part):  # groups between them have nobody who is near
            position = np.flatnonzero(near(rows[part[0] : part[-1] + 1])) + part[0] * rows.shape[1]  # [in-a-row]
        else:
            group, within = np.nonzero(near(rows[part]))
            position = part[group] * rows.shape[1] + within  # [apart]
        found.append(position)
        left -= len(position)
        if left < 0:
            return None
    return np.concatenate(found)


# end-proof-region: leaders
