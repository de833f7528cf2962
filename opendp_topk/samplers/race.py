"""The exact top-k of noisy scores, by a lazy race.

Every candidate i owns a uniform U_i; its noisy score is x_i / scale + F^{-1}(U_i). Digits of U_i are drawn
only as far as the result depends on them. Candidates that cannot reach the k best are dropped on the way,
most of them without a single digit of their own: a block of scores that all lie far below the threshold is
represented by the few candidates whose uniforms begin with enough ones.

The result is distributed exactly as with real-valued noise. Nothing here knows of privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..floatlog import Floats
from ..noise import Noise
from .advantages import Scores, extreme, noisy_bounds
from .entropy import SYSTEM, Entropy, Indices
from .settle import Racers, settle
from .skips import BLOCK, LEVELS, survivors
from .tables import DIGITS, Table, table

_WARM = 8
_COLD = 64
_FAR = 1024.0


# proof-region: race
def top_k(
    values: NDArray[Any],
    scale: Fraction,
    noise: Noise,
    k: int,
    *,
    sign: int,
    ordered: bool,
    entropy: Entropy = SYSTEM,
) -> Indices:
    """The indices of the k largest of ``sign * values / scale + noise``, with independent noise.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: The scale of the noise, > 0.
        noise: The distribution of the noise at scale 1.
        k: The number of winners, 1 <= k <= d.
        sign: +1 for the largest scores, -1 for the smallest.
        ordered: Best first if True; otherwise ascending indices.
        entropy: The source of digits.

    Returns:
        int64 array of shape (k,).
    """
    scores = Scores(np.ascontiguousarray(values), scale, sign)
    scan = _Scan(scores, k, table(noise), entropy, extreme(scores, scores.values))
    blocks = len(values) // BLOCK
    scan.draw(np.arange(blocks * BLOCK, len(values)))  # [remainder]
    if blocks:
        _scan_blocks(scan, scores.values[: blocks * BLOCK].reshape(blocks, BLOCK))
    racers = Racers(scan.index, scan.prefix, scores, noise, scan.reference, entropy)
    winners = settle(racers, scan.lower, scan.upper, k, ordered)
    return winners if ordered else np.sort(winners)  # [order]


def _scan_blocks(scan: _Scan, rows: NDArray[Any]) -> None:
    best = extreme(scan.scores, rows, axis=1)
    queue = np.argsort(best, kind="stable")[:: -scan.scores.sign]  # [queue]
    warm = max(_WARM, scan.k // BLOCK)
    while len(queue):
        levels = scan.levels(best[queue[: max(_COLD, warm)]])  # [block-level]
        if levels[0] < LEVELS[0]:
            taken = min(warm, int(np.argmax(np.append(levels, LEVELS[-1]) >= LEVELS[0])))
            _warm(scan, rows, queue[:taken])
        else:
            taken = len(levels)
            row, column = survivors(levels, scan.entropy)  # [skip]
            scan.keep_tail(queue[row] * BLOCK + column, levels[row])
        queue = queue[taken:]


def _warm(scan: _Scan, rows: NDArray[Any], blocks: Indices) -> None:
    """Draw the near candidates of these blocks one by one, and the others by their tails."""
    index = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    near = scan.levels(rows[blocks].ravel()) < LEVELS[0]
    if 2 * np.count_nonzero(near) >= len(near):
        scan.draw(index)
        return
    row, column = survivors(np.full(len(blocks), LEVELS[0]), scan.entropy)
    tail = row * BLOCK + column
    tail = tail[~near[tail]]  # [phantoms]
    scan.keep_tail(index[tail], np.full(len(tail), LEVELS[0]))
    scan.draw(index[near])


@dataclass
class _Scan:
    """The candidates that may still win, with bounds on their noisy advantages over a reference score."""

    scores: Scores
    k: int
    table: Table
    entropy: Entropy
    reference: Any
    threshold: float = -np.inf
    index: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    prefix: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, dtype=np.uint16))
    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))

    def levels(self, values: NDArray[Any]) -> Indices:
        """How many leading ones a uniform needs, at least, to lift each of these values to the threshold."""
        advantages = self.scores.advantages(values, self.reference)
        none = np.zeros(1)
        gap = noisy_bounds(self.threshold - np.maximum(advantages, -(2.0**1022)), none, none)[0]
        return np.searchsorted(self.table.tail, gap, side="right") - 1

    def draw(self, index: Indices) -> None:
        """Add candidates with fresh prefixes."""
        self._add(index, self.entropy.prefixes(index))

    def keep_tail(self, index: Indices, levels: Indices) -> None:
        """Add candidates whose uniforms begin with ``levels`` ones; the rest of their prefixes is fresh."""
        fresh = self.entropy.prefixes(index).astype(np.int64) >> levels
        ones = (1 << DIGITS) - (1 << (DIGITS - levels))
        self._add(index, (ones | fresh).astype(np.uint16))  # [conditional]

    def _add(self, index: Indices, prefix: NDArray[np.uint16]) -> None:
        self.index = np.concatenate([self.index, index])
        self.prefix = np.concatenate([self.prefix, prefix])
        lower, upper = self._bounds(index, prefix)
        self.lower = np.concatenate([self.lower, lower])
        self.upper = np.concatenate([self.upper, upper])
        self._drop()
        if len(self.index) >= self.k and not abs(self.threshold) <= _FAR:
            kth = np.argpartition(self.lower, len(self.lower) - self.k)[len(self.lower) - self.k]
            self.reference = self.scores.values[self.index[kth]]  # [rebase]
            self.lower, self.upper = self._bounds(self.index, self.prefix)
            self.threshold = -np.inf
            self._drop()

    def _bounds(self, index: Indices, prefix: NDArray[np.uint16]) -> tuple[Floats, Floats]:
        advantages = self.scores.advantages(self.scores.values[index], self.reference)
        return noisy_bounds(advantages, self.table.lower[prefix], self.table.upper[prefix])

    def _drop(self) -> None:
        """Raise the threshold to the k-th largest lower bound, and drop who cannot reach it."""
        if len(self.lower) < self.k:
            return
        rank = len(self.lower) - self.k
        self.threshold = max(self.threshold, float(np.partition(self.lower, rank)[rank]))  # [threshold]
        kept = self.upper >= self.threshold  # [drop]
        self.index, self.prefix = self.index[kept], self.prefix[kept]
        self.lower, self.upper = self.lower[kept], self.upper[kept]


# end-proof-region: race
