"""Domains of inputs, and checks that values are members."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataTypeError, ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..errors.extras import LOADING
from ..numerics.floats import require_subnormals
from ..numerics.surveyed import BlockMaxima, block_extremes, finite_block_best

# Domains: the sets of values that a function accepts. They are frozen and compared by value.

_CHUNK = 2**17  # numbers at a time: 1 MiB, which fits into a cache


def all_finite(array: NDArray[np.float64]) -> bool:
    """Whether every element is finite: neither NaN nor infinite."""
    if len(array) > _CHUNK:
        return all(all_finite(array[start : start + _CHUNK]) for start in range(0, len(array), _CHUNK))
    return bool(np.count_nonzero(np.isfinite(array)) == len(array))


# proof-region: domains
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)


class Domain(ABC):
    """A set of values that a function accepts."""

    @abstractmethod
    def validate(self, value: Any) -> Any:
        """Return ``value`` in the form in which functions on this domain receive it.

        Raises:
            DataError: ``value`` is not a member. The message contains no part of ``value``.
        """

    def member(self, value: Any) -> bool:
        """Whether ``value`` belongs to this domain."""
        try:
            self.validate(value)
        except DataError:
            return False
        return True

    def joined(self, other: Domain) -> Domain | None:
        """Return the domain with the metadata of both; None if the members differ or the metadata contradict."""
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
                raise ParameterTypeError("bounds must contain two numbers, neither of them NaN")
        if self.bounds[0] > self.bounds[1]:
            raise ParameterError("bounds must satisfy lower <= upper")
        lower, upper = map(checks.plain_number, self.bounds)
        object.__setattr__(self, "bounds", (lower, upper))

    def validate(self, value: Any) -> Any:
        return self.validate_array([value])[0]

    def validate_array(self, values: Any) -> NDArray[Any]:
        """Return a one-dimensional array of int64, uint64, Python integers (if neither type fits) or float64."""
        array = _integer_array(values) if self.T is int else _float_array(values)
        if array.size == 0 or (self.T is int and self.bounds is None):  # [no-bounds]
            return array
        if self.T is float and not all_finite(array):  # [finite]
            raise DataError("scores must be finite: AtomDomain(float) contains no NaN and no infinity")
        lower, upper = self.bounds or (0, 0)
        if self.bounds and not (
            lower <= _to_python_number(array.min()) and _to_python_number(array.max()) <= upper
        ):  # [bounds]
            raise DataError(f"scores must be within the bounds {self.bounds} of the input domain")
        return array

    def __repr__(self) -> str:
        bounds = "" if self.bounds is None else f", bounds={self.bounds}"
        return f"AtomDomain({self.T.__name__}{bounds})"


@dataclass(frozen=True)
class VectorDomain(Domain):
    """Vectors of at least one element of ``element_domain``, of length ``size`` if it is given.

    Members are one-dimensional NumPy arrays, lists, tuples, and objects that NumPy reads as such arrays (a column of a
    data frame). Floats are not accepted as integers, integers not as floats, and booleans as neither.

    ``candidates``, if known, are the public items to which the scores belong, in the same order: a sequence of ``size``
    items, which is not checked for duplicates. ``counts_users``, if known, is true if each element is at most the
    number of users of its candidate. Transformations from tables set both. A chain whose two sides contradict each
    other is refused, and ``>> index_candidates()`` maps winners to these candidates.
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
                raise ParameterError("candidates must be a list of the public items, with size elements")
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
            raise DataError("scores must contain at least one element")
        if self.size is not None and array.size != self.size:  # [size]
            raise DataError(f"scores must contain exactly {self.size} elements, the size of the input domain")
        return array

    def __repr__(self) -> str:
        size = "" if self.size is None else f", size={self.size}"
        return f"VectorDomain({self.element_domain!r}{size})"


def same_items(one: Sequence[Any] | None, other: Sequence[Any] | None) -> bool:
    """Whether two lists have equal items in the same order; None equals only None."""
    if one is other or one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(operator.eq, one, other))  # [same-items]


# end-proof-region: domains


# proof-region: frame_domains
@dataclass(frozen=True)
class FrameDomain(Domain):
    """Tables with a column of user identifiers, and a column of items, of numbers, or of items and groups or numbers.

    The four kinds are ``FrameDomain(user, item)``, ``FrameDomain(user, item, group=...)``,
    ``FrameDomain(user, item, value=...)`` and ``FrameDomain(user, value=...)``. Other columns are ignored.

    Members are frames of polars, pandas, pyarrow, DuckDB or Spark, and pyarrow datasets. A table is read once.
    Identifiers of users, items and groups are integers, or strings, which are compared by their bytes. Numbers, such as
    prices or minutes, are integers up to Int64, floats or decimals.
    """

    user: str
    item: str | None = None
    group: str | None = field(default=None, kw_only=True)
    value: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for role, name in {"user": self.user, **self.columns}.items():
            if not isinstance(name, str) or not name:  # [named]
                raise ParameterTypeError(f"{role} must be the name of a column, a non-empty string")
        if self.item is None and (self.value is None or self.group is not None):  # [items-or-numbers]
            raise ParameterError("item must be given, or value instead: FrameDomain(user, item) or (user, value=...)")
        if self.group is not None and self.value is not None:  # [not-both]
            raise ParameterError("group and value must not both be given: no function takes a table with both")
        if len(set(self.columns.values())) < len(self.columns):  # [different]
            *roles, last = self.columns
            raise ParameterError(f"{', '.join(roles)} and {last} must be different columns")

    @property
    def columns(self) -> dict[str, str]:
        """Names of the columns by role, in the order user, item, group, value."""
        named = {"user": self.user, "item": self.item, "group": self.group, "value": self.value}
        return {role: name for role, name in named.items() if name is not None}  # [given]

    @property
    def identifier_columns(self) -> dict[str, str]:
        """Names of the columns of identifiers by role: all columns except that of numbers."""
        return {role: name for role, name in self.columns.items() if role != "value"}

    def validate(self, value: Any) -> Any:
        from ..tables import frames

        return frames.identifier_columns(value, self.identifier_columns, self.value)  # [named-columns]

    def __repr__(self) -> str:
        shown = (repr(name) if role in ("user", "item") else f"{role}={name!r}" for role, name in self.columns.items())
        return f"FrameDomain({', '.join(shown)})"


def require_columns(domain: Any, *allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns of ``domain``, which has those of users and exactly one of ``allowed``.

    Raises:
        ParameterTypeError: ``domain`` is not a :class:`FrameDomain`, or has other columns.
    """
    columns = domain.columns if isinstance(domain, FrameDomain) else {}
    if tuple(columns) not in [("user", *others) for others in allowed]:  # [exact-columns]
        lists = " or ".join(", ".join(("user", *others[:-1])) + f" and {others[-1]} columns" for others in allowed)
        shown = (", ".join(one if one == "item" else f"{one}=..." for one in others) for others in allowed)
        forms = " or ".join(f"FrameDomain(user, {one})" for one in shown)
        got = repr(domain) if columns else type(domain).__name__
        raise ParameterTypeError(f"input_domain must be a FrameDomain with {lists}: {forms}, not {got}")
    return tuple(columns.values())


# end-proof-region: frame_domains


# proof-region: arrays
def _to_python_number(element: Any) -> Any:
    """Return the Python number, which compares exactly with other numbers; NumPy would round to float64."""
    return element.item() if isinstance(element, np.generic) else element  # [python-number]


def _convert_to_array(values: Any) -> NDArray[Any]:
    """Return ``values`` as an array. The error of a failed conversion is dropped, because it could contain data."""
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
    kind = array.dtype.kind
    if kind == "O":
        return _integer_objects(array.tolist())
    if kind not in "iu":  # [integers]
        raise DataTypeError(f"scores of AtomDomain(int) must be integers, not {array.dtype}")
    return array.astype(np.uint64 if kind == "u" else np.int64, copy=False)


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


# Long score vectors are checked in the same pass that finds the best score of each group.
#
# All other values, and those that are not members, are left to the domain's own check.

_LEAST = 2**14  # scores: in shorter vectors every candidate draws, so the best of each group would not be used


# proof-region: surveys
def find_block_maxima(domain: Domain, value: Any, sign: int) -> BlockMaxima | None:
    """Return ``value`` with its block maxima if it is a long contiguous array and a member of ``domain``, else None.

    None does not mean that ``value`` is not a member. The array is not copied or converted to 64 bits.
    """
    if type(value) is not np.ndarray or value.size < _LEAST:
        return None
    if type(domain) is not VectorDomain or not _is_plain(domain, value):
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
    return own and fits and plain and value.ndim == 1 and value.flags.c_contiguous  # [plain]


# end-proof-region: surveys


# Arguments that can be refused without reading their rows or elements, before any budget is spent.


def require_readable(domain: Domain, value: Any, listed: Mapping[tuple[str, str], Any]) -> None:
    """Raise if the type of ``value``, or the name or type of a column, shows that it is not a member of ``domain``.

    ``listed`` maps (column, kind of the list) to one entry of each public list that is compared with a column. The
    libraries that are needed to read ``value`` are imported.

    Raises:
        DataTypeError: ``value`` is not a table or not a vector.
        DataError: A column is missing, or its type does not match the domain or a list.
        MissingExtraError: A library is missing.
        TableError: The back end failed to return the columns, or this process cannot use it.
    """
    if isinstance(domain, VectorDomain):
        if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
            raise DataTypeError(f"scores must be a one-dimensional array, list or tuple, not {type(value).__name__}")
        if isinstance(value, np.ndarray):
            domain.element_domain.validate_array(value[:0] if value.ndim else value)  # checks the type only
    elif isinstance(domain, FrameDomain):
        with LOADING:
            from ..tables import frames
        frames.require_kinds(frames.select_declared_columns(value, domain.identifier_columns, domain.value), listed)
