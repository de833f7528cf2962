"""Cases of a sweep: a mechanism, a shape of scores, and three numbers from grids; neighbours differ by one step."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Case(NamedTuple):
    """Scores of a shape, ``size`` of them, and a release of ``winners`` of them at a scale."""

    mechanism: str
    shape: str
    size: int
    winners: int
    scale: float

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.shape}, d = {self.size}, k = {self.winners}, scale {self.scale:g}"


class Grid(NamedTuple):
    """The numbers that are tried, each in increasing order; its fields are named as those of a case."""

    size: tuple[int, ...]
    winners: tuple[int, ...]
    scale: tuple[float, ...]

    def cases(self, mechanisms: Iterable[str], shapes: Iterable[str]) -> Iterator[Case]:
        """All cases in which not all candidates win, those of few scores first."""
        for size, mechanism, shape, winners, scale in itertools.product(
            self.size, mechanisms, shapes, self.winners, self.scale
        ):
            if winners < size:
                yield Case(mechanism, shape, size, winners, scale)

    def neighbours(self, case: Case, *fields: str) -> Iterator[Case]:
        """The cases that differ in one of these numbers by one step."""
        for field in fields:
            grid, here = getattr(self, field), getattr(self, field).index(getattr(case, field))
            for there in (here - 1, here + 1):
                if 0 <= there < len(grid):
                    yield case._replace(**{field: grid[there]})
