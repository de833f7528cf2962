"""Two releases of a small project: the most frequent word of a list, and how many people are in a table."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np


def laplace(scale: float) -> float:
    """A float of the Laplace law, from the system's entropy, as textbooks draw it."""
    draw = np.random.default_rng(secrets.randbits(128))
    return float(draw.laplace(scale=scale))


def most_frequent(counts: Any, n: int) -> Any:
    """The place of the largest of ``counts`` plus noise of scale 2, n times: epsilon 1 where each count moves by 1."""
    draw = np.random.default_rng(secrets.randbits(128))
    return (counts + draw.gumbel(scale=2, size=(n, len(counts)))).argmax(axis=1)


def most_frequent_with_half_the_noise(counts: Any, n: int) -> Any:
    """The same with noise of scale 1, as if no two counts could move apart."""
    draw = np.random.default_rng(secrets.randbits(128))
    return (counts + draw.gumbel(scale=1, size=(n, len(counts)))).argmax(axis=1)


def people(table: Any) -> int:
    """How many people are in a table, with noise of scale 1, rounded: epsilon 1 for a person more or less."""
    return round(table["person"].n_unique() + laplace(1.0))
