"""Domains of inputs, and what a domain says of data that are read."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    DataLengthError,
    DataTypeError,
    NonFiniteError,
    OutOfBoundsError,
    ParameterError,
    ParameterTypeError,
    checks,
)
from ..errors.checks import Number
from ..errors.extras import LOADING
from ..numerics.floats import require_subnormals
from ..numerics.surveyed import BlockMaxima, block_extremes, finite_block_best

# Domains: the sets that a function accepts, as frozen values compared by value.

_CHUNK = 2**17  # numbers at a time: a MiB, which a cache holds


def all_finite(array: NDArray[np.float64]) -> bool:
    """Whether there is no NaN and no infinity."""
    starts = range(0, len(array), _CHUNK)
    return all(bool(np.isfinite(array[start : start + _CHUNK]).all()) for start in starts)


# proof-region: domains
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)


class Domain(ABC):
    """A set of values that a function accepts."""

    @abstractmethod
    def validate(self, value: Any) -> Any:
        """``value`` in the form that functions on this domain receive.

        Raises:
            DataError: ``value`` is not a member. The message holds no part of ``value``.
        """

    def member(self, value: Any) -> bool:
        """Whether ``value`` belongs to this domain."""
        try:
            self.validate(value)
        except DataError:
            return False
        return True

    def joined(self, other: Domain) -> Domain | None:
        """The domain with the members of both and what either states of them; None if they differ or contradict."""
        return self if self == other else None


@dataclass(frozen=True)
class AtomDomain(Domain):
    """All integers, or all finite float64 numbers, optionally between ``bounds`` (both included)."""

    T: type
    bounds: tuple[Number, Number] | None = None

    def __post_init__(self) -> None:
        if not any(self.T is kind for kind in (int, float)):
            raise ParameterTypeError("T must be the type int or the type float")
        if self.bounds is None:
            return
        if not isinstance(self.bounds, tuple) or len(self.bounds) != 2:
            raise ParameterTypeError("bounds must be a pair (lower, upper)")
        for bound in self.bounds:
            if not checks.is_real(bound) or bound != bound:
                raise ParameterTypeError("bounds must hold two numbers, neither of them NaN")
        if self.bounds[0] > self.bounds[1]:
            raise ParameterError("bounds must satisfy lower <= upper")
        lower, upper = map(checks.plain_number, self.bounds)
        object.__setattr__(self, "bounds", (lower, upper))

    def validate(self, value: Any) -> Any:
        return self.validate_array([value])[0]

    def validate_array(self, values: Any) -> NDArray[Any]:
        """A one-dimensional array of int64, uint64, Python integers (where neither holds them) or float64."""
        array = _integer_array(values) if self.T is int else _float_array(values)
        if array.size == 0 or (self.T is int and self.bounds is None):  # [no-bounds]
            return array
        if self.T is float and not all_finite(array):  # [finite]
            raise NonFiniteError("scores must be finite: no NaN and no infinity is a member of AtomDomain(float)")
        lower, upper = self.bounds or (0, 0)
        if self.bounds and not (
            lower <= _to_python_number(array.min()) and _to_python_number(array.max()) <= upper
        ):  # [bounds]
            raise OutOfBoundsError(f"scores must lie within the bounds {self.bounds} of the input domain")
        return array

    def __repr__(self) -> str:
        bounds = "" if self.bounds is None else f", bounds={self.bounds}"
        return f"AtomDomain({self.T.__name__}{bounds})"


@dataclass(frozen=True)
class VectorDomain(Domain):
    """Vectors of at least one element of ``element_domain``, of length ``size`` where it is given.

    Members are one-dimensional NumPy arrays, lists, tuples, and whatever NumPy reads as such (a column of a
    data frame). Floats are never taken for integers, nor integers for floats, nor booleans for either.

    ``candidates`` are the public items whose scores the elements are, in their order, if they are known: a tuple or a
    range of ``size`` distinct items. ``counts_users`` says whether each element is at most the number of its
    candidate's users, if that is known. Transformations from tables state both; a chain whose sides contradict each
    other is refused, and ``>> index_candidates()`` names winners by the candidates that were counted.
    """

    element_domain: AtomDomain
    size: int | None = None
    candidates: Sequence[Hashable] | None = field(default=None, kw_only=True, repr=False)
    counts_users: bool | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        checks.require_instance(
            "element_domain", self.element_domain, AtomDomain, "an AtomDomain such as AtomDomain(int)"
        )
        if self.size is not None:
            object.__setattr__(self, "size", checks.require_positive_int("size", self.size))
        if self.candidates is not None:
            checks.require_instance("candidates", self.candidates, Sequence, "a list of the public items")
            if isinstance(self.candidates, str) or len(self.candidates) != self.size:  # [as-many]
                raise ParameterError("candidates must be a list of the public items, as many as size says")
            if isinstance(self.candidates, list):
                object.__setattr__(self, "candidates", tuple(self.candidates))
        if self.counts_users is not None:
            checks.require_boolean("counts_users", self.counts_users)

    def joined(self, other: Domain) -> VectorDomain | None:
        if not isinstance(other, VectorDomain):
            return None
        if (self.element_domain, self.size) != (other.element_domain, other.size):  # [same-members]
            return None
        candidates, users = self.candidates, self.counts_users
        if None not in (candidates, other.candidates) and not same_items(candidates, other.candidates):
            return None  # [same-candidates]
        if None not in (users, other.counts_users) and users != other.counts_users:
            return None  # [same-units]
        return replace(
            self,
            candidates=other.candidates if candidates is None else candidates,
            counts_users=other.counts_users if users is None else users,
        )  # [either-states]

    def validate(self, value: Any) -> NDArray[Any]:
        array = self.element_domain.validate_array(value)
        if array.size == 0:  # [not-empty]
            raise DataLengthError("scores must hold at least one element")
        if self.size is not None and array.size != self.size:  # [size]
            raise DataLengthError(f"scores must hold exactly {self.size} elements, the size of the input domain")
        return array

    def __repr__(self) -> str:
        size = "" if self.size is None else f", size={self.size}"
        return f"VectorDomain({self.element_domain!r}{size})"


def same_items(one: Sequence[Any] | None, other: Sequence[Any] | None) -> bool:
    """Whether two lists hold equal items in the same order; None is equal to None alone."""
    if one is other or one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(operator.eq, one, other))  # [same-items]


# end-proof-region: domains


# proof-region: frame_domains
@dataclass(frozen=True)
class FrameDomain(Domain):
    """Tables with a column of user identifiers and a column of items.

    A frame of polars, pandas, pyarrow, DuckDB or Spark, or a dataset of pyarrow, which is read once. Other columns are
    ignored. Identifiers are integers, or strings that are compared by their bytes.
    """

    user: str
    item: str

    def __post_init__(self) -> None:
        for name in ("user", "item"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ParameterTypeError(f"{name} must be the name of a column, a non-empty string")
        if self.user == self.item:
            raise ParameterError("user and item must be two different columns")

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.user_item_columns(value, self.user, self.item)  # [two-columns]


@dataclass(frozen=True)
class GroupedFrameDomain(Domain):
    """Tables with a column of user identifiers, one of items, and one of groups. Other columns are ignored."""

    user: str
    item: str
    group: str

    def __post_init__(self) -> None:
        FrameDomain(self.user, self.item)
        if not isinstance(self.group, str) or not self.group:
            raise ParameterTypeError("group must be the name of a column, a non-empty string")
        if self.group in (self.user, self.item):
            raise ParameterError("user, item and group must be three different columns")

    @property
    def frame_domain(self) -> FrameDomain:
        """The domain of the table of one group, which has no column of groups any more."""
        return FrameDomain(self.user, self.item)

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        columns = {"user": self.user, "item": self.item, "group": self.group}
        return frames.identifier_columns(value, columns)  # [three-columns]


# end-proof-region: frame_domains


# proof-region: arrays
def _to_python_number(element: Any) -> Any:
    """The Python number, which compares exactly with any other; NumPy would round to float64."""
    return element.item() if isinstance(element, np.generic) else element  # [python-number]


def _convert_to_array(values: Any) -> NDArray[Any]:
    """``values`` as an array; what the foreign conversion says when it fails could hold data, so it is dropped."""
    try:
        return np.asarray(values)
    except Exception:
        kind = type(values).__name__
    raise DataTypeError(f"scores must be a one-dimensional array, but NumPy cannot read this {kind} as one")


def _one_dimensional(values: Any) -> NDArray[Any]:
    if type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray):  # [masked]
        raise DataTypeError("scores must not be a masked array: fill or drop the masked elements")
    if not isinstance(values, np.ndarray):
        if not hasattr(values, "__array__"):
            raise DataTypeError(f"scores must be a one-dimensional array, list or tuple, not {type(values).__name__}")
        values = _convert_to_array(values)
    array: NDArray[Any] = values
    if array.ndim != 1:  # [one-dimensional]
        raise DataTypeError(f"scores must be one-dimensional, not an array of {array.ndim} dimensions")
    return array


def _integer_array(values: Any) -> NDArray[Any]:
    if isinstance(values, list | tuple):
        return _integer_objects(values)
    array = _one_dimensional(values)
    if array.dtype.kind == "O":
        return _integer_objects(array.tolist())
    if array.dtype.kind not in "iu":  # [integers]
        raise DataTypeError(f"scores of AtomDomain(int) must be integers, not {array.dtype}")
    return array.astype(np.uint64 if array.dtype.kind == "u" else np.int64, copy=False)


def _integer_objects(values: Sequence[Any]) -> NDArray[Any]:
    for kind in set(map(type, values)):
        if not issubclass(kind, int | np.integer) or issubclass(kind, bool | np.timedelta64):  # [integers]
            raise DataTypeError(f"scores of AtomDomain(int) must be integers, not {kind.__name__}")
    if not values:
        return np.zeros(0, dtype=np.int64)
    lowest, highest = int(min(values)), int(max(values))
    if lowest in _INT64 and highest in _INT64:
        return np.array(values, dtype=np.int64)
    if lowest in _UINT64 and highest in _UINT64:
        return np.array(values, dtype=np.uint64)
    array = np.empty(len(values), dtype=object)
    array[:] = [int(value) for value in values]  # [large-integers]
    return array


def _float_array(values: Any) -> NDArray[Any]:
    require_subnormals()
    if isinstance(values, list | tuple):
        for kind in set(map(type, values)):
            if not issubclass(kind, float | np.float32 | np.float16):  # [floats]
                raise DataTypeError(f"scores of AtomDomain(float) must be floats, not {kind.__name__}")
        return np.array(values, dtype=np.float64)
    array = _one_dimensional(values)
    if array.dtype.kind == "O":
        return _float_array(array.tolist())
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:  # [floats]
        raise DataTypeError(f"scores of AtomDomain(float) must be float64 (or narrower floats), not {array.dtype}")
    return array.astype(np.float64, copy=False)


# end-proof-region: arrays


# Tables of users and numbers, with or without items.
#
# Proof: proofs/spaces/valued_frames.tex


# proof-region: valued_frames
@dataclass(frozen=True)
class ValuedFrameDomain(Domain):
    """Tables with a column of user identifiers, one of items, and one of numbers, such as prices or minutes.

    The numbers are integers up to Int64, floats or decimals. Other columns are ignored.
    """

    user: str
    item: str
    value: str

    def __post_init__(self) -> None:
        FrameDomain(self.user, self.item)
        if not isinstance(self.value, str) or not self.value:
            raise ParameterTypeError("value must be the name of a column, a non-empty string")
        if self.value in (self.user, self.item):
            raise ParameterError("user, item and value must be three different columns")

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.user_item_value_columns(value, self.user, self.item, self.value)  # [columns]


@dataclass(frozen=True)
class NumberFrameDomain(Domain):
    """Tables with a column of user identifiers and one of numbers, such as ages or prices. Other columns are ignored.

    The numbers are integers up to Int64, floats or decimals.
    """

    user: str
    value: str

    def __post_init__(self) -> None:
        for name in ("user", "value"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ParameterTypeError(f"{name} must be the name of a column, a non-empty string")
        if self.user == self.value:
            raise ParameterError("user and value must be two different columns")

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.identifier_columns(value, {"user": self.user}, self.value)  # [number-columns]


# end-proof-region: valued_frames


# Long vectors of scores, checked in the pass in which the best of each group of them is found.
#
# Whatever is not of the plainest form, or no member of the domain, is left to the domain itself.

_LEAST = 2**12  # scores; in fewer there is no whole block, so that the best of groups would not be asked for


# proof-region: surveys
def find_block_maxima(domain: Domain, value: Any, sign: int) -> BlockMaxima | None:
    """``value``, if it is a long contiguous array of numbers and a member of ``domain``; None where that is not clear.

    Nothing is copied: numbers of fewer than 64 bits stay as they are.
    """
    if type(value) is not np.ndarray or type(domain) is not VectorDomain or not _is_plain(domain, value):
        return None
    floats, bounds = value.dtype.kind == "f", domain.element_domain.bounds
    if floats:
        require_subnormals()
        if bounds is None:
            best_of_finite = finite_block_best(value, sign)  # [finite-best]
            return None if best_of_finite is None else BlockMaxima(value, sign, best_of_finite)
    best, worst = block_extremes(value, sign, both=bounds is not None)
    ends = np.concatenate([best, worst])
    if floats and not np.isfinite(ends).all():  # [finite]
        return None
    if bounds and not (bounds[0] <= ends.min().item() and ends.max().item() <= bounds[1]):  # [bounds]
        return None
    return BlockMaxima(value, sign, best)


def _is_plain(domain: VectorDomain, value: NDArray[Any]) -> bool:
    own = type(domain.element_domain) is AtomDomain  # [own-elements]
    kinds = "iu" if domain.element_domain.T is int else "f"
    fits = domain.size is None or domain.size == value.size
    plain = value.dtype.kind in kinds and value.dtype.itemsize <= 8 and value.dtype.isnative  # [kind]
    return own and fits and plain and value.ndim == 1 and value.size >= _LEAST and value.flags.c_contiguous  # [plain]


# end-proof-region: surveys


# What of an argument can be refused without a look at its rows or elements, so that nothing is paid for it.


def require_readable(domain: Domain, value: Any, listed: Mapping[tuple[str, str], Any]) -> None:
    """Raise if the type of ``value``, or a column's name or type, shows that it is not a member of ``domain``.

    ``listed`` has an entry of each public list with which a column is compared, by the column and by what the list is
    of. Libraries that reading it needs are imported.

    Raises:
        DataTypeError: It is no table, or no vector.
        ColumnError: A column is missing, or its type does not fit the domain or a list.
        MissingExtraError: A library is missing.
        TableError: The back end failed to tell the columns, or this process cannot use it.
    """
    if isinstance(domain, VectorDomain):
        if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
            raise DataTypeError(f"scores must be a one-dimensional array, list or tuple, not {type(value).__name__}")
        if isinstance(value, np.ndarray):
            domain.element_domain.validate_array(value[:0] if value.ndim else value)  # its type, and no element
    elif isinstance(domain, FrameDomain | GroupedFrameDomain | ValuedFrameDomain | NumberFrameDomain):
        with LOADING:
            from ..tables import frames
        roles = {role: getattr(domain, role) for role in ("user", "item", "group") if hasattr(domain, role)}
        chosen = frames.select_declared_columns(value, roles, getattr(domain, "value", None))
        frames.require_kinds(chosen, listed)
