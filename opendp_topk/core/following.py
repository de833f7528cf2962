"""Types of releases as far as they are known in advance, so that unsuitable post-processing is refused."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from .repeatable import BatchedFunction, ComposedFunction, PaddedFunction, RepeatableFunction

_PACKAGE = __name__.partition(".")[0]


@runtime_checkable
class Follower(Protocol):
    """A post-processing function that knows which releases it accepts."""

    def output_type_for(self, released: Any, size: int | None) -> Any:
        """Return the type of its result for releases of the type ``released``, or None if that is not known.

        ``size`` is the number of scores that led to them, or None if it is not fixed.

        Raises:
            SpaceError: It does not accept such releases.
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


def annotated_fields(released: Any) -> tuple[str, ...]:
    """Return the fields of releases of a type such as ``Annotated[Release, "items", "counts"]``; of others, none."""
    return getattr(released, "__metadata__", ())
