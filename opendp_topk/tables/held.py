"""Counts by key that are fetched only when needed: from an engine, or from columns of a data frame.

Of 10^6 keys only few are released, so only these become Python objects.
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
    """Mapping from keys to nonzero counts or sums that are stored elsewhere. Use as a mapping fetches all, once."""

    @abstractmethod
    def fetch_counts(self) -> dict[Any, int]:
        """Return all keys and counts."""

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
    """Counts in an engine, which can return only the largest of them.

    Args:
        best: Function that returns, for n, the n keys with the largest counts, or fewer if there are fewer. Ties are
            broken by the public order of keys. For None it returns all.
    """

    def __init__(self, best: Callable[[int | None], dict[Any, int]]) -> None:
        self.largest = best  # [largest]

    def fetch_counts(self) -> dict[Any, int]:
        return self.largest(None)


class ColumnCounts(FetchedCounts):
    """Counts ``sizes`` in memory, in the order of ``keys``, a column of distinct, non-null integers or strings."""

    def __init__(self, keys: nw.Series[Any], sizes: Sizes) -> None:
        self._keys, self.sizes = keys, sizes

    def keys_at(self, places: Sizes) -> list[Any]:
        """Return the keys at these indices, as Python integers or strings."""
        found: list[Any] = self._keys[places].to_list()  # [keys-at]
        return found

    def fetch_counts(self) -> dict[Any, int]:
        return dict(zip(self._keys.to_list(), self.sizes.tolist(), strict=True))  # [all-columns]

    def __len__(self) -> int:
        return len(self.sizes)


# end-proof-region: held_counts
