"""Counts by key that lie elsewhere than in a mapping: those that an engine holds, and those in columns of a data frame.

Of 10^6 keys few are released, so that only these become Python objects.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import narwhals as nw

Sizes = NDArray[np.int64]


# proof-region: held_counts
class FetchedCounts(Mapping[Any, int]):
    """A mapping from keys to counts of at least 1 that lies elsewhere; as a mapping it is fetched whole, once."""

    @abstractmethod
    def fetch_counts(self) -> dict[Any, int]:
        """All keys and counts."""

    @cached_property
    def _fetched_counts(self) -> dict[Any, int]:
        return self.fetch_counts()

    def __getitem__(self, key: Any) -> int:
        return self._fetched_counts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fetched_counts)

    def __len__(self) -> int:
        return len(self._fetched_counts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._fetched_counts})"


class EngineCounts(FetchedCounts):
    """Counts that an engine holds, which hands over the largest alone where no more are asked for.

    Args:
        best: For n the n keys of the largest counts, among equal counts the first in the public order of keys; fewer
            where there are fewer. For None all.
    """

    def __init__(self, best: Callable[[int | None], dict[Any, int]]) -> None:
        self.largest = best  # [largest]

    def fetch_counts(self) -> dict[Any, int]:
        return self.largest(None)


class ColumnCounts(FetchedCounts):
    """Counts in memory, in a column beside one of distinct keys, none of which is null.

    Args:
        keys: A column of integers or of strings.
        sizes: As many counts, in the same order.
    """

    def __init__(self, keys: nw.Series[Any], sizes: Sizes) -> None:
        self._keys, self.sizes = keys, sizes

    def keys_at(self, places: Sizes) -> list[Any]:
        """The keys at these places, as Python integers or strings."""
        found: list[Any] = self._keys[places].to_list()  # [keys-at]
        return found

    def fetch_counts(self) -> dict[Any, int]:
        return dict(zip(self._keys.to_list(), self.sizes.tolist(), strict=True))  # [all-columns]

    def __len__(self) -> int:
        return len(self.sizes)


# end-proof-region: held_counts
