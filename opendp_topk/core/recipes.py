"""How a measurement or transformation is written into a pickle: by the names and arguments that build it again."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import proof
from ..errors import PickleError

_PACKAGE = Path(__file__).resolve().parents[1]
_WITHOUT_CLAIMS = ("audit", "cli")


@dataclass(frozen=True)
class Recipe:
    """A constructor of the library and the arguments with which it was called."""

    constructor: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    @staticmethod
    def of(constructor: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Recipe:
        """The recipe of a call; what could change or run out afterwards is copied first."""
        kept = {name: _kept(value) for name, value in options.items()}
        return Recipe(constructor, tuple(map(_kept, arguments)), kept)

    def pickled(self) -> tuple[Any, ...]:
        """What ``__reduce_ex__`` returns.

        Raises:
            PickleError: An argument is a function that has no name in a module.
        """
        require_names((self.arguments, self.options))
        return rebuilt, (claims_digest(), self.constructor, self.arguments, dict(self.options))


def rebuilt(digest: str, constructor: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What ``constructor`` makes of the arguments, if this library is the one that wrote the pickle.

    Raises:
        PickleError: The sources or the proofs of the library are others.
    """
    if digest != claims_digest():
        raise PickleError(
            "this pickle was written by a library with other sources or other proofs, so what was claimed there may "
            "not hold here: install the same version in both places, or build the measurement here"
        )
    return constructor(*arguments, **options)


@functools.cache
def claims_digest() -> str:
    """The SHA-256 of all proof documents and of the sources of the package, without the audit and the command."""
    total = hashlib.sha256()
    sources = [path for path in _PACKAGE.rglob("*.py") if path.relative_to(_PACKAGE).parts[0] not in _WITHOUT_CLAIMS]
    for root, paths in ((_PACKAGE, sources), (proof.folder(), proof.folder().rglob("*.tex"))):
        for name, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
            content = path.read_bytes()
            total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


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


def _kept(value: Any) -> Any:
    if isinstance(value, Iterator):
        return tuple(value)
    if isinstance(value, list | dict | np.ndarray):
        return value.copy()
    return value
