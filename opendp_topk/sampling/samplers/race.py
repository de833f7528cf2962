"""The exact top-k of scores with independent noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ...numerics.surveyed import GROUP, Surveyed
from ..noises.noise import Noise
from . import settle as short
from .advantages import Scores, widened
from .entropy import SYSTEM, Entropy, Indices
from .forecast import forecast
from .quantile_tables import table
from .scan import Drawn, Mark, Scan, chosen, joined, leading
from .settle import Racers, settle
from .upper_tail import BLOCK, LEVELS, survivors

# Long vectors of scores: candidates that cannot reach the forecast of the threshold enter only with noise from the
# upper tail.
#
# The forecast may be wrong. Until the race has reached it, the other candidates are only deferred. If it is not
# reached, all of them enter, with digits conditioned on what is known of them.

GROUPS = BLOCK // GROUP  # in a block
FEWEST = 4  # blocks; with fewer, the race of whole blocks is as fast, and
MOST = 2**7  # winners a block, one candidate in 32; with more, few would be deferred
_MANY = 2**14  # candidates by their tails; if more are expected, those near the forecast are separated
_MOST_NEAR = 8  # at most one score in this many may be near; otherwise whole blocks are raced
_MIDDLE = 4  # leading ones; of the near candidates that need this many, only one in 16 is bounded
_TOGETHER = 512  # groups at a time, a MiB of scores, which fits in a cache
_AGAIN = 16  # blocks at a time that enter if the forecast was wrong


# proof-region: forecast_race
def race_forecast(
    scan: Scan, values: NDArray[Any], groups: NDArray[Any], best: NDArray[Any], mark: Mark, far: int
) -> bool:
    """Take all of the scan's candidates into the race and return True, or take none and return False.

    ``values`` are whole blocks of scores, ``groups`` the best of each group of them and ``best`` that of each block.
    ``mark`` is a score, and a noisy advantage over it that k candidates will have, or not. A candidate is near if it
    may reach the mark with fewer than ``far`` leading ones. None enters if too many are near.
    """
    levels, some = scan.levels(best, mark), np.arange(len(values), len(scan.scores.values))
    reaches, able = None, np.ones(len(some), dtype=np.bool_)
    if levels.min() < LEVELS[0] or float(np.exp2(-levels.astype(np.float64)).sum()) * BLOCK > _MANY:
        reaches = scan.nearer(far, mark)
        found = _near(reaches, values, groups)
        if found is None:
            return False
        near, their = found
        able = np.concatenate([able, scan.near(their, _MIDDLE, mark)])  # [middle]
        some, levels = np.concatenate([some, near]), np.maximum(levels, far)
    fresh = scan.fresh(some)  # [draw]
    able |= leading(fresh, _MIDDLE)
    place = survivors(levels, scan.entropy)
    if reaches is not None:
        place = place[~reaches(widened(values[place]))]  # [others]
    drawn = joined([chosen(fresh, able), scan.tail(place, levels[place // BLOCK])])  # [draw-others]
    reaching = scan.add_reaching(drawn, mark[1])
    if not scan.reached(mark):
        held = joined([chosen(fresh, ~able), chosen(drawn, ~reaching)])
        _all_others(scan, levels, held, drawn[0][reaching])  # [wrong]
    return True


def _all_others(scan: Scan, levels: Indices, held: Drawn, entered: Indices) -> None:
    """Take all others into the race: those held back, and those without as many leading ones as in ``levels``."""
    scan.add(held)  # [held]
    out = np.zeros(len(scan.scores.values), dtype=np.bool_)
    out[held[0]], out[entered] = True, True
    for start in range(0, len(levels), _AGAIN):
        some = np.flatnonzero(~out[start * BLOCK : (start + _AGAIN) * BLOCK]) + start * BLOCK
        scan.add(scan.body(some, levels[some // BLOCK]))  # [rest]


def _near(
    reaches: Callable[[NDArray[Any]], Any], values: NDArray[Any], groups: NDArray[Any]
) -> tuple[Indices, NDArray[Any]] | None:
    """Return the places, ascending, of ``values`` for which ``reaches`` is true, and these values; None if too many."""
    rows = values.reshape(len(groups), -1)
    reaching = np.flatnonzero(reaches(groups))  # [reaching]
    found, those, left = [np.zeros(0, dtype=np.int64)], [widened(values[:0])], len(values) // _MOST_NEAR
    for start in range(0, len(reaching), _TOGETHER):
        part = reaching[start : start + _TOGETHER]
        in_a_row = part[-1] - part[0] < 2 * len(part)  # no candidate of the groups between them is near
        some = widened((rows[part[0] : part[-1] + 1] if in_a_row else rows[part]).ravel())
        place = _true(reaches(some))
        found.append(place + part[0] * GROUP if in_a_row else part[place // GROUP] * GROUP + place % GROUP)  # [apart]
        those.append(some[place])
        left -= len(place)
        if left < 0:
            return None
    return np.concatenate(found), np.concatenate(those)


def _true(marks: NDArray[np.bool_]) -> Indices:
    """Return the places of true entries, ascending; fast if they are rare."""
    if len(marks) % 8:
        return marks.nonzero()[0]  # [one-by-one]
    eights = marks.view(np.uint64)
    some = (eights != 0).nonzero()[0]  # [eights]
    place = eights[some].view(np.bool_).nonzero()[0]
    return np.asarray(some[place >> 3] * 8 + (place & 7))  # [within]


# end-proof-region: forecast_race


# The exact top-k of noisy scores, by a lazy race.
#
# Every candidate i owns a uniform U_i; its noisy score is x_i / scale + F^{-1}(U_i). Digits of U_i are drawn only as
# far as the result depends on them. Candidates that cannot reach the k best are dropped on the way, most of them
# without a single digit of their own: a block of scores that are all far below the threshold is represented by the few
# candidates whose uniforms begin with enough ones.
#
# The result is distributed exactly as with real-valued noise. This module does not deal with privacy.

_FIRST_BLOCKS = 8  # few at first: the best blocks set the threshold by which the others are skipped
_MOST_BLOCKS = 512  # two million scores at a time, so that a batch needs little other memory
_DEEP = (8, 6)  # levels tried first on scores far below: one in 256 of them enters, or one in 64
_FEW = 64  # one near score in this many may be drawn by itself: no more than enter at the lower of these levels


# proof-region: race
def top_k(
    values: NDArray[Any] | Surveyed,
    scale: Fraction,
    noise: Noise,
    k: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices:
    """Return the indices of the k largest of ``sign * values / scale + noise``, with independent noise.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64. Or scores
            that were surveyed in the direction ``sign``.
        scale: The scale of the noise, > 0.
        noise: The distribution of the noise at scale 1.
        k: The number of winners, 1 <= k <= d.
        sign: +1 for the largest scores, -1 for the smallest.
        ordered: Best first if True; otherwise ascending indices.
        entropy: The source of digits; by default the operating system.

    Returns:
        int64 array of shape (k,).
    """
    with np.errstate(all="ignore"):  # [floating-point-state]
        winners = settle(*contenders(values, scale, noise, k, sign=sign, entropy=entropy), k, ordered)
    return winners if ordered else np.sort(winners)  # [order]


def contenders(
    values: NDArray[Any] | Surveyed, scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy
) -> tuple[Racers, Floats, Floats]:
    """Return candidates whose k best are the k best of all, with bounds on their noisy advantages."""
    seen = values if isinstance(values, Surveyed) else None
    scores = Scores(seen.values if seen else np.ascontiguousarray(values), scale, sign)
    d = len(scores.values)
    if d <= short.MOST and seen is None:
        everybody = short.everybody(scores, noise, entropy)  # [short]
        if everybody is not None:
            return everybody
    blocks = d // BLOCK
    rows = scores.values[: blocks * BLOCK].reshape(blocks, BLOCK)
    groups = widened(seen.best[: blocks * GROUPS] if seen else _best_of(rows.reshape(-1), GROUP, sign))
    best = _best_of(groups, GROUPS, sign)  # [best]
    found = forecast(scores, noise, k, groups) if blocks >= max(FEWEST, k // MOST) else None
    scan = Scan(scores, k, table(noise), entropy, reference=found.mark[0] if found else scores.take([0])[0])
    if found is None or not race_forecast(scan, rows.reshape(-1), groups, best, *found):  # [forecast]
        scan.draw(np.arange(blocks * BLOCK, d))  # [remainder]
        _race_all_blocks(scan, rows, best)
    racers = Racers(scan.index, scan.prefix, scores, noise, scan.reference, entropy)
    return racers, scan.lower, scan.upper


def _best_of(values: NDArray[Any], size: int, sign: int) -> NDArray[Any]:
    """Return the best of each ``size`` successive values."""
    pick = np.maximum if sign > 0 else np.minimum
    starts = np.arange(0, len(values), size)
    return np.asarray(pick.reduceat(values, starts)) if len(starts) else values


def _race_all_blocks(scan: Scan, rows: NDArray[Any], best: NDArray[Any]) -> None:
    """Take all blocks into the race, the best first."""
    order = np.argsort(best, kind="stable")[:: -scan.scores.sign]  # [queue]
    done = 0
    while done < len(order):
        batch = order[done : done + min(max(_FIRST_BLOCKS, scan.k // BLOCK, 2 * done), _MOST_BLOCKS)]  # [batch]
        done += _race_blocks(scan, rows, best, batch)


def _race_blocks(scan: Scan, rows: NDArray[Any], best: NDArray[Any], batch: Indices) -> int:
    """Take the first blocks of ``batch``, whose scores reach equally far, into the race, and return their number."""
    levels = scan.levels(best[batch])
    warm = int(np.count_nonzero(levels < _DEEP[0]))  # [warm]
    if warm == 0:
        _skip(scan, batch, levels)
        return len(batch)
    batch, levels = batch[:warm], levels[:warm]
    values, least = widened(rows[batch]), max(int(levels.min()), 0)
    for level in _DEEP:
        near = scan.near(values, level)
        if _FEW * np.count_nonzero(near) <= near.size:
            _split(scan, batch, near, level, least)  # [deep-split]
            return warm
    if levels.min() >= LEVELS[0]:
        _skip(scan, batch, levels)  # [shallow-skip]
    else:
        _split(scan, batch, scan.near(values, LEVELS[0]), LEVELS[0], least)  # [shallow-split]
    return warm


def _skip(scan: Scan, batch: Indices, levels: Indices) -> None:
    """Take blocks whose uniforms all need this many leading ones: only candidates that have them enter."""
    position = survivors(levels, scan.entropy)
    scan.draw_tail(_index(batch, position), levels[position // BLOCK])  # [skip]


def _split(scan: Scan, batch: Indices, near: NDArray[np.bool_], level: int, least: int) -> None:
    """Take near candidates with ``least`` leading ones, and of the others those with ``level`` leading ones."""
    near = near.ravel()
    one_by_one = np.flatnonzero(near)
    if 2 * len(one_by_one) < near.size:
        position = survivors(np.full(len(batch), level), scan.entropy)
        position = position[~near[position]]  # [phantoms]
        scan.draw_tail(_index(batch, position), np.full(len(position), level))
        scan.draw(_index(batch, one_by_one), least)  # [near]
    else:
        scan.draw(_index(batch, np.arange(near.size)), least)  # [all]


def _index(batch: Indices, position: Indices) -> Indices:
    """Return the candidates at these positions of the concatenated blocks of ``batch``."""
    return batch[position // BLOCK] * BLOCK + position % BLOCK


# end-proof-region: race
