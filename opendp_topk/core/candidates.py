"""From released indices back to the caller's public items."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Hashable, Iterable, Sequence, Set, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CandidatesError, DataError, SpaceError, checks
from .following import returned
from .releases import Items

_MOST = 2**24  # items of an iterator, which does not tell whether it ends


def is_iterable(value: Any) -> bool:
    """Whether one can go through ``value``; an array without a dimension only looks as if."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def public_items(items: Iterable[Hashable], name: str = "items") -> tuple[Any, ...]:
    """``items`` as a tuple of distinct hashable values; arrays of pyarrow are taken for their values.

    Raises:
        CandidatesError: ``items`` is empty, is a set, a single string, a data frame or an open file, repeats an item,
            holds an unhashable one, or two texts that differ by outer blanks or Unicode normalisation alone.
    """
    if isinstance(items, str | bytes | Set) or not is_iterable(items):
        raise CandidatesError(f"{name} must be a list of the public candidates in order, not {type(items).__name__}")
    if hasattr(items, "columns") or hasattr(items, "readline"):  # they give names of columns, and lines with their ends
        column = 'frame["book"].to_list()' if hasattr(items, "columns") else "file.read().splitlines()"
        raise CandidatesError(
            f"{name} must be a list of the public candidates, not {type(items).__name__}: give {column}"
        )
    values = items.to_pylist() if hasattr(items, "to_pylist") else items
    is_sized = isinstance(values, Sized)
    listed = tuple(values if is_sized else itertools.islice(values, _MOST + 1))
    if len(listed) > _MOST and not is_sized:
        raise CandidatesError(f"{name} must be a list where there are more than {_MOST:,}: an iterator may have no end")
    if not listed:
        raise CandidatesError(f"{name} must hold at least one candidate")
    try:
        distinct = len(set(listed))
    except TypeError:
        distinct = 0
    if distinct == 0:
        raise CandidatesError(f"{name} must hold hashable values, such as strings or integers")
    if distinct != len(listed):
        raise CandidatesError(f"{name} must be distinct: remove the repeated candidates")
    _require_apart(listed, name)
    return listed


def _require_apart(listed: tuple[Any, ...], name: str) -> None:
    """Raise where two texts look the same: they differ by outer blanks, or by how Unicode writes a character."""
    seen: dict[str, int] = {}
    for number, item in enumerate(listed, start=1):
        if isinstance(item, str):
            before = seen.setdefault(unicodedata.normalize("NFC", item).strip(), number)
            if before != number:
                raise CandidatesError(
                    f"{name} must differ by more than outer blanks or the Unicode form of their characters: candidates "
                    f"{before} and {number} do not"
                )


# proof-region: index_candidates
@dataclass(frozen=True)
class IndexCandidates:
    """Post-processing that turns indices into items: the right side of ``measurement >> index_candidates()``.

    Called with an array of indices it gives a list of items in the same order, with one index one item. A named tuple
    with a field ``indices`` says by ``with_items`` what it becomes with these items, or gets them in this field; its
    other fields stay. After it a measurement accepts only inputs with one
    score an item, so that no index can be out of range. Without items it names nothing before a chain has given it
    those that were counted.
    """

    items: Sequence[Any] | None

    def __call__(self, release: Any) -> Any:
        if self.items is None:
            raise SpaceError("index_candidates() must follow a measurement that knows its candidates: give items here")
        if hasattr(release, "with_items"):
            return release.with_items(self(release.indices))  # [named]
        if hasattr(release, "_replace"):
            return release._replace(indices=self(release.indices))  # [field]
        if isinstance(release, list | tuple) or (isinstance(release, np.ndarray) and release.ndim):
            return Items(self._item(index) for index in release)  # [items]
        return self._item(release)  # [item]

    def _item(self, index: Any) -> Any:
        items = self.items or ()
        if not checks.is_integer(index) or not 0 <= index < len(items):
            raise DataError("index_candidates must be called with indices of its items, as a measurement releases them")
        return items[index]

    def released_after(self, released: Any, _: int | None) -> Any:
        if hasattr(released, "with_items"):
            return returned(released.with_items)
        if released not in (NDArray[np.int64], int) and "indices" not in getattr(released, "_fields", ()):
            raise SpaceError(
                "index_candidates must follow a measurement that releases indices: leave it out where releases hold "
                "items or numbers"
            )
        return Items

    def __repr__(self) -> str:
        return "index_candidates()" if self.items is None else f"index_candidates(<{len(self.items)} items>)"


# end-proof-region: index_candidates


def index_candidates(items: Iterable[Hashable] | None = None) -> IndexCandidates:
    """Release public items instead of their indices: ``measurement >> index_candidates()``.

    Args:
        items: The candidates in the order of their scores, distinct and hashable. They must be public: a list
            taken from the private data would itself reveal who is in it. By default those whose scores a
            transformation made, as ``make_count_by_item(candidates=...)`` did; another list is refused there. To call
            winners by other names, post-process the items.

    Returns:
        A function from indices to a list of items (from one index to one item); in a named tuple it turns the field
        ``indices`` and leaves the others. It is post-processing, so the privacy map stays as it is.

    Raises:
        CandidatesError: ``items`` is empty, repeats an item, or holds an unhashable one.

        After ``>>``: SpaceError if the measurement scores another number of candidates or other candidates, does not
        know them and there are no items, or is known to release no indices.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> exact = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=0.0)
        >>> (exact >> tk.index_candidates(["ash", "birch", "cedar"]))([4, 9, 6])
        ['birch', 'cedar']
    """
    return IndexCandidates(None if items is None else public_items(items))
