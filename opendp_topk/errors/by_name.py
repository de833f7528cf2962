"""Check of what the library pickles: values, and functions by the names of their module and their own."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from . import ParameterTypeError


def require_names(value: Any) -> None:
    """Raise unless every function in ``value`` can be imported by the name of its module and its own.

    Raises:
        ParameterTypeError: A function cannot be imported by name.
    """
    if isinstance(value, list | tuple):
        for one in value:
            require_names(one)
    elif isinstance(value, Mapping):
        require_names(list(value.values()))
    elif isinstance(value, functools.partial):
        require_names([value.func, *value.args, *value.keywords.values()])
    elif callable(value) and not _is_own(value) and not _has_name(value) and _is_code(value):
        raise ParameterTypeError(
            "a pickle of a measurement (including cloudpickle) stores functions by name, and "
            f"{getattr(value, '__qualname__', type(value).__qualname__)} has no importable name: define it "
            "with def at the top level of a module that the other process can import"
        )


def _is_own(value: Any) -> bool:
    """Return True if ``value`` is an object of this library, which defines how it is pickled."""
    return type(value).__module__.split(".")[0] == __name__.split(".")[0]


def _is_code(value: Any) -> bool:
    """Return True if ``value`` is a function, a class, or of a class without an importable name.

    Other callable objects are pickled as their class defines.
    """
    return isinstance(value, type) or hasattr(value, "__code__") or not _has_name(type(value))


def _has_name(value: Any) -> bool:
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for part in getattr(value, "__qualname__", "<nameless>").split("."):
        found = getattr(found, part, None)
    return found is value
