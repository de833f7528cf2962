"""The candidates that may still win, and a threshold below which no candidate can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.floats import Floats
from .advantages import ScaledScores, noisy_bounds, noisy_lower, noisy_upper
from .entropy import Entropy, Indices
from .quantile_tables import DIGITS, QuantileTable

Mark = tuple[Any, float]  # a score, and a noisy advantage over it
Drawn = tuple[Indices, NDArray[np.uint16]]  # candidates, and the first digits of their uniforms

_FAR = 1024.0  # in units of the scale; this far from the reference, bounds with a relative error get wide


# proof-region: scan
@dataclass
class Scan:
    """Candidates with the first digits of their uniforms, and bounds on their noisy advantages.

    Invariant: at least ``k`` of the candidates given so far have noisy advantages >= ``threshold`` over
    ``reference`` (unless it is -inf), and every one of them that is not among ``index`` is beaten by ``k`` that are.
    """

    scores: ScaledScores
    k: int
    table: QuantileTable
    entropy: Entropy
    reference: Any
    threshold: float = -np.inf
    index: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    prefix: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, dtype=np.uint16))
    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))

    def required_levels(self, values: NDArray[Any], mark: Mark | None = None) -> Indices:
        """Return the least number of leading ones a uniform needs to lift a score to the threshold, or ``mark``."""
        reference, threshold = mark or (self.reference, self.threshold)
        gap = noisy_lower(-self.scores.approximate_advantages(values, reference), np.array([threshold]))  # [gap]
        return np.searchsorted(self.table.tail, gap, side="right") - 1  # [level]

    def may_reach(self, values: NDArray[Any], level: int, mark: Mark | None = None) -> NDArray[np.bool_]:
        """Return which of these scores may reach the threshold, or ``mark``, with fewer than ``level`` leading ones."""
        return self.reach_test(level, mark)(values)

    def reach_test(self, level: int, mark: Mark | None = None) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
        """Return :meth:`may_reach` for one level and the present threshold, as a function of the scores."""
        reference, threshold = mark or (self.reference, self.threshold)
        if not np.isfinite(threshold):
            return lambda values: np.ones(values.shape, dtype=np.bool_)
        bound = mpq(threshold) - mpq(float(self.table.tail[level]))
        return self.scores.exceedance_test(bound, reference)  # [near]

    def has_reached(self, mark: Mark) -> bool:
        """Return whether the threshold is at or above ``mark``."""
        if self.reference == mark[0]:
            return self.threshold >= mark[1]  # [reached-at-once]
        ahead = self.scores.approximate_advantages(
            np.array([self.reference], dtype=self.scores.take([]).dtype), mark[0]
        )
        return bool(noisy_lower(ahead, np.array([self.threshold]))[0] >= mark[1])  # [reached]

    def add_fresh_candidates(self, index: Indices, level: int = 0) -> None:
        """Add candidates with fresh prefixes; those without ``level`` leading ones must be below the threshold."""
        drawn = self.draw_fresh_prefixes(index)
        self.add_drawn(select_drawn(drawn, has_leading_ones(drawn, level)) if level else drawn)

    def add_tail_candidates(self, index: Indices, levels: Indices) -> None:
        """Add candidates whose uniforms begin with ``levels`` ones; the rest of their prefixes is fresh."""
        self.add_drawn(self.draw_tail_prefixes(index, levels))

    def draw_fresh_prefixes(self, index: Indices) -> Drawn:
        return index, self.entropy.draw_prefixes(index)

    def draw_tail_prefixes(self, index: Indices, levels: Indices) -> Drawn:
        """Return ``index``, whose uniforms begin with ``levels`` ones, with prefixes."""
        fresh = self.entropy.draw_prefixes(index).astype(np.int64) >> levels
        return index, (_least_prefix(levels) | fresh).astype(np.uint16)  # [conditional]

    def draw_body_prefixes(self, index: Indices, levels: Indices) -> Drawn:
        """Return ``index``, whose uniforms do not begin with ``levels`` ones, with prefixes."""
        prefix = np.zeros(len(index), dtype=np.uint16)
        left = np.arange(len(index))
        while len(left):
            prefix[left] = self.entropy.draw_prefixes(index[left])
            left = left[prefix[left] >= _least_prefix(levels[left])]  # [rejected]
        return index, prefix

    def add_reaching(self, drawn: Drawn, reach: float) -> NDArray[np.bool_]:
        """Add candidates that may have a noisy advantage of ``reach`` over the reference, and return their mask."""
        index, prefix = drawn
        prefix_places = prefix.astype(np.intp)
        ahead = self.scores.approximate_advantages(self.scores.take(index), self.reference)
        upper = noisy_upper(ahead, self.table.upper[prefix_places])
        those = upper >= reach  # [may-reach]
        at = those.nonzero()[0]
        lower = noisy_lower(ahead[at], self.table.lower[prefix_places[at]])
        self._enter_race(index[at], prefix[at], lower, upper[at])
        return those

    def add_drawn(self, drawn: Drawn) -> None:
        """Add candidates with the prefixes that were drawn for them."""
        self._enter_race(*drawn, *self._noisy_bounds(*drawn))

    def _enter_race(self, index: Indices, prefix: NDArray[np.uint16], lower: Floats, upper: Floats) -> None:
        kept = upper >= self.threshold  # [drop-early]
        self.index = np.concatenate([self.index, index[kept]])
        self.prefix = np.concatenate([self.prefix, prefix[kept]])
        self.lower = np.concatenate([self.lower, lower[kept]])
        self.upper = np.concatenate([self.upper, upper[kept]])
        if len(self.index) < self.k:
            return
        self._drop_beaten()
        if not abs(self.threshold) <= _FAR:
            rank = len(self.lower) - self.k
            leads = self.lower == np.partition(self.lower, rank)[rank]
            leader = self.index[leads.argmax()]  # the first of equal ones
            self.reference = self.scores.take([leader])[0]  # [rebase]
            self.lower, self.upper = self._noisy_bounds(self.index, self.prefix)
            self.threshold = -np.inf
            self._drop_beaten()

    def _noisy_bounds(self, index: Indices, prefix: NDArray[np.uint16]) -> tuple[Floats, Floats]:
        advantages = self.scores.approximate_advantages(self.scores.take(index), self.reference)
        places = prefix.astype(np.intp)  # once for both
        return noisy_bounds(advantages, self.table.lower[places], self.table.upper[places])

    def _drop_beaten(self) -> None:
        rank = len(self.lower) - self.k
        self.threshold = max(self.threshold, float(np.partition(self.lower, rank)[rank]))  # [threshold]
        kept = self.upper >= self.threshold  # [drop]
        self.index, self.prefix = self.index[kept], self.prefix[kept]
        self.lower, self.upper = self.lower[kept], self.upper[kept]


def has_leading_ones(drawn: Drawn, level: int) -> NDArray[np.bool_]:
    """Return which of ``drawn`` have prefixes that begin with ``level`` ones."""
    return np.asarray(drawn[1] >= _least_prefix(level))  # [able]


def select_drawn(drawn: Drawn, those: NDArray[np.bool_]) -> Drawn:
    """Return those of ``drawn`` in the mask, with their prefixes."""
    places = those.nonzero()[0]  # once for both, and without a branch for each
    return drawn[0][places], drawn[1][places]


def concatenate_drawn(parts: Sequence[Drawn]) -> Drawn:
    """Return the candidates of several parts, one after the other."""
    return np.concatenate([index for index, _ in parts]), np.concatenate([prefix for _, prefix in parts])


def _least_prefix(level: Any) -> Any:
    """Return the least prefix that begins with this many ones."""
    return (1 << DIGITS) - (1 << (DIGITS - level))  # [ones]


# end-proof-region: scan
