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
_CLAIMS = f"{_PACKAGE}.core.claims"  # what decorates a constructor that is called from outside


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
    """Warn that ``name`` is experimental if ``function`` is marked and was called from outside this package."""
    why = getattr(function, "experimental", "")
    if not why:
        return
    frame, level = sys._getframe(2), 3
    while frame.f_globals.get("__name__") == _CLAIMS and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    if frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
        said = f"{name} is experimental and may change in any minor version: {why}"
        warnings.warn(said, ExperimentalWarning, stacklevel=level)
