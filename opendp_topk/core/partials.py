"""Constructors without their input space: the right side of ``(domain, metric) >> then_x(...)``."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, Never, ParamSpec, TypeVar

from ..errors import ParameterTypeError, SpaceError, checks
from ..errors.checks import require_names
from ..errors.experimental import warn_if_experimental
from ..spaces.domains import Domain
from ..spaces.metrics import Metric
from .rendering import argument_repr
from .spaces import as_space

P = ParamSpec("P")
Built = TypeVar("Built", covariant=True)
Domains = TypeVar("Domains", bound=Domain, contravariant=True)
Metrics = TypeVar("Metrics", bound=Metric, contravariant=True)


# proof-region: partials
@dataclass(frozen=True, repr=False)
class Partial(Generic[Domains, Metrics, Built]):
    """A constructor without its input space; ``(domain, metric) >> partial`` completes it.

    Its type parameters are the domains and metrics that it accepts, and the type of what it builds.
    """

    constructor: Callable[..., Built]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        checks.require_callable("constructor", self.constructor)
        checks.require_instance("arguments", self.arguments, tuple, "a tuple of the arguments after the input space")
        checks.require_instance("options", self.options, Mapping, "a mapping from names of arguments to their values")

    def build(self, input_domain: Domains, input_metric: Metrics) -> Built:
        """Return the transformation or measurement on this input space."""
        return self.constructor(input_domain, input_metric, *self.arguments, **self.options)  # [complete]

    def __hash__(self) -> int:
        return hash((self.constructor, self.arguments, frozenset(self.options.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        require_names((self.arguments, self.options))
        return Partial, (self.constructor, self.arguments, dict(self.options))

    def __rrshift__(self, space: tuple[Domains, Metrics]) -> Built:
        return self.build(*as_space(space, self))  # type: ignore[arg-type]

    def __rshift__(self, other: Never) -> None:
        raise SpaceError(f"{self!r} has no input space: write (domain, metric) >> ... first")

    def __call__(self, *_: Never) -> None:
        raise SpaceError(f"{self!r} has no input space: call the result of (domain, metric) >> {self!r}")

    def __repr__(self) -> str:
        given = [argument_repr(argument) for argument in self.arguments]
        given += [f"{name}={argument_repr(value)}" for name, value in dict(self.options).items()]
        name = getattr(self.constructor, "__name__", type(self.constructor).__name__)
        return f"{name.replace('make_', 'then_', 1)}({', '.join(given)})"


def partial_constructor(
    constructor: Callable[Concatenate[Domains, Metrics, P], Built],
) -> Callable[P, Partial[Domains, Metrics, Built]]:
    """Return the ``then_*`` form of a ``make_*`` constructor: the same arguments without the input space."""
    signature = inspect.signature(constructor)
    own = list(signature.parameters.values())[2:]
    shorter = signature.replace(parameters=own, return_annotation=Partial)

    def create_partial(*args: P.args, **kwargs: P.kwargs) -> Partial[Domains, Metrics, Built]:
        warn_if_experimental(constructor, create_partial.__name__)
        require_fitting_call(create_partial, args, kwargs)
        return Partial(constructor, args, kwargs)  # [as-given]

    create_partial.__name__ = create_partial.__qualname__ = constructor.__name__.replace("make_", "then_", 1)
    create_partial.__module__ = constructor.__module__
    create_partial.__doc__ = (
        f"``{constructor.__name__}`` without its input space: ``(domain, metric) >> "
        f"{create_partial.__name__}(...)``.\n\n"
        f"Takes the arguments of :func:`{constructor.__name__}` from the third on.\n"
    )
    create_partial.__signature__ = shorter  # type: ignore[attr-defined]
    return create_partial


# end-proof-region: partials


_OPENDP_ARGUMENTS = {"negate": "optimize"}


def require_fitting_call(function: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Raise an error with a hint if ``function`` does not accept these arguments."""
    mistake, signature = "", signature_of(function)
    try:
        required, accepted = _option_names(function, len(arguments))
        if not required <= options.keys() <= accepted:
            signature.bind(*arguments, **options)
    except TypeError as error:
        mistake = unknown_keyword(options, signature.parameters) or str(error)
    if mistake:
        name = function.__name__
        names = inspect.Signature([one.replace(annotation=one.empty) for one in signature.parameters.values()])
        raise ParameterTypeError(f"{name}: {mistake}; its signature is {name}{names}")


@functools.cache
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function that is never changed."""
    return inspect.signature(function)


@functools.cache
def _option_names(function: Callable[..., Any], count: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the required and of the accepted options after ``count`` positional arguments."""
    given = signature_of(function).bind_partial(*[None] * count).arguments
    left = [one for name, one in signature_of(function).parameters.items() if name not in given]
    named = {one.name for one in left if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    varied = {one.name for one in left if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    return frozenset({one.name for one in left if one.default is one.empty} - varied), frozenset(named)


def unknown_keyword(given: Iterable[str], accepted: Iterable[str]) -> str:
    """Return a message about the first keyword that is not accepted; empty if there is none."""
    known = list(accepted)
    for name in given:
        if name not in known:
            own = [_OPENDP_ARGUMENTS[name]] if _OPENDP_ARGUMENTS.get(name) in known else []
            near = own or difflib.get_close_matches(name, known, n=1)
            return f"there is no argument {name!r}" + "".join(f" (did you mean {one!r}?)" for one in near)
    return ""
