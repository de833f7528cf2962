"""What releases of several items are: lists and named tuples that say what they hold, also in frames and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from ..errors.extras import load
from ..markup import notebook

if TYPE_CHECKING:
    from polars import DataFrame
else:
    DataFrame = Any  # for those who ask for type hints where polars is not installed

Array = NDArray[Any]


class Items(list[Any]):
    """Released items: of a ranking best first, of a set in the order of the candidates. It is a list."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        if not isinstance(items, Iterable) or getattr(items, "ndim", 1) == 0:
            raise ParameterTypeError(f"items must be a list or another iterable, not {type(items).__name__}")
        super().__init__(items)

    def to_frame(self) -> DataFrame:
        """A data frame with the column ``item``, in the order of the release (extra ``tables``)."""
        return _frame({"item": self})

    def _repr_html_(self) -> str:
        return _shown("Released items", {"item": self})


class SelectedCounts(NamedTuple):
    """The indices of the winners of a selection and a noisy score of each, in the same order."""

    indices: NDArray[np.int64]
    counts: Array

    def with_items(self, items: Items) -> CountedItems:
        """The same with the items in the place of their indices."""
        return CountedItems(items, self.counts)

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``index`` and ``noisy_count`` (extra ``tables``)."""
        return _frame({"index": self.indices, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _shown("Released winners", {"index": self.indices, "noisy count": self.counts})


class CountedItems(NamedTuple):
    """The items that won a selection and a noisy score of each, in the same order."""

    items: Items
    counts: Array

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _frame({"item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _shown("Released items", {"item": self.items, "noisy count": self.counts})


class RankingWithGaps(NamedTuple):
    """The indices of the winners, best first, and how far each one's noisy score is ahead of the next one's.

    The last gap is the distance from the last winner to the best of those that did not win.
    """

    indices: NDArray[np.int64]
    gaps: NDArray[np.float64]

    def with_items(self, items: Items) -> ItemsWithGaps:
        """The same with the items in the place of their indices."""
        return ItemsWithGaps(items, self.gaps)

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``rank``, ``index`` and ``noisy_lead`` (extra ``tables``)."""
        return _frame({"rank": _ranks(self.indices), "index": self.indices, "noisy_lead": self.gaps})

    def _repr_html_(self) -> str:
        columns = {"rank": _ranks(self.indices), "index": self.indices, "noisy lead": self.gaps}
        return _shown("Released ranking", columns)


class ItemsWithGaps(NamedTuple):
    """The items that won, best first, and how far each one's noisy score is ahead of the next one's.

    The last gap is the distance from the last winner to the best of those that did not win.
    """

    items: Items
    gaps: NDArray[np.float64]

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``rank``, ``item`` and ``noisy_lead`` (extra ``tables``)."""
        return _frame({"rank": _ranks(self.items), "item": self.items, "noisy_lead": self.gaps})

    def _repr_html_(self) -> str:
        return _shown("Released ranking", {"rank": _ranks(self.items), "item": self.items, "noisy lead": self.gaps})


class FoundItems(NamedTuple):
    """The items that were found, best first, and whether the release stopped before there were k."""

    items: tuple[Any, ...]
    stopped: bool

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``rank`` and ``item`` (extra ``tables``)."""
        return _frame({"rank": _ranks(self.items), "item": self.items})

    def _repr_html_(self) -> str:
        end = ", which stopped early" if self.stopped else ""
        return _shown(f"Released ranking{end}", {"rank": _ranks(self.items), "item": self.items})


class FoundItemsWithCounts(NamedTuple):
    """The items that were found, best first, noisy counts in the same order, and whether there are fewer than k."""

    items: tuple[Any, ...]
    counts: tuple[int, ...]
    stopped: bool

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``rank``, ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _frame({"rank": _ranks(self.items), "item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        columns = {"rank": _ranks(self.items), "item": self.items, "noisy count": self.counts}
        return _shown("Released ranking" + ", which stopped early" * self.stopped, columns)


class FoundCounts(NamedTuple):
    """The items that were found, the largest noisy count first, and these counts in the same order."""

    items: tuple[Any, ...]
    counts: tuple[int, ...]

    def to_frame(self) -> DataFrame:
        """A data frame with the columns ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _frame({"item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _shown("Released items", {"item": self.items, "noisy count": self.counts})


def _ranks(winners: Any) -> range:
    return range(1, len(winners) + 1)


def _shown(title: str, columns: Mapping[str, Iterable[Any]]) -> str:
    return notebook.grid(title, {name: _listed(values) for name, values in columns.items()})


def _frame(columns: Mapping[str, Iterable[Any]]) -> DataFrame:
    """A polars data frame of these columns.

    Raises:
        MissingExtraError: polars is not installed (extra ``tables``).
    """
    polars = load("polars", "to_frame() needs polars", "opendp_topk[tables]")
    frame: DataFrame = polars.DataFrame({name: _listed(values) for name, values in columns.items()}, strict=False)
    return frame


def _listed(values: Iterable[Any]) -> list[Any]:
    """The values as Python's own: those of an array are no longer NumPy's."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
