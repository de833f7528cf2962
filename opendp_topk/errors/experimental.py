"""Mark for public functions that may change or be removed in any minor version: each call warns."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ExperimentalWarning(FutureWarning):
    """The called function may change or be removed in any minor version; docs/versions.md lists such names."""


def mark_experimental(why: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a public function; the warning of each call contains ``why``, which the function's docstring repeats."""

    def decorate_function(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def call_with_warning(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            said = f"{function.__name__} is experimental and may change in any minor version: {why}"
            warnings.warn(said, ExperimentalWarning, stacklevel=2)
            return function(*arguments, **options)

        call_with_warning.experimental = why  # type: ignore[attr-defined]
        return call_with_warning

    return decorate_function
