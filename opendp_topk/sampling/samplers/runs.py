"""Runs of places in a ranking within which the order is open, and how bounds divide them, all runs in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...numerics.floatlog import Floats
from .entropy import Indices


# proof-region: runs
@dataclass(frozen=True, eq=False)
class Runs:
    """Disjoint runs in ascending order: run r holds the places ``starts[r], ..., ends[r] - 1``."""

    starts: Indices
    ends: Indices

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> Runs:
        return Runs(self.starts[chosen], self.ends[chosen])

    @property
    def lengths(self) -> Indices:
        """How many places each run has."""
        return self.ends - self.starts

    @property
    def numbers(self) -> Indices:
        """For each place of each run, which run it is in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def places(self) -> Indices:
        """All places, those of the first run first."""
        lengths = self.lengths
        before = np.cumsum(lengths) - lengths
        return np.asarray(np.arange(lengths.sum()) + np.repeat(self.starts - before, lengths))  # [places]


def opened(lower: Floats, upper: Floats) -> Runs:
    """The parts into which bounds divide the one run of all places; ``lower`` descends."""
    rest = np.maximum.accumulate(upper[::-1])[::-1]
    begins = np.ones(len(lower) + 1, dtype=np.bool_)
    np.greater(lower[:-1], rest[1:], out=begins[1:-1])  # [cut-of-all]
    bounds = begins.nonzero()[0]
    return Runs(bounds[:-1], bounds[1:])


def apart(number: Indices, lower: Floats, upper: Floats) -> bool:
    """Whether bounds of the racers of runs with these numbers leave nothing open within any; ``lower`` descends."""
    return bool(((lower[:-1] > upper[1:]) | (number[:-1] != number[1:])).all())  # [apart]


def divided(runs: Runs, lower: Floats, upper: Floats) -> tuple[Runs, Indices]:
    """The parts into which bounds divide ``runs``, and for each part the number of the run that it is of.

    ``lower`` and ``upper`` hold the bounds of the racers at ``runs.places``; within each run, ``lower`` descends. A
    run is cut where every racer before is certainly above every racer after.
    """
    number = runs.numbers
    ranked = np.empty(len(number), dtype=np.complex128)
    ranked.real, ranked.imag = -number, upper
    rest = np.maximum.accumulate(ranked[::-1])[::-1].imag  # [rest]
    begins = np.ones(len(number) + 1, dtype=np.bool_)
    np.logical_or(lower[:-1] > rest[1:], number[:-1] != number[1:], out=begins[1:-1])  # [cut]
    bounds = begins.nonzero()[0]
    first, after = bounds[:-1], bounds[1:]
    starts = runs.places[first]
    return Runs(starts, starts + (after - first)), number[first]  # [parts]


def decided(lower: Floats, upper: Floats, k: int, ordered: bool) -> bool:
    """Whether bounds of all racers, ``lower`` descending, leave nothing open of the k best, and of their order."""
    first = 0 if ordered else k - 1
    rest = np.maximum.accumulate(upper[:first:-1])[::-1]  # [rest-of-all]
    return bool((lower[first:k][: len(rest)] > rest[: k - first]).all())  # [decided]


def matter(parts: Runs, k: int, ordered: bool) -> NDArray[np.bool_]:
    """Which parts leave the k best open, or where ``ordered`` their order."""
    open_end: NDArray[np.bool_] = (parts.starts < k) & (parts.lengths > 1)  # [ranking]
    return open_end if ordered else np.logical_and(open_end, parts.ends > k)  # [set]


# end-proof-region: runs
