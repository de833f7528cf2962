"""The exact top-k of noisy scores, by a lazy race.

Every candidate i owns a uniform U_i; its noisy score is x_i / scale + F^{-1}(U_i). Digits of U_i are drawn
only as far as the result depends on them. Candidates that cannot reach the k best are dropped on the way,
most of them without a single digit of their own: a block of scores that all lie far below the threshold is
represented by the few candidates whose uniforms begin with enough ones.

The result is distributed exactly as with real-valued noise. Nothing here knows of privacy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ...numerics.surveyed import GROUP, BlockMaxima
from ..noises.noise import Noise
from . import settle as short
from .advantages import ScaledScores, widen_scores
from .entropy import SYSTEM, Entropy, Indices
from .forecast import FEWEST, GROUPS, MOST, forecast_threshold, race_forecast
from .quantile_tables import quantile_table
from .scan import Scan
from .settle import Contenders, find_decided_winners, resolve_winners
from .upper_tail import BLOCK, LEVELS, draw_survivors

_FIRST_BLOCKS = 8  # few at first: the best blocks set the threshold by which the others are skipped
_MOST_BLOCKS = 512  # two million scores at a time, so that the memory for a batch stays small
_DEEP = (8, 6)  # levels tried first on scores far below: one in 256 of them enters, or one in 64
_FEW = 64  # at most one score in this many may be near, no more than enter at the lower of these levels


# proof-region: race
def top_k(
    values: NDArray[Any] | BlockMaxima,
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
    found = None
    if isinstance(values, np.ndarray) and len(values) <= short.FEW:
        few = short.bound_few_scores(values, scale, noise, sign, entropy)  # [few]
        decided = few and find_decided_winners(few.bounds, k, ordered)
        if decided:
            return np.array(decided if ordered else sorted(decided), dtype=np.int64)  # [few-decided]
        found = few and short.few_contenders(few, ScaledScores(values, scale, sign), noise, entropy)  # [few-open]
    with np.errstate(all="ignore"):  # [floating-point-state]
        found = found or find_contenders(values, scale, noise, k, sign=sign, entropy=entropy)
        winners = resolve_winners(*found, k, ordered)
    return winners if ordered else np.sort(winners)  # [order]


def find_contenders(
    values: NDArray[Any] | BlockMaxima, scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy
) -> tuple[Contenders, Floats, Floats]:
    """Return candidates whose k best are the k best of all, with bounds on their noisy advantages."""
    seen = values if isinstance(values, BlockMaxima) else None
    scores = ScaledScores(seen.values if seen else np.ascontiguousarray(values), scale, sign)
    d = len(scores.values)
    if d <= short.MOST and seen is None:
        everybody = short.all_contenders(scores, noise, k, entropy)  # [short]
        if everybody is not None:
            return everybody
    blocks = d // BLOCK
    rows = scores.values[: blocks * BLOCK].reshape(blocks, BLOCK)
    groups = widen_scores(seen.best[: blocks * GROUPS] if seen else _best_of(rows.reshape(-1), GROUP, sign))
    best = _best_of(groups, GROUPS, sign)  # [best]
    found = forecast_threshold(scores, noise, k, groups) if blocks >= max(FEWEST, k // MOST) else None
    scan = Scan(scores, k, quantile_table(noise), entropy, reference=found.mark[0] if found else scores.take([0])[0])
    if found is None or not race_forecast(scan, rows.reshape(-1), groups, best, *found):  # [forecast]
        scan.add_fresh_candidates(np.arange(blocks * BLOCK, d))  # [remainder]
        _race_all_blocks(scan, rows, best)
    racers = Contenders(scan.index, scan.prefix, scores, noise, scan.reference, entropy)
    return racers, scan.lower, scan.upper


def _best_of(values: NDArray[Any], size: int, sign: int) -> NDArray[Any]:
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
    levels = scan.required_levels(best[batch])
    warm = int(np.count_nonzero(levels < _DEEP[0]))  # [warm]
    if warm == 0:
        _race_tail_only(scan, batch, levels)
        return len(batch)
    batch, levels = batch[:warm], levels[:warm]
    values, least = widen_scores(rows[batch]), max(int(levels.min()), 0)
    for level in _DEEP:
        near = scan.may_reach(values, level)
        if _FEW * np.count_nonzero(near) <= near.size:
            _race_near_and_tail(scan, batch, near, level, least)  # [deep-split]
            return warm
    if levels.min() >= LEVELS[0]:
        _race_tail_only(scan, batch, levels)  # [shallow-skip]
    else:
        _race_near_and_tail(scan, batch, scan.may_reach(values, LEVELS[0]), LEVELS[0], least)  # [shallow-split]
    return warm


def _race_tail_only(scan: Scan, batch: Indices, levels: Indices) -> None:
    """Take blocks whose uniforms all need this many leading ones: only candidates that have them enter."""
    position = draw_survivors(levels, scan.entropy)
    scan.add_tail_candidates(_candidate_indices(batch, position), levels[position // BLOCK])  # [skip]


def _race_near_and_tail(scan: Scan, batch: Indices, near: NDArray[np.bool_], level: int, least: int) -> None:
    """Take near candidates with ``least`` leading ones, and of the others those with ``level`` leading ones."""
    near = near.ravel()
    one_by_one = np.flatnonzero(near)
    if 2 * len(one_by_one) < near.size:
        position = draw_survivors(np.full(len(batch), level), scan.entropy)
        position = position[~near[position]]  # [phantoms]
        scan.add_tail_candidates(_candidate_indices(batch, position), np.full(len(position), level))
        scan.add_fresh_candidates(_candidate_indices(batch, one_by_one), least)  # [near]
    else:
        scan.add_fresh_candidates(_candidate_indices(batch, np.arange(near.size)), least)  # [all]


def _candidate_indices(batch: Indices, position: Indices) -> Indices:
    """Return the candidates at these positions of the concatenated blocks of ``batch``."""
    return batch[position // BLOCK] * BLOCK + position % BLOCK


# end-proof-region: race
