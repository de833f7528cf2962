"""What a pickle of the library may hold: values, and functions by the name of their module and their own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from . import PickleError


def require_names(value: Any) -> None:
    """Raise unless every function in ``value`` can be found again by the name of its module and its own.

    Raises:
        PickleError: One cannot.
    """
    if isinstance(value, list | tuple):
        for one in value:
            require_names(one)
    elif isinstance(value, Mapping):
        require_names(list(value.values()))
    elif callable(value) and not _is_own(value) and not _has_name(value):
        raise PickleError(
            f"a pickle holds functions by name only, and {getattr(value, '__qualname__', type(value).__qualname__)} "
            "has none: define it with def at the top of a module that the other process can import"
        )


def _is_own(value: Any) -> bool:
    """Whether ``value`` is an object of this library, which knows itself how it is pickled."""
    return type(value).__module__.split(".")[0] == __name__.split(".")[0]


def _has_name(value: Any) -> bool:
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for part in getattr(value, "__qualname__", "<nameless>").split("."):
        found = getattr(found, part, None)
    return found is value
