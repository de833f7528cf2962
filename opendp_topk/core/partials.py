"""Constructors that still lack their input space: the right side of ``(domain, metric) >> then_x(...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterTypeError, SpaceError
from ..errors.by_name import require_names
from ..spaces.domains import Domain
from ..spaces.metrics import Metric
from .spaces import as_space


@dataclass(frozen=True, repr=False)
class Partial:
    """A constructor that still lacks its input space; ``(domain, metric) >> partial`` completes it."""

    constructor: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def build(self, input_domain: Domain, input_metric: Metric) -> Any:
        """The transformation or measurement on this input space."""
        return self.constructor(input_domain, input_metric, *self.arguments, **self.options)

    def __hash__(self) -> int:
        return hash((self.constructor, self.arguments, frozenset(self.options.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        require_names((self.arguments, self.options))
        return Partial, (self.constructor, self.arguments, dict(self.options))

    def __rrshift__(self, space: Any) -> Any:
        return self.build(*as_space(space, self))

    def __rshift__(self, other: Any) -> Any:
        raise SpaceError(f"{self!r} has no input space yet: write (domain, metric) >> ... first")

    def __call__(self, *_: Any) -> Any:
        raise SpaceError(f"{self!r} has no input space yet: call the result of (domain, metric) >> {self!r}")

    def __repr__(self) -> str:
        shown = [repr(argument) for argument in self.arguments]
        shown += [f"{name}={_word(value)}" for name, value in self.options.items()]
        return f"{self.constructor.__name__.replace('make_', 'then_', 1)}({', '.join(shown)})"


def partial(constructor: Callable[..., Any]) -> Callable[..., Partial]:
    """The ``then_*`` form of a ``make_*`` constructor: the same arguments without the input space."""
    signature = inspect.signature(constructor)
    own = list(signature.parameters.values())[2:]
    shorter = signature.replace(parameters=own, return_annotation=Partial)

    def then(*args: Any, **kwargs: Any) -> Partial:
        try:
            shorter.bind(*args, **kwargs)
        except TypeError as error:
            mistake = str(error)
        else:
            return Partial(constructor, args, kwargs)
        raise ParameterTypeError(f"{then.__name__}: {mistake}; its signature is {then.__name__}{shorter}")

    then.__name__ = then.__qualname__ = constructor.__name__.replace("make_", "then_", 1)
    then.__module__ = constructor.__module__
    then.__doc__ = (
        f"``{constructor.__name__}`` without its input space: ``(domain, metric) >> {then.__name__}(...)``.\n\n"
        f"Takes the arguments of :func:`{constructor.__name__}` from the third on.\n"
    )
    then.__signature__ = shorter  # type: ignore[attr-defined]
    return then


def _word(value: Any) -> str:
    """``value`` as it shows itself, or its type where a number is too long for that."""
    try:
        return repr(value)
    except ValueError:
        return f"<{type(value).__name__}>"
