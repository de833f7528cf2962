"""The parameters that a measurement or transformation shows: a mapping that nobody can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import checks


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(Mapping[str, Any]):
    """Names and public values, in the order in which they are shown; read-only."""

    _values: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", MappingProxyType(dict(self._values)))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self._values))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters, (dict(self._values),)


def read_only(values: Mapping[str, Any]) -> Parameters:
    """``values`` as parameters; those that are parameters already stay the same object."""
    return values if isinstance(values, Parameters) else Parameters(checks.parameters(values))
