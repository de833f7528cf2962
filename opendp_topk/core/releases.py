"""Releases: what is known of their type in advance, releases of several winners, and their conversion to JSON."""

from __future__ import annotations

import datetime
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ParameterTypeError, checks
from ..errors.extras import import_extra
from ..markup import elements
from .repeatable import BatchedFunction, ComposedFunction, PaddedFunction, RepeatableFunction

_PACKAGE = __name__.partition(".")[0]


@runtime_checkable
class Follower(Protocol):
    """A post-processing function that knows which releases it accepts."""

    def output_type_for(self, released: Any, size: int | None) -> Any:
        """Return the type of its result for releases of the type ``released``, or None if that is not known.

        ``size`` is the number of scores that led to them, or None if it is not fixed.
        """


def release_type_and_size(function: Callable[[Any], Any], domain: Any) -> tuple[Any, int | None]:
    """Return the type that ``function`` releases, by its annotation, and the size of the vectors in its ``domain``.

    Each is None if it is not known; the type is unknown if a caller's own function comes last.
    """
    if isinstance(function, ComposedFunction):
        then: Any = function.then
        if hasattr(then, "input_domain"):
            return release_type_and_size(then.function, then.input_domain)
        before, size = release_type_and_size(function.first, domain)
        return (None if before is None or not isinstance(then, Follower) else then.output_type_for(before, size)), size
    if isinstance(function, PaddedFunction):
        return release_type_and_size(function.measured.function, domain)
    drawn = function.once if isinstance(function, BatchedFunction | RepeatableFunction) else function
    if not inspect.isfunction(drawn) or (drawn.__module__ or "").partition(".")[0] != _PACKAGE:
        return None, None
    return annotated_return_type(drawn), getattr(domain, "size", None)


def annotated_return_type(function: Callable[..., Any]) -> Any:
    """Return the annotated return type of ``function``; None if it has none, or if that is Any."""
    kind = typing.get_type_hints(function, include_extras=True).get("return", Any)
    return None if kind is Any else kind


def class_of_type(kind: Any) -> Any:
    """Return the class that a type annotation such as ``NDArray[np.int64]`` stands for; other annotations as they are.

    NumPy declares its types with ``type`` statements where Python has them: their value is the class.
    """
    origin = typing.get_origin(kind) or kind
    return class_of_type(origin.__value__) if hasattr(origin, "__value__") else origin


def annotated_fields(released: Any) -> tuple[str, ...]:
    """Return the fields of releases of a type such as ``Annotated[Release, "items", "counts"]``; of others, none."""
    return getattr(released, "__metadata__", ())


# Releases of several winners: one class with conversions to arrays, data frames and notebook tables.

if TYPE_CHECKING:
    from polars import DataFrame
else:
    DataFrame = Any  # so that type hints can be resolved without polars

Array = NDArray[Any]
_SEQUENCES = (list, tuple, range)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """The winners of a release, and what was released with them, in the same order.

    ``len(release)``, ``release[0]``, iteration and ``numpy.asarray(release)`` are those of the winners: of the public
    ``items`` or, if there are none, of the ``indices``. A field that the release does not have is None. ``counts`` are
    noisy scores. ``gaps`` are the gaps between each winner's noisy score and the next one's, the last one to the best
    candidate that did not win. ``stopped`` is True if the release stopped before k winners were found. Releases with
    ``gaps`` or ``stopped`` are rankings, best first.
    """

    items: Sequence[Any] | None = None
    indices: NDArray[np.int64] | None = None
    counts: Array | Sequence[int] | None = None
    gaps: NDArray[np.float64] | None = None
    stopped: bool | None = None

    def __post_init__(self) -> None:
        if (self.items is None) == (self.indices is None):
            raise ParameterError("items or indices must be given, but not both")
        for name, values in released_fields(self).items():
            if name == "stopped":
                checks.require_boolean(name, values)
            elif not isinstance(values, _SEQUENCES) and getattr(values, "ndim", 0) != 1:
                kind = type(values).__name__
                raise ParameterTypeError(f"{name} must be a list, a tuple or a one-dimensional array, not {kind}")
            elif len(values) != len(self):
                raise ParameterError(f"{name} must have one entry per winner ({len(self)}), not {len(values)}")
        if self.items is not None:
            object.__setattr__(self, "items", tuple(self.items))

    @property
    def _winners(self) -> Any:
        return self.indices if self.items is None else self.items

    def __len__(self) -> int:
        return len(self._winners)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._winners)

    def __getitem__(self, place: Any) -> Any:
        return self._winners[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._winners, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Release) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._values().items()))

    def __repr__(self) -> str:
        return f"Release({', '.join(f'{name}={value!r}' for name, value in released_fields(self).items())})"

    def _values(self) -> dict[str, Any]:
        fields = released_fields(self)
        return {name: tuple(value) if name != "stopped" else value for name, value in fields.items()}

    def with_items(self, items: Sequence[Any]) -> Release:
        """Return the same release with items in place of their indices."""
        return replace(self, items=items, indices=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the release by name, as values that ``json.dumps`` accepts (:func:`json_values`)."""
        return {name: json_values(value) for name, value in released_fields(self).items()}

    def to_frame(self) -> DataFrame:
        """Return a polars data frame with one row per winner (extra ``tables``).

        The columns are ``item`` or ``index``, ``noisy_count`` if there are counts, and ``noisy_lead`` if there are
        gaps. ``rank`` is the first column if there are gaps or ``stopped``, which only rankings have.

        Raises:
            MissingExtraError: polars is not installed.
        """
        polars = import_extra("polars", "to_frame() requires polars", "opendp_topk[tables]")
        frame: DataFrame = polars.DataFrame(self._columns(), strict=False)
        return frame

    def _repr_html_(self) -> str:
        kind = "ranking" if self._is_ranking else "winners" if self.items is None else "items"
        columns = {name.replace("_", " "): values for name, values in self._columns().items()}
        return elements.columns_table(f"Released {kind}" + ", which stopped early" * bool(self.stopped), columns)

    @property
    def _is_ranking(self) -> bool:
        return self.gaps is not None or self.stopped is not None

    def _columns(self) -> dict[str, list[Any]]:
        columns = {
            "rank": range(1, len(self) + 1) if self._is_ranking else None,
            "index": self.indices,
            "item": self.items,
            "noisy_count": self.counts,
            "noisy_lead": self.gaps,
        }
        return {
            name: values.tolist() if isinstance(values, np.ndarray) else list(values)
            for name, values in columns.items()
            if values is not None
        }


def released_fields(release: Release) -> dict[str, Any]:
    return {name: value for name, value in vars(release).items() if value is not None}


# Releases and parameters as values for ``json.dumps``.


def json_values(value: Any) -> Any:
    """Return a release, or the parameters of a measurement, as values that ``json.dumps`` accepts.

    Arrays and tuples become lists. A :class:`Release`, a named tuple and a mapping with strings as keys become
    dictionaries; another mapping becomes a list of pairs ``[key, value]``. Fractions and Decimals become strings, which
    are exact, and so do infinities and NaN, which JSON does not have. Dates and times are written in ISO 8601.

    Args:
        value: A release of a measurement, or :attr:`Measurement.parameters`.

    Returns:
        None, a bool, a number, a string, or lists and dictionaries of these.

    Raises:
        ParameterTypeError: ``value`` contains something else, such as a queryable.
        ParameterError: ``value`` contains a number of more than 14,000 bits.

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
    if isinstance(value, int | Fraction):
        checks.require_short(value, ParameterError("value must contain only numbers of at most 14,000 bits"))
        return int(value) if isinstance(value, int) else str(value)
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Release):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        return json_values(value._asdict())
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {str(key): json_values(one) for key, one in value.items()}
        return [[json_values(key), json_values(one)] for key, one in value.items()]
    if isinstance(value, list | tuple | range):
        return [json_values(one) for one in value]
    raise ParameterTypeError(f"value must be a release or parameters, without objects of type {type(value).__name__}")
