"""Mark for public functions that may change or be removed in any minor version: a call from outside warns."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from . import ExperimentalWarning

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_PACKAGE = __name__.partition(".")[0]


def mark_experimental(why: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a public function; the warning of each call contains ``why``, which the function's docstring repeats."""

    def decorate_function(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def call_with_warning(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            warn_if_experimental(call_with_warning, function.__name__)
            return function(*arguments, **options)

        call_with_warning.experimental = why  # type: ignore[attr-defined]
        return call_with_warning

    return decorate_function


def warn_if_experimental(function: Callable[..., object], name: str) -> None:
    """Warn that ``name`` is experimental if ``function`` is marked and the caller's caller is not of this package."""
    why = getattr(function, "experimental", "")
    if why and sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
        said = f"{name} is experimental and may change in any minor version: {why}"
        warnings.warn(said, ExperimentalWarning, stacklevel=3)
