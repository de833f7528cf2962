"""The mark of a public name that may change or go in any minor version: a call of it warns."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ExperimentalWarning(FutureWarning):
    """What was called may change or go in any minor version; docs/versions.md lists such names."""


def mark_experimental(why: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a public function; ``why`` is told by the warning of each call, and stands in the function's docstring."""

    def decorate_function(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def call_with_warning(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            said = f"{function.__name__} is experimental and may change in any minor version: {why}"
            warnings.warn(said, ExperimentalWarning, stacklevel=2)
            return function(*arguments, **options)

        call_with_warning.experimental = why  # type: ignore[attr-defined]
        return call_with_warning

    return decorate_function
