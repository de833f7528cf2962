"""From noisy counts of all candidates to those that matter: the largest, or all from a threshold on."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataLengthError, DataTypeError, ParameterError, SpaceError, checks
from ..errors.checks import Number
from .candidates import public_items
from .releases import CountedItems, Items, SelectedCounts

Counts = NDArray[Any]


@dataclass(frozen=True)
class BestCounts:
    """Post-processing of noisy counts: the ``k`` largest, or all from ``threshold`` on.

    They come in falling order, equal ones in that of the candidates.
    """

    items: tuple[Any, ...] | None
    k: int | None = None
    threshold: Number | None = None

    def __call__(self, counts: Counts) -> SelectedCounts | CountedItems:
        is_array = isinstance(counts, np.ndarray) and counts.ndim == 1 and counts.dtype.kind in "iufO"
        if not is_array or (counts.dtype.kind == "O" and not all(map(checks.is_real, counts.tolist()))):
            raise DataTypeError("counts must be a one-dimensional array of numbers, as a measurement releases them")
        self.require(len(counts), DataLengthError)
        some = np.arange(len(counts)) if self.threshold is None else np.flatnonzero(counts >= self.threshold)
        falling = len(some) - 1 - np.argsort(counts[some][::-1], kind="stable")[::-1]
        indices = some[falling][: self.k]
        best = SelectedCounts(indices, counts[indices])
        return best if self.items is None else best.with_items(Items(self.items[index] for index in indices))

    def require(self, size: int, error: type[Exception]) -> None:
        if self.items is not None and len(self.items) != size:
            raise error(f"items must be as many as the counts ({size}), and are {len(self.items)}")
        if self.k is not None and self.k > size:
            raise error(f"there must be at least k ({self.k}) counts, and there are {size}")

    def released_after(self, released: Any, size: int | None) -> Any:
        if released != Counts:
            raise SpaceError(
                "largest_counts and counts_from must follow a measurement that releases an array of all noisy counts, "
                "as make_noisy_histogram does: leave them out after another"
            )
        if size is not None:
            self.require(size, SpaceError)
        return SelectedCounts if self.items is None else CountedItems

    def __repr__(self) -> str:
        return f"counts_from({self.threshold})" if self.k is None else f"largest_counts({self.k})"


def largest_counts(k: int, items: Iterable[Hashable] | None = None) -> BestCounts:
    """The ``k`` largest of noisy counts, with these counts: ``histogram >> largest_counts(k, items)``.

    It sees what was released and nothing else, so it costs nothing: winners, their order and their counts together.

    Args:
        k: How many, at least 1, at most as many as there are counts.
        items: The public candidates in the order of the counts; without them their indices are given.

    Returns:
        A function of an array of counts: a :class:`CountedItems`, or a :class:`SelectedCounts` without ``items``, the
        largest count first, equal ones in the order of the candidates.

    Raises:
        ParameterError: ``k`` is below 1.
        CandidatesError: ``items`` is empty, repeats an item, or holds an unhashable one.

        After ``>>``: SpaceError if the measurement is known to release no array of all counts, or another number of
        them. On a release: DataLengthError if there are fewer than k counts, or not as many as items.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import numpy as np
        >>> import opendp_topk as tk
        >>> tk.largest_counts(2, ["ash", "birch", "cedar"])(np.array([7, -2, 9]))
        CountedItems(items=['cedar', 'ash'], counts=array([9, 7]))
    """
    return BestCounts(_public(items), k=checks.count("k", k))


def counts_from(threshold: Number, items: Iterable[Hashable] | None = None) -> BestCounts:
    """All noisy counts that reach ``threshold``: ``histogram >> counts_from(threshold, items)``.

    Args:
        threshold: A number, which is public; a count that is equal to it is kept.
        items: As in :func:`largest_counts`.

    Returns:
        A function as that of :func:`largest_counts`.

    Raises:
        ParameterError: ``threshold`` is NaN or no number.
        CandidatesError: As in :func:`largest_counts`.

        After ``>>``, and on a release: as in :func:`largest_counts`.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import numpy as np
        >>> import opendp_topk as tk
        >>> tk.counts_from(5, ["ash", "birch", "cedar"])(np.array([7, -2, 9])).items
        ['cedar', 'ash']
    """
    number = checks.plain(threshold) if checks.is_real(threshold) else math.nan
    if number != number:
        raise ParameterError("threshold must be a number")
    return BestCounts(_public(items), threshold=number)


def _public(items: Iterable[Hashable] | None) -> tuple[Any, ...] | None:
    return None if items is None else public_items(items)
