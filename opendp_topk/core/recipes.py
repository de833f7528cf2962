"""Pickles of measurements and transformations: the names and arguments of the constructors that rebuild them."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import proof
from ..errors import CapacityError, ParameterError
from ..errors.by_name import require_names

_PACKAGE = Path(__file__).resolve().parents[1]
_DEEPEST = 64  # each level takes up to ten nested calls, of which Python allows a thousand
_MOST = 2**24  # values that are read from an iterator, which may be endless
_WITHOUT_CLAIMS = ("apps/audit", "apps/cli")


@dataclass(frozen=True)
class Recipe:
    """A constructor of the library and the arguments with which it was called."""

    constructor: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    @staticmethod
    def from_call(constructor: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Recipe:
        """Return the recipe of a call; mutable arguments and iterators are copied."""
        kept = {name: _copy_argument(value) for name, value in options.items()}
        return Recipe(constructor, tuple(map(_copy_argument, arguments)), kept)

    def __post_init__(self) -> None:
        if self.nesting_depth > _DEEPEST:
            raise CapacityError(
                f"measurements may be nested or chained at most {_DEEPEST} times: compose a list of "
                "measurements at once, or combine the functions after a release"
            )

    @functools.cached_property
    def nesting_depth(self) -> int:
        """The number of constructors nested within each other; thousands would exceed Python's recursion limit."""
        return 1 + max(map(_argument_depth, [*self.arguments, *self.options.values()]), default=0)

    @functools.cached_property
    def comparison_key(self) -> Hashable:
        """A value that is equal for recipes that build the same: the constructor and its bound arguments."""
        bound = inspect.signature(self.constructor).bind(*self.arguments, **self.options)
        bound.apply_defaults()
        return self.constructor, _comparable_value(dict(bound.arguments))

    def pickle_reduction(self) -> tuple[Any, ...]:
        """Return the result of ``__reduce_ex__``.

        Raises:
            ParameterTypeError: An argument is a function without a name in a module.
        """
        require_names((self.arguments, self.options))
        return rebuild_from_pickle, (claims_digest(), self.constructor, self.arguments, dict(self.options))


def rebuild_from_pickle(
    digest: str, constructor: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return what ``constructor`` builds from the arguments, if this library is the one that wrote the pickle.

    Raises:
        ParameterError: The sources or the proofs of the library differ.
    """
    if digest != claims_digest():
        raise ParameterError(
            "this pickle was written by a library with other sources or proofs, so its claims may not be "
            "valid here: install the same version in both places, or build the measurement here"
        )
    return constructor(*arguments, **options)


@functools.cache
def claims_digest() -> str:
    """Return the SHA-256 of all proof documents and of all sources except those of the audit and the command."""
    total = hashlib.sha256()
    without = [_PACKAGE / room for room in _WITHOUT_CLAIMS]
    sources = [path for path in _PACKAGE.rglob("*.py") if not any(map(path.is_relative_to, without))]
    for root, paths in ((_PACKAGE, sources), (proof.documents_folder(), proof.documents_folder().rglob("*.tex"))):
        for name, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
            content = path.read_bytes()
            total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _argument_depth(argument: Any) -> int:
    """Return the depth of a measurement or transformation, or the largest in a list of these; 0 for anything else."""
    if type(argument) in (list, tuple) and len(argument) and hasattr(argument[0], "_claim"):
        return max(map(_argument_depth, argument))
    recipe = getattr(getattr(argument, "_claim", None), "recipe", None)
    return recipe.nesting_depth if isinstance(recipe, Recipe) else 0


def _comparable_value(value: Any) -> Hashable:
    """Return a hashable value that is equal for equal arguments; an unhashable argument equals only itself."""
    if isinstance(value, Mapping):
        return frozenset((name, _comparable_value(one)) for name, one in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, _comparable_value(value.ravel().tolist())
    if isinstance(value, list | tuple):
        return tuple(map(_comparable_value, value))
    return value if isinstance(value, Hashable) else ("at", id(value))


def _copy_argument(value: Any) -> Any:
    if isinstance(value, Iterator):
        listed = tuple(itertools.islice(value, _MOST + 1))
        if len(listed) > _MOST:
            raise ParameterError(f"an argument is an iterator of more than {_MOST:,} values: give a list")
        return listed
    if isinstance(value, list | dict | np.ndarray):
        return value.copy()
    return value
