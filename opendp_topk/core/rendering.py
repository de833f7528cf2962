"""How measurements, transformations and their outcomes are shown: reprs, and releases as keys of an exact law."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ..errors import CapacityError
from ..markup import notebook


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


def _fields(shown: Any, ends: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a transformation or measurement; ``ends`` is what it has on its output side."""
    space = {"input_domain": shown.input_domain, "input_metric": shown.input_metric}
    return {**shown.parameters, **space, **ends, "proof": shown.proof}


def describe_html(shown: Any, ends: Mapping[str, Any]) -> str:
    """The same as a table for a notebook."""
    return notebook.facts(type(shown).__name__, _fields(shown, ends).items())


def describe(shown: Any, ends: Mapping[str, Any]) -> str:
    """The repr of a transformation or measurement, one field a line."""
    fields = _fields(shown, ends)
    width = max(map(len, fields))
    rows = [f"    {name:<{width}} = {value}" for name, value in fields.items()]
    return "\n".join([f"{type(shown).__name__}(", *rows, ")"])
