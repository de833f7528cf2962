"""Twelve named cells of the tables, held against draws of the real samplers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import opendp_topk as tk

from .mechanisms import BY_NAME, DISTANCE, EXPONENTIAL, GUMBEL, JOINT, MARGIN
from .vectors import Vector

DRAWS = 10_000
ODDS = 1e-6  # that any of the twelve is refused although all formulas are right
# Each: mechanism, k, event. The epsilon is the one at which success and failure are about as likely.
NAMED = {
    "peeling-1": (GUMBEL, 1, "exact"),
    "peeling-10": (GUMBEL, 10, "exact"),
    "peeling-100-great": (GUMBEL, 100, "great"),
    "exponential-10": (EXPONENTIAL, 10, "exact"),
    "exponential-100-good": (EXPONENTIAL, 100, "good"),
    "laplace-10-good": ("Laplace one-shot", 10, "good"),
    "logistic-10": ("logistic one-shot", 10, "exact"),
    "canonical-distance-10": (DISTANCE, 10, "exact"),
    "canonical-margin-10-great": (MARGIN, 10, "great"),
    "canonical-margin-100": (MARGIN, 100, "exact"),
    "canonical-exponential-noise-10": ("canonical, margin, exponential noise", 10, "exact"),
    "joint-10": (JOINT, 10, "exact"),
}


@dataclass(frozen=True)
class Cell:
    """The formula's bounds on a probability, and how often the event happened in ``draws``."""

    name: str
    vector: str
    epsilon: float
    lower: float
    upper: float
    happened: int
    draws: int

    @property
    def agrees(self) -> bool:
        """By Chernoff's bound, in all cells together wrong with probability at most ``ODDS``."""
        seen = self.happened / self.draws
        nearest = min(max(seen, self.lower), self.upper)
        return self.draws * divergence(seen, nearest) <= math.log(2 * len(NAMED) / ODDS)


def divergence(seen: float, claimed: float) -> float:
    """Kullback and Leibler's divergence of two coins, in nats."""
    pairs = ((seen, claimed), (1 - seen, 1 - claimed))
    return sum(p * math.log(p / q) if q else math.inf for p, q in pairs if p)


def happened(counts: np.ndarray, winners: np.ndarray, k: int, event: str) -> bool:
    """The event from its words: the best are there, and nobody from beyond."""
    share, beyond = {"exact": (k, k), "great": (-(-k // 10), 11 * k // 10), "good": (-(-k // 100), 3 * k // 2)}[event]
    ranked = np.sort(counts)[::-1]
    won = np.sort(counts[winners])[::-1]
    sure, last = ranked[share - 1], ranked[min(beyond, len(ranked)) - 1]
    missed = np.sum(counts > sure) - np.sum(won > sure)
    enough = np.sum(won >= sure) >= share
    spare = beyond - np.sum(counts > last)
    return bool(missed == 0 and enough and won[-1] >= last and np.sum(won == last) <= spare)


def middle(vector: Vector, name: str) -> tuple[float, tk.audit.Enclosure]:
    """An epsilon at which success has a probability of about one half, and that probability."""
    mechanism, k, event = NAMED[name]
    low, high = 1e-8, 1e4
    for _ in range(16):
        epsilon = math.sqrt(low * high)
        found = BY_NAME[mechanism].chance(vector, k, epsilon, event)
        assert found is not None, "the named cells have formulas"
        low, high = (low, epsilon) if found.lower > 0.5 else (epsilon, high)
    return epsilon, found


def cell(vector: Vector, name: str, draws: int = DRAWS) -> Cell:
    """The formula and the draws."""
    mechanism, k, event = NAMED[name]
    epsilon, found = middle(vector, name)
    releases = tk.make_repeat(BY_NAME[mechanism].on(vector, k, epsilon), times=draws)(vector.counts)
    count = sum(happened(vector.counts, winners, k, event) for winners in np.reshape(releases, (draws, -1)))
    return Cell(name, vector.name, epsilon, found.lower, found.upper, count, draws)
