"""Public lists of candidates: items in place of indices, remarks on lists, and post-processing of noisy counts."""

from __future__ import annotations

import itertools
import math
import operator
import unicodedata
from collections.abc import Hashable, Iterable, Sequence, Set, Sized
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataTypeError, ParameterError, SpaceError, checks
from ..errors.checks import Number
from .releases import Release, annotated_fields

# From released indices to the caller's public items.

_MOST = 2**24  # items that are read from an iterator, which may be endless


def is_iterable(value: Any) -> bool:
    """Return True if ``value`` can be iterated over; arrays without dimensions only look iterable."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def public_items(items: Iterable[Hashable], name: str = "items") -> tuple[Any, ...]:
    """Return ``items`` as a tuple of distinct hashable values; a pyarrow array gives Python values."""
    if isinstance(items, str | bytes | Set) or not is_iterable(items):
        raise ParameterError(f"{name} must be a list of the public candidates in order, not {type(items).__name__}")
    if hasattr(items, "columns") or hasattr(items, "readline"):  # they yield column names, or lines with line breaks
        column = 'frame["book"].to_list()' if hasattr(items, "columns") else "file.read().splitlines()"
        raise ParameterError(
            f"{name} must be a list of the public candidates, not {type(items).__name__}: give {column}"
        )
    values = items.to_pylist() if hasattr(items, "to_pylist") else items
    is_sized = isinstance(values, Sized)
    listed = tuple(values if is_sized else itertools.islice(values, _MOST + 1))
    if len(listed) > _MOST and not is_sized:
        raise ParameterError(f"{name} must be a list if there are more than {_MOST:,}: an iterator may be infinite")
    if not listed:
        raise ParameterError(f"{name} must contain at least one candidate")
    try:
        distinct = len(set(listed))
    except TypeError:
        distinct = 0
    if distinct == 0:
        raise ParameterError(f"{name} must contain hashable values, such as strings or integers")
    if distinct != len(listed):
        raise ParameterError(f"{name} must be distinct: remove the repeated candidates")
    _require_distinguishable(listed, name)
    return listed


def _require_distinguishable(listed: tuple[Any, ...], name: str) -> None:
    """Raise ParameterError if two strings look the same: they differ only by outer blanks or by their Unicode form."""
    seen: dict[str, int] = {}
    for number, item in enumerate(listed, start=1):
        if isinstance(item, str):
            before = seen.setdefault(unicodedata.normalize("NFC", item).strip(), number)
            if before != number:
                raise ParameterError(
                    f"{name} must differ by more than leading or trailing blanks or Unicode form: candidates "
                    f"{before} and {number} do not"
                )


# proof-region: identifiers
def parse_candidates(candidates: Iterable[Hashable]) -> Sequence[int] | Sequence[str]:
    """Return the checked candidates; a ``range`` of consecutive integers is kept as it is, to save memory."""
    if (
        isinstance(candidates, range)
        and candidates.step == 1
        and -(2**62) <= candidates.start < candidates.stop <= 2**62
    ):
        return candidates  # [range]
    return integers_or_strings(candidates, "candidates")


def integers_or_strings(candidates: Iterable[Hashable], name: str) -> tuple[int, ...] | tuple[str, ...]:
    """Return public identifiers in their order, after checking that they are distinct 64-bit integers or strings.

    Raises:
        ParameterError: They are empty, repeated, neither all integers nor all strings, or out of range.
    """
    items = public_items(candidates, name)  # [distinct]
    if all(isinstance(one, str) for one in items):
        if any("\ud800" <= letter <= "\udfff" for one in items for letter in one):
            raise ParameterError(f"{name} must be strings of Unicode characters, without lone surrogates")
        return tuple(map(str.__str__, items))  # plain strings, also for members of a string enumeration
    if not all(checks.is_integer(one) for one in items):
        raise ParameterError(f"{name} must be all integers or all strings (not bools)")
    numbers = tuple(map(operator.index, items))
    if min(numbers) < -(2**63) or max(numbers) >= 2**64:
        raise ParameterError(f"{name} that are integers must fit into 64 bits: -2**63 <= integer < 2**64")
    return numbers


# end-proof-region: identifiers


# proof-region: index_candidates
@dataclass(frozen=True)
class IndexCandidates:
    """Post-processing that replaces indices by items: the right side of ``measurement >> index_candidates()``.

    An array of indices gives a :class:`Release` of items in the same order, and one index gives one item. A
    :class:`Release` with indices, or a caller's named tuple with a field ``indices``, gets the items in their place.
    The measurement then accepts only inputs with one score per item, so no index is out of range. If no items are
    given, the chain supplies the candidates that were counted.
    """

    items: Sequence[Any] | None

    def __call__(self, release: Any) -> Any:
        if self.items is None:
            raise SpaceError("index_candidates() must follow a measurement that knows its candidates: give items here")
        if isinstance(release, Release):
            return release.with_items(self(release.indices).items)  # [named]
        if hasattr(release, "_replace") and "indices" in getattr(release, "_fields", ()):
            return release._replace(indices=self(release.indices))  # [field]
        if isinstance(release, list | tuple) or (isinstance(release, np.ndarray) and release.ndim):
            return Release(items=[self._item_at_index(index) for index in release])  # [items]
        return self._item_at_index(release)  # [item]

    def _item_at_index(self, index: Any) -> Any:
        items = self.items or ()
        if not checks.is_integer(index) or not 0 <= index < len(items):
            raise DataError("index_candidates must be called with indices of its items, as a measurement releases them")
        return items[index]

    def output_type_for(self, released: Any, _: int | None) -> Any:
        fields = annotated_fields(released)
        if released not in (NDArray[np.int64], int) and "indices" not in fields:
            raise SpaceError(
                "index_candidates must follow a measurement that releases indices: omit it if items or "
                "numbers are released"
            )
        return Annotated[Release, "items", *(name for name in fields if name != "indices")]

    def __repr__(self) -> str:
        return "index_candidates()" if self.items is None else f"index_candidates(<{len(self.items)} items>)"


# end-proof-region: index_candidates


def index_candidates(items: Iterable[Hashable] | None = None) -> IndexCandidates:
    """Release public items instead of their indices: ``measurement >> index_candidates()``.

    Args:
        items: The candidates in the order of their scores, distinct and hashable. They must be public: a list
            taken from the private data would itself reveal who is in it. The default is the list of candidates whose
            scores a transformation computed, as in ``make_count_by_item(candidates=...)``; if there is one, a
            different list is refused. To give winners other names, post-process the items.

    Returns:
        A function from indices to a :class:`Release` of items, and from one index to one item. In a :class:`Release`
        with ``indices`` it replaces these and keeps the other fields, and so it does in a named tuple of your own. It
        is post-processing, so the privacy map does not change.

    Raises:
        ParameterError: ``items`` is empty, repeats an item, or contains an unhashable one.

        After ``>>``: SpaceError if the measurement scores another number of candidates or other candidates, if no items
        are given and it does not know its candidates, or if it is known not to release indices.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> exact = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=0.0)
        >>> (exact >> tk.index_candidates(["ash", "birch", "cedar"]))([4, 9, 6])
        Release(items=('birch', 'cedar'))
    """
    return IndexCandidates(None if items is None else public_items(items))


# Remarks on a list of candidates, which is public, so inspecting it costs no privacy.

_UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # Unicode categories of invisible characters


def candidate_remarks(candidates: Iterable[Hashable], *, column: str | None = None) -> list[str]:
    """Return remarks on likely mistakes in a list of candidates; a misspelt candidate has a count of 0.

    Checked are a header line, outer blanks, invisible characters, strings that are not in the usual Unicode form (NFC),
    strings that differ only by case or are in quotes, and numbers among strings. The list is not changed.

    Args:
        candidates: The list, as for ``make_count_by_item``.
        column: The name of the item column, with which the first candidate is compared. By default it is not.

    Returns:
        Remarks, each with the number of the first candidate of its kind, counted from 1; empty if there are none.

    Raises:
        ParameterError: ``candidates`` is not a list of distinct hashable items.
        ParameterTypeError: ``column`` is not a string.

    Example:
        >>> import opendp_topk as tk
        >>> tk.candidate_remarks(["page", "home", "help "], column="page")
        ['candidate 1 is the name of the column: a header line?', 'outer blanks: 1 of 3 candidates, first number 3']
    """
    listed = public_items(candidates, "candidates")
    if column is not None:
        checks.require_instance("column", column, str, "the name of a column")
    texts = {number: item for number, item in enumerate(listed, start=1) if isinstance(item, str)}
    remarks = []
    if column is not None and isinstance(listed[0], str) and _fold_case(listed[0]) == _fold_case(column):
        remarks.append("candidate 1 is the name of the column: a header line?")
    elif len(listed) > 1 and not _is_number(listed[0]) and all(map(_is_number, listed[1:])):
        remarks.append("all candidates but the first are integers: a header line?")
    folded: dict[str, int] = {}
    kinds = {
        "outer blanks": [n for n, item in texts.items() if item != item.strip()],
        "invisible characters": [n for n, item in texts.items() if any(map(_is_unseen, item.strip()))],
        "not in the Unicode form NFC": [n for n, item in texts.items() if not unicodedata.is_normalized("NFC", item)],
        "equal to an earlier candidate except for case": [
            n for n, item in texts.items() if folded.setdefault(_fold_case(item), n) != n
        ],
        "in quotes": [n for n, item in texts.items() if item[1:] and item[0] == item[-1] and item[0] in "\"'"],
        "a mix of numbers and texts": [
            n for n, item in enumerate(listed, start=1) if texts and not isinstance(item, str)
        ],
    }
    for kind, found in kinds.items():
        if found:
            remarks.append(f"{kind}: {len(found)} of {len(listed)} candidates, first number {found[0]}")
    return remarks


def _fold_case(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN


def _is_number(item: Any) -> bool:
    return checks.is_integer(item) or (isinstance(item, str) and item.strip().lstrip("+-").isdecimal())


# From noisy counts of all candidates to the k largest, or to all that reach a threshold.

Counts = NDArray[Any]


@dataclass(frozen=True)
class BestCounts:
    """Post-processing of noisy counts: the ``k`` largest, or all that are at least ``threshold``.

    They are in descending order; ties are in the order of the candidates.
    """

    items: tuple[Any, ...] | None
    k: int | None = None
    threshold: Number | None = None

    def __call__(self, counts: Counts) -> Release:
        is_array = isinstance(counts, np.ndarray) and counts.ndim == 1 and counts.dtype.kind in "iufO"
        if not is_array or (counts.dtype.kind == "O" and not all(map(checks.is_real, counts.tolist()))):
            raise DataTypeError("counts must be a one-dimensional array of numbers, as a measurement releases them")
        self.require_matching_counts(len(counts), DataError)
        some = np.arange(len(counts)) if self.threshold is None else np.flatnonzero(counts >= self.threshold)
        falling = len(some) - 1 - np.argsort(counts[some][::-1], kind="stable")[::-1]
        indices = some[falling][: self.k]
        best = Release(indices=indices, counts=counts[indices])
        return best if self.items is None else best.with_items([self.items[index] for index in indices])

    def require_matching_counts(self, size: int, error: type[Exception]) -> None:
        if self.items is not None and len(self.items) != size:
            raise error(f"items must be as many as the counts ({size}), not {len(self.items)}")
        if self.k is not None and self.k > size:
            raise error(f"counts must be at least k ({self.k}), not {size}")

    def output_type_for(self, released: Any, size: int | None) -> Any:
        if released != Counts:
            raise SpaceError(
                "largest_counts and counts_from must follow a measurement that releases an array of all "
                "noisy counts, such as make_noisy_histogram: omit them"
            )
        if size is not None:
            self.require_matching_counts(size, SpaceError)
        return Annotated[Release, "indices" if self.items is None else "items", "counts"]

    def __repr__(self) -> str:
        return f"counts_from({self.threshold})" if self.k is None else f"largest_counts({self.k})"


def largest_counts(k: int, items: Iterable[Hashable] | None = None) -> BestCounts:
    """Select the ``k`` largest noisy counts: ``histogram >> largest_counts(k, items)``.

    It is post-processing, so the winners, their order and their counts cost no further privacy.

    Args:
        k: The number of winners, at least 1 and at most the number of counts.
        items: The public candidates in the order of the counts. By default the winners are given by their indices.

    Returns:
        A function of an array of counts. It returns a :class:`Release` with the winners' ``items``, or their
        ``indices`` if no items are given, and their ``counts``, in descending order of the counts; ties are in the
        order of the candidates.

    Raises:
        ParameterError: ``k`` is below 1. ``items`` is empty, repeats an item, or contains an unhashable one.

        After ``>>``: SpaceError if the measurement is known to release something other than an array of all counts, to
        count other candidates than ``items``, or to release fewer than k counts or another number than of ``items``.
        On a release: DataError if there are fewer than k counts, or another number than of ``items``.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import numpy as np
        >>> import opendp_topk as tk
        >>> tk.largest_counts(2, ["ash", "birch", "cedar"])(np.array([7, -2, 9]))
        Release(items=('cedar', 'ash'), counts=array([9, 7]))
    """
    return BestCounts(_public_items_or_none(items), k=checks.require_positive_int("k", k))


def counts_from(threshold: Number, items: Iterable[Hashable] | None = None) -> BestCounts:
    """Select all noisy counts that are at least ``threshold``: ``histogram >> counts_from(threshold, items)``.

    Args:
        threshold: A public number; a count that is equal to it is kept.
        items: As in :func:`largest_counts`.

    Returns:
        A function as in :func:`largest_counts`.

    Raises:
        ParameterError: ``threshold`` is NaN or not a number. As in :func:`largest_counts`.

        After ``>>``, and on a release: as in :func:`largest_counts`.

    Proof: proofs/core/chaining.tex

    Example:
        >>> import numpy as np
        >>> import opendp_topk as tk
        >>> tk.counts_from(5, ["ash", "birch", "cedar"])(np.array([7, -2, 9])).items
        ('cedar', 'ash')
    """
    number = checks.plain_number(threshold) if checks.is_real(threshold) else math.nan
    if number != number:
        raise ParameterError("threshold must be a number")
    return BestCounts(_public_items_or_none(items), threshold=number)


def _public_items_or_none(items: Iterable[Hashable] | None) -> tuple[Any, ...] | None:
    return None if items is None else public_items(items)
