"""Display of measurements and transformations, and releases as keys of an exact output distribution."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import CapacityError
from ..markup import elements
from .releases import Release, released_fields

_OWN = __name__.partition(".")[0]
_SCALARS = (type(None), bool, int, float, Fraction, Decimal, str, type, np.generic)
_CONTAINERS = (list, tuple, dict, set, frozenset, range, Release)
_FEW = 4  # elements of a tuple that is displayed in full: bounds, or a pair of epsilon and delta


def as_outcome(value: Any) -> Hashable:
    """Return a release as a key of an output distribution: lists and arrays as tuples, NumPy numbers as Python's.

    A :class:`Release` becomes the tuple of its fields, or its only field.
    """
    if isinstance(value, Release):
        fields = tuple(released_fields(value).values())
        value = fields if len(fields) > 1 else fields[0]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(as_outcome(element) for element in value)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, Hashable):
        raise CapacityError(f"an exact distribution requires hashable releases, not {type(value).__name__}")
    return value


def argument_repr(value: Any) -> str:
    """Return an argument for a repr: scalars and the library's own objects in full, and only the type of all others.

    If a table is passed in place of a number, no row of it appears in an error.
    """
    kind = type(value)
    if isinstance(value, _SCALARS) or (
        kind.__module__.partition(".")[0] == _OWN and not isinstance(value, _CONTAINERS)
    ):
        with contextlib.suppress(Exception):  # a number may have too many digits for repr
            return repr(value)
    elif kind is tuple and len(value) <= _FEW and all(isinstance(one, _SCALARS) for one in value):
        return f"({', '.join(map(argument_repr, value))}{',' * (len(value) == 1)})"
    elif isinstance(value, np.ndarray):
        return f"<{kind.__name__} of shape {value.shape}>"
    elif isinstance(value, _CONTAINERS):
        return f"<{kind.__name__} of {len(value)}>"
    return f"<{kind.__name__}>"


def _display_fields(one: Any, ends: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a transformation or measurement to display; ``ends`` are those of its output side."""
    space = {"input_domain": one.input_domain, "input_metric": one.input_metric}
    known = {name: value if _is_plain(value) else argument_repr(value) for name, value in one.parameters.items()}
    return {**known, **space, **ends, "proof": one.proof}


def _is_plain(value: Any) -> bool:
    """Return True if a parameter is displayed in full: a scalar, or a list of scalars."""
    return isinstance(value, _SCALARS) or (type(value) in (list, tuple) and all(map(_is_plain, value)))


def describe_html(shown: Any, ends: Mapping[str, Any]) -> str:
    """Return a transformation or measurement as an HTML table for a notebook."""
    return elements.facts_table(type(shown).__name__, _display_fields(shown, ends).items())


def describe_text(shown: Any, ends: Mapping[str, Any]) -> str:
    """Return the repr of a transformation or measurement, one field per line."""
    fields = _display_fields(shown, ends)
    width = max(map(len, fields))
    rows = [f"    {name:<{width}} = {value}" for name, value in fields.items()]
    return "\n".join([f"{type(shown).__name__}(", *rows, ")"])
