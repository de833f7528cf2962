"""Types of releases, and their conversion to JSON."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from ..errors.extras import import_extra
from ..markup import notebook

# Releases of several items: lists and named tuples with conversions to data frames and notebook tables.

if TYPE_CHECKING:
    from polars import DataFrame
else:
    DataFrame = Any  # so that type hints can be resolved without polars

Array = NDArray[Any]


class Items(list[Any]):
    """A list of released items: best first for a ranking, in the order of the candidates for a set."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        if not isinstance(items, Iterable) or getattr(items, "ndim", 1) == 0:
            raise ParameterTypeError(f"items must be a list or another iterable, not {type(items).__name__}")
        super().__init__(items)

    def to_frame(self) -> DataFrame:
        """Return a data frame with the column ``item``, in the order of the release (extra ``tables``)."""
        return _polars_frame({"item": self})

    def _repr_html_(self) -> str:
        return _html_table("Released items", {"item": self})


class SelectedCounts(NamedTuple):
    """The indices of the winners of a selection and a noisy score for each, in the same order."""

    indices: NDArray[np.int64]
    counts: Array

    def with_items(self, items: Items) -> CountedItems:
        """Return the same release with items in place of their indices."""
        return CountedItems(items, self.counts)

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``index`` and ``noisy_count`` (extra ``tables``)."""
        return _polars_frame({"index": self.indices, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _html_table("Released winners", {"index": self.indices, "noisy count": self.counts})


class CountedItems(NamedTuple):
    """The items that won a selection and a noisy score for each, in the same order."""

    items: Items
    counts: Array

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _polars_frame({"item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _html_table("Released items", {"item": self.items, "noisy count": self.counts})


class RankingWithGaps(NamedTuple):
    """The indices of the winners, best first, and the gap between each one's noisy score and the next one's.

    The last gap is between the last winner and the best candidate that did not win.
    """

    indices: NDArray[np.int64]
    gaps: NDArray[np.float64]

    def with_items(self, items: Items) -> ItemsWithGaps:
        """Return the same release with items in place of their indices."""
        return ItemsWithGaps(items, self.gaps)

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``rank``, ``index`` and ``noisy_lead`` (extra ``tables``)."""
        return _polars_frame({"rank": _rank_numbers(self.indices), "index": self.indices, "noisy_lead": self.gaps})

    def _repr_html_(self) -> str:
        columns = {"rank": _rank_numbers(self.indices), "index": self.indices, "noisy lead": self.gaps}
        return _html_table("Released ranking", columns)


class ItemsWithGaps(NamedTuple):
    """The items that won, best first, and the gap between each one's noisy score and the next one's.

    The last gap is between the last winner and the best candidate that did not win.
    """

    items: Items
    gaps: NDArray[np.float64]

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``rank``, ``item`` and ``noisy_lead`` (extra ``tables``)."""
        return _polars_frame({"rank": _rank_numbers(self.items), "item": self.items, "noisy_lead": self.gaps})

    def _repr_html_(self) -> str:
        return _html_table(
            "Released ranking", {"rank": _rank_numbers(self.items), "item": self.items, "noisy lead": self.gaps}
        )


class FoundItems(NamedTuple):
    """The items that were found, best first, and whether the release stopped before k were found."""

    items: tuple[Any, ...]
    stopped: bool

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``rank`` and ``item`` (extra ``tables``)."""
        return _polars_frame({"rank": _rank_numbers(self.items), "item": self.items})

    def _repr_html_(self) -> str:
        end = ", which stopped early" if self.stopped else ""
        return _html_table(f"Released ranking{end}", {"rank": _rank_numbers(self.items), "item": self.items})


class FoundItemsWithCounts(NamedTuple):
    """The items that were found, best first, noisy counts in the same order, and whether there are fewer than k."""

    items: tuple[Any, ...]
    counts: tuple[int, ...]
    stopped: bool

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``rank``, ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _polars_frame({"rank": _rank_numbers(self.items), "item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        columns = {"rank": _rank_numbers(self.items), "item": self.items, "noisy count": self.counts}
        return _html_table("Released ranking" + ", which stopped early" * self.stopped, columns)


class FoundCounts(NamedTuple):
    """The items that were found, in descending order of their noisy counts, and these counts in the same order."""

    items: tuple[Any, ...]
    counts: tuple[int, ...]

    def to_frame(self) -> DataFrame:
        """Return a data frame with the columns ``item`` and ``noisy_count`` (extra ``tables``)."""
        return _polars_frame({"item": self.items, "noisy_count": self.counts})

    def _repr_html_(self) -> str:
        return _html_table("Released items", {"item": self.items, "noisy count": self.counts})


def _rank_numbers(winners: Any) -> range:
    return range(1, len(winners) + 1)


def _html_table(title: str, columns: Mapping[str, Iterable[Any]]) -> str:
    return notebook.columns_table(title, {name: _python_values(values) for name, values in columns.items()})


def _polars_frame(columns: Mapping[str, Iterable[Any]]) -> DataFrame:
    """Return a polars data frame of these columns.

    Raises:
        MissingExtraError: polars is not installed (extra ``tables``).
    """
    polars = import_extra("polars", "to_frame() needs polars", "opendp_topk[tables]")
    frame: DataFrame = polars.DataFrame(
        {name: _python_values(values) for name, values in columns.items()}, strict=False
    )
    return frame


def _python_values(values: Iterable[Any]) -> list[Any]:
    """Return a list of the values; those of a NumPy array become Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


# Releases and parameters as values for ``json.dumps``.


def json_values(value: Any) -> Any:
    """Return a release, or the parameters of a measurement, as values that ``json.dumps`` accepts.

    Arrays and tuples become lists. Named tuples, and mappings with strings as keys, become dictionaries; another
    mapping becomes a list of pairs ``[key, value]``. Fractions and Decimals become strings, which are exact, and so do
    infinities and NaN, which JSON does not have. Dates and times are written in ISO 8601.

    Args:
        value: A release of a measurement, or :attr:`Measurement.parameters`.

    Returns:
        None, a bool, a number, a string, or lists and dictionaries of these.

    Raises:
        ParameterTypeError: ``value`` contains something else, such as a queryable.

    Example:
        >>> import json
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> exact = space >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=1, scale=0.0)
        >>> json.dumps(tk.json_values(exact([3, 9, 4])))
        '{"indices": [1], "gaps": [5.0]}'
    """
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.ndarray | np.generic):
        return json_values(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if hasattr(value, "_asdict"):
        return json_values(value._asdict())
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {str(key): json_values(one) for key, one in value.items()}
        return [[json_values(key), json_values(one)] for key, one in value.items()]
    if isinstance(value, list | tuple | range):
        return [json_values(one) for one in value]
    raise ParameterTypeError(
        f"value must be a release or parameters, and holds an object of type {type(value).__name__}"
    )
