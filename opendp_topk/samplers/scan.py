"""The candidates that may still win, and a threshold below which nobody can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.floatlog import Floats
from .advantages import Scores, noisy_bounds
from .entropy import Entropy, Indices
from .quantile_tables import DIGITS, Table

Drawn = tuple[Indices, NDArray[np.uint16]]  # candidates, and the first digits of their uniforms

_FAR = 1024.0  # in units of the scale; so far from the reference, bounds with a relative error get wide


# proof-region: scan
@dataclass
class Scan:
    """Candidates with the first digits of their uniforms, and bounds on their noisy advantages.

    Invariant: at least ``k`` of the candidates given so far have noisy advantages >= ``threshold`` over
    ``reference`` (unless it is -inf), and every one of them that is not among ``index`` is beaten by ``k`` that are.
    """

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
        """How many leading ones a uniform needs, at least, to lift each of these scores to the threshold."""
        threshold = np.array([self.threshold])
        gap = noisy_bounds(-self.scores.advantages(values, self.reference), threshold, np.zeros(1))[0]  # [gap]
        return np.searchsorted(self.table.tail, gap, side="right") - 1  # [level]

    def near(self, values: NDArray[Any], level: int) -> NDArray[np.bool_]:
        """Which of these scores may reach the threshold though fewer than ``level`` ones lead the uniform."""
        return self.nearer(level)(values)

    def nearer(self, level: int) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
        """:meth:`near` for one level and the present threshold, for as many arrays of scores as are asked."""
        if not np.isfinite(self.threshold):
            return lambda values: np.ones(values.shape, dtype=np.bool_)
        bound = Fraction(self.threshold) - Fraction(float(self.table.tail[level]))
        return self.scores.exceeding(bound, self.reference)  # [near]

    def draw(self, index: Indices, level: int = 0) -> None:
        """Add candidates with fresh prefixes; those who have not ``level`` leading ones must be below the threshold."""
        self.add(self.fresh(index, level))

    def draw_tail(self, index: Indices, levels: Indices) -> None:
        """Add candidates whose uniforms begin with ``levels`` ones; the rest of their prefixes is fresh."""
        self.add(self.tail(index, levels))

    def fresh(self, index: Indices, level: int) -> Drawn:
        """Those of ``index`` whose fresh prefixes begin with ``level`` ones, and their prefixes."""
        prefix = self.entropy.prefixes(index)
        if level > 0:
            able = prefix >= np.uint16((1 << DIGITS) - (1 << (DIGITS - level)))  # [able]
            index, prefix = index[able], prefix[able]
        return index, prefix

    def tail(self, index: Indices, levels: Indices) -> Drawn:
        """``index``, whose uniforms begin with ``levels`` ones, and their prefixes."""
        fresh = self.entropy.prefixes(index).astype(np.int64) >> levels
        ones = (1 << DIGITS) - (1 << (DIGITS - levels))
        return index, (ones | fresh).astype(np.uint16)  # [conditional]

    def add(self, *drawn: Drawn) -> None:
        """Add candidates with the prefixes that were drawn for them."""
        index, prefix = (np.concatenate(part) if len(part) > 1 else part[0] for part in zip(*drawn, strict=True))
        lower, upper = self._bounds(index, prefix)
        kept = upper >= self.threshold  # [drop-early]
        self.index = np.concatenate([self.index, index[kept]])
        self.prefix = np.concatenate([self.prefix, prefix[kept]])
        self.lower = np.concatenate([self.lower, lower[kept]])
        self.upper = np.concatenate([self.upper, upper[kept]])
        if len(self.index) < self.k:
            return
        self._drop()
        if not abs(self.threshold) <= _FAR:
            rank = len(self.lower) - self.k
            leader = self.index[np.argpartition(self.lower, rank)[rank]]
            self.reference = self.scores.take([leader])[0]  # [rebase]
            self.lower, self.upper = self._bounds(self.index, self.prefix)
            self.threshold = -np.inf
            self._drop()

    def _bounds(self, index: Indices, prefix: NDArray[np.uint16]) -> tuple[Floats, Floats]:
        advantages = self.scores.advantages(self.scores.take(index), self.reference)
        return noisy_bounds(advantages, self.table.lower[prefix], self.table.upper[prefix])

    def _drop(self) -> None:
        rank = len(self.lower) - self.k
        self.threshold = max(self.threshold, float(np.partition(self.lower, rank)[rank]))  # [threshold]
        kept = self.upper >= self.threshold  # [drop]
        self.index, self.prefix = self.index[kept], self.prefix[kept]
        self.lower, self.upper = self.lower[kept], self.upper[kept]


# end-proof-region: scan
