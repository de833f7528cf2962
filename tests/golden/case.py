"""A case: a name, and how its value is computed."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from .shown import refusal, shown
from .store import Cases

Case = tuple[str, Callable[[], Any]]


def named(*words: Any, **options: Any) -> str:
    """The name of a case: its words, and options as ``k=2``."""
    return " ".join([*map(str, words), *(f"{name}={value}" for name, value in options.items())])


def value_of(compute: Callable[[], Any]) -> Any:
    """The value as JSON; a refusal is one, too."""
    try:
        found = shown(compute())
    except Exception as error:  # every refusal is a value
        found = refusal(error)
    return json.loads(json.dumps(found))


def valued(cases: Iterable[Case]) -> Cases:
    """All values by name.

    Raises:
        ValueError: Two cases have one name.
    """
    found: Cases = {}
    for name, compute in cases:
        if name in found:
            raise ValueError(f"two cases are named {name!r}")
        found[name] = value_of(compute)
    return found
