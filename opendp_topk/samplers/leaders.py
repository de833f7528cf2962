"""Long vectors of which few scores are near the best: these race one by one first, and the others by their tails.

The best of small groups of scores are the leaders. Their race gives a threshold, which separates those who are near
it; whoever is left enters only with noise from the upper tail. Where that would be many, some blocks go first, and
raise the threshold for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.surveyed import GROUP
from .advantages import widened
from .entropy import Indices
from .scan import Drawn, Scan
from .upper_tail import BLOCK, LEVELS, survivors

GROUPS = BLOCK // GROUP  # in a block; the best score of each may be a leader
FEWEST = 16  # blocks; with fewer, the race of whole blocks is as fast
_LEADERS = 1024  # at least, and
_PER_WINNER = 4  # for each winner
_MANY = 2**13  # candidates by their tails; where more are expected,
_FIRST = 8  # one block of so many goes before the others
_MOST_NEAR = 8  # one score in so many may be near: more of them are raced in whole blocks
_FAR = 8  # the level of those who are not near: one in 256 of them enters
_MIDDLE = 4  # of those near who need so many leading ones, one in 16 is bounded
_TOGETHER = 512  # groups at a time, a MiB of scores, which a cache holds


# proof-region: leaders
def race_leaders(
    scan: Scan, values: NDArray[Any], groups: NDArray[Any], best: NDArray[Any], taken: NDArray[np.bool_]
) -> Indices:
    """Take leaders into the race, and whole blocks, but for those that are returned; mark who was taken in ``taken``.

    ``values`` are whole blocks of scores, ``groups`` the best of each group of them and ``best`` that of each block.
    """
    leaders = _leaders(values, groups, scan)
    taken[leaders] = True
    scan.draw(leaders)  # [draw-leaders]
    left = np.arange(len(best))
    if np.isfinite(scan.threshold) and _expected(scan.levels(best)) > _MANY:
        few = len(best) // _FIRST
        first = np.argpartition(best, -few)[-few:] if scan.scores.sign > 0 else np.argpartition(best, few)[:few]
        left = _without(left, first) if _race(scan, values, groups, best, taken, np.sort(first)) else left  # [first]
    return left[:0] if _race(scan, values, groups, best, taken, left) else left  # [rest]


def _expected(levels: Indices) -> float:
    """How many of blocks with these levels have as many leading ones."""
    return float(BLOCK * np.exp2(-np.maximum(levels, 0.0)).sum())


def _without(blocks: Indices, some: Indices) -> Indices:
    kept = np.ones(len(blocks), dtype=np.bool_)
    kept[some] = False
    return blocks[kept]


def _leaders(values: NDArray[Any], groups: NDArray[Any], scan: Scan) -> Indices:
    """The best of the best groups; any candidates would do."""
    few = max(_LEADERS, _PER_WINNER * scan.k)
    sign, chosen = scan.scores.sign, np.arange(len(groups))
    if few < len(groups):
        chosen = np.argpartition(groups, -few)[-few:] if sign > 0 else np.argpartition(groups, few)[:few]
    rows = values.reshape(len(groups), -1)
    rows = rows[chosen] if few < len(groups) else rows
    return np.asarray(chosen * rows.shape[1] + (rows.argmax(axis=1) if sign > 0 else rows.argmin(axis=1)))


def _race(
    scan: Scan,
    values: NDArray[Any],
    groups: NDArray[Any],
    best: NDArray[Any],
    taken: NDArray[np.bool_],
    blocks: Indices,
) -> bool:
    """Take ``blocks`` into the race and return True; or return False and do nothing, if too many are near."""
    if not np.isfinite(scan.threshold):
        return False
    levels, drawn = scan.levels(best[blocks]), list[Drawn]()
    if levels.min() < LEVELS[0] or _expected(levels) > _MANY:
        near = _near(values, groups, scan, blocks)
        if near is None:
            return False
        near = near[~taken[near]]  # [no-leaders]
        taken[near] = True
        middle, least = scan.near(widened(values[near]), _MIDDLE), max(int(levels.min()), 0)
        drawn = [scan.fresh(near[middle], least), scan.fresh(near[~middle], max(_MIDDLE, least))]  # [near]
        levels = np.maximum(levels, _FAR)
    scan.add(*drawn, _from_tails(scan, blocks, levels, taken))  # [draw]
    return True


def _from_tails(scan: Scan, blocks: Indices, levels: Indices, taken: NDArray[np.bool_]) -> Drawn:
    """Those of ``blocks`` who are not ``taken`` and have as many leading ones as the level of their block says."""
    place = survivors(levels, scan.entropy)
    block = place // BLOCK
    position = blocks[block] * BLOCK + place % BLOCK
    others = ~taken[position]  # [others]
    return scan.tail(position[others], levels[block[others]])


def _near(values: NDArray[Any], groups: NDArray[Any], scan: Scan, blocks: Indices) -> Indices | None:
    """Who of ``blocks`` may reach the threshold without ``_FAR`` leading ones; None if they are too many."""
    near, rows = scan.nearer(_FAR), values.reshape(len(groups), -1)
    group = (blocks[:, None] * GROUPS + np.arange(GROUPS)).ravel()
    reaching = group[near(groups[group])]  # [reaching]
    found, left = [np.zeros(0, dtype=np.int64)], len(blocks) * BLOCK // _MOST_NEAR
    for start in range(0, len(reaching), _TOGETHER):
        part = reaching[start : start + _TOGETHER]
        place = np.flatnonzero(near(widened(rows[part])))  # [apart]
        found.append(part[place // GROUP] * GROUP + place % GROUP)
        left -= len(place)
        if left < 0:
            return None
    return np.concatenate(found)


# end-proof-region: leaders
