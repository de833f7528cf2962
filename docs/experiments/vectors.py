"""Vectors of counts: files of one's own, a folder of them, and Zipf's law."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import opendp_topk as tk

SUFFIXES = (".npy", ".csv", ".parquet")
# Shekelyan and Loukides, section 7.2.
ITEMS, TOTAL = 10_000, 1.5e8


@dataclass(frozen=True, eq=False)
class Vector:
    """Counts of users, one an item; one user moves each by at most one, and all in one direction."""

    name: str
    counts: NDArray[Any]

    @property
    def space(self) -> tuple[tk.VectorDomain, tk.LInfDistance]:
        """The domain and the metric of the counts."""
        kind = int if self.counts.dtype.kind in "iu" else float
        return tk.VectorDomain(tk.AtomDomain(kind), size=len(self.counts)), tk.LInfDistance(monotonic=True)

    def tied(self, k: int) -> bool:
        """Whether the k-th best and the next are equal."""
        ranked = np.sort(self.counts)[::-1]
        return bool(ranked[k - 1] == ranked[k])


def read(path: Path) -> Vector:
    """A ``.npy`` array, or the column ``count`` (or the only column) of a ``.csv`` or ``.parquet`` file.

    Raises:
        ValueError: The file has another kind, more columns, or holds no finite numbers.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path.name}: counts are read from {', '.join(SUFFIXES)}")
    counts = np.load(path) if path.suffix == ".npy" else _column(path)
    if counts.ndim != 1 or counts.dtype.kind not in "iuf" or not np.isfinite(counts).all():
        raise ValueError(f"{path.name}: must hold one finite number an item")
    return Vector(path.name.partition(".")[0].lower(), counts)


def _column(path: Path) -> NDArray[Any]:
    import polars as pl

    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    names = ["count"] if "count" in frame.columns else frame.columns
    if len(names) != 1:
        raise ValueError(f"{path.name}: name the column of counts 'count'")
    return frame[names[0]].to_numpy()


def folder(path: Path) -> list[Vector]:
    """All vectors of a folder."""
    return [read(file) for file in sorted(path.iterdir()) if file.suffix in SUFFIXES]


def zipf(exponent: float, d: int = ITEMS, total: float = TOTAL) -> Vector:
    """Counts proportional to rank^-exponent, which add up to ``total``."""
    shares = np.arange(1, d + 1, dtype=np.float64) ** -exponent
    return Vector(f"zipf-{exponent:g}", total * shares / shares.sum())
