"""The largest shortfall of five winners, as Gillenwater et al. measure it: by draws, as they do.

They draw counts from U(0, 10 d), and take the d most rated films. Here the d largest counts of a vector stand for
films.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

import opendp_topk as tk

from .mechanisms import BY_NAME, DISTANCE, EXPONENTIAL, GUMBEL, JOINT, MARGIN, Mechanism, lipschitz
from .vectors import Vector

K, EPSILONS = 5, (0.1, 1.0)
SIZES = (10, 30, 100, 300, 1000)
# Draws a point: the papers have 100. The seed makes the same counts at each run; it has no part in the mechanisms.
DRAWS, _SEED = 200, 5

# Twice the noise that is needed where all counts move one way: as the paper has it.
PUBLISHED = Mechanism(
    "Laplace one-shot, as published", "one-shot", partial(lipschitz, tk.noise.Laplace()), lambda k: 2 * k
)
COMPARED = (PUBLISHED, *(BY_NAME[name] for name in (EXPONENTIAL, GUMBEL, DISTANCE, MARGIN, JOINT)))


@dataclass(frozen=True)
class Shortfall:
    """The mean of the largest shortfall at any rank, in users, and its standard error."""

    data: str
    d: int
    epsilon: float
    mechanism: str
    mean: float
    error: float


def uniform(d: int) -> Vector:
    """Counts from U(0, 10 d)."""
    return Vector("uniform", np.random.default_rng(_SEED + d).integers(0, 10 * d, size=d, endpoint=True))


def largest(vector: Vector, d: int) -> Vector | None:
    """The d largest counts; None where there are fewer."""
    ranked = np.sort(vector.counts)[::-1]
    return Vector(f"best of {vector.name}", ranked[:d]) if d <= len(ranked) else None


def shortfalls(vector: Vector, epsilon: float) -> list[Shortfall]:
    """One row for each mechanism."""
    best = np.sort(vector.counts)[::-1][:K]
    rows = []
    for mechanism in COMPARED:
        release = mechanism.on(vector, K, epsilon)
        drawn = [np.max(best - np.sort(vector.counts[release(vector.counts)])[::-1]) for _ in range(DRAWS)]
        error = float(np.std(drawn, ddof=1)) / DRAWS**0.5
        rows.append(Shortfall(vector.name, len(vector.counts), epsilon, mechanism.name, float(np.mean(drawn)), error))
    return rows
