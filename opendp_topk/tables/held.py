"""Counts by key that an engine holds, which hands over the largest alone where no more are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any


# proof-region: held_counts
class HeldCounts(Mapping[Any, int]):
    """A mapping from keys to counts of at least 1 that lies elsewhere; as a mapping it is fetched whole, once.

    Args:
        best: For n the n keys of the largest counts, among equal counts the first in the public order of keys; fewer
            where there are fewer. For None all.
    """

    def __init__(self, best: Callable[[int | None], dict[Any, int]]) -> None:
        self.largest = best  # [largest]

    @cached_property
    def _all(self) -> dict[Any, int]:
        return self.largest(None)

    def __getitem__(self, key: Any) -> int:
        return self._all[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


# end-proof-region: held_counts
