"""How measurements, transformations and their outcomes are shown: reprs, and releases as keys of an exact law."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import CapacityError
from ..markup import notebook

_OWN = __name__.partition(".")[0]
_SCALARS = (type(None), bool, int, float, Fraction, Decimal, str, type, np.generic)
_CONTAINERS = (list, tuple, dict, set, frozenset, range)
_FEW = 4  # elements of a tuple that is shown whole: bounds, a pair of epsilon and delta


def as_outcome(value: Any) -> Hashable:
    """A release as a key of a law: arrays and lists become tuples, NumPy numbers Python numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(as_outcome(element) for element in value)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, Hashable):
        raise CapacityError(f"an exact distribution needs hashable releases, not {type(value).__name__}")
    return value


def argument_repr(value: Any) -> str:
    """An argument in a repr: public scalars and the library's own objects as they are, of all others the type.

    Whoever gives a table in the place of a number finds no row of it in an error.
    """
    kind = type(value)
    if isinstance(value, _SCALARS) or (
        kind.__module__.partition(".")[0] == _OWN and not isinstance(value, _CONTAINERS)
    ):
        with contextlib.suppress(Exception):  # a number may be too long to be written
            return repr(value)
    elif kind is tuple and len(value) <= _FEW and all(isinstance(one, _SCALARS) for one in value):
        return f"({', '.join(map(argument_repr, value))}{',' * (len(value) == 1)})"
    elif isinstance(value, np.ndarray):
        return f"<{kind.__name__} of shape {value.shape}>"
    elif isinstance(value, _CONTAINERS):
        return f"<{kind.__name__} of {len(value)}>"
    return f"<{kind.__name__}>"


def _display_fields(one: Any, ends: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a transformation or measurement; ``ends`` is what it has on its output side."""
    space = {"input_domain": one.input_domain, "input_metric": one.input_metric}
    known = {name: value if _is_plain(value) else argument_repr(value) for name, value in one.parameters.items()}
    return {**known, **space, **ends, "proof": one.proof}


def _is_plain(value: Any) -> bool:
    """Whether a parameter shows what it is: a scalar, or a list of such."""
    return isinstance(value, _SCALARS) or (type(value) in (list, tuple) and all(map(_is_plain, value)))


def describe_html(shown: Any, ends: Mapping[str, Any]) -> str:
    """The same as a table for a notebook."""
    return notebook.facts_table(type(shown).__name__, _display_fields(shown, ends).items())


def describe_text(shown: Any, ends: Mapping[str, Any]) -> str:
    """The repr of a transformation or measurement, one field a line."""
    fields = _display_fields(shown, ends)
    width = max(map(len, fields))
    rows = [f"    {name:<{width}} = {value}" for name, value in fields.items()]
    return "\n".join([f"{type(shown).__name__}(", *rows, ")"])
