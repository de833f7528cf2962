"""No exception may hold data: everything reachable from an exception is searched for sentinel values."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

SENTINEL_INT = 918_273_645
SENTINEL_FLOAT = 918_273.640625
SENTINEL_TEXT = "zyxwvut-sentinel"
SENTINELS = (SENTINEL_INT, SENTINEL_FLOAT, SENTINEL_TEXT)


def leaks(error: BaseException, sentinels: tuple[Any, ...] = SENTINELS) -> list[str]:
    """Where ``error``, or an exception that it carries, holds a sentinel: as a value or inside a text."""
    texts = [str(sentinel) for sentinel in sentinels]
    found = []
    for path, value in _reachable(error, type(error).__name__, set()):
        if any(type(value) in (int, float) and value == s for s in sentinels if not isinstance(s, str)):
            found.append(path)
        if isinstance(value, str) and any(text in value for text in texts):
            found.append(path)
    return found


def raises_exactly(error: type[BaseException], call: Callable[[], Any], *fragments: str) -> BaseException:
    """``call()`` raises ``error`` itself, not a subclass; its message holds each fragment and no data."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error, f"{type(caught.value).__name__} instead of {error.__name__}"
    for fragment in fragments:
        assert fragment in str(caught.value), f"{fragment!r} is missing from the message {str(caught.value)!r}"
    assert leaks(caught.value) == []
    assert caught.value.__context__ is None, "raised inside an except block: the foreign exception travels with it"
    return caught.value


def _reachable(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(value) in seen:
        return
    if not isinstance(value, int | float | str):
        seen.add(id(value))
    yield path, value
    for name, part in _parts(value):
        yield from _reachable(part, f"{path}.{name}", seen)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseException):
        yield "args", list(value.args)
        yield "__dict__", dict(vars(value))
        for name in ("__cause__", "__context__", "__notes__"):
            yield name, getattr(value, name, None)
        yield "str", str(value)
    elif isinstance(value, np.ndarray):
        with np.printoptions(threshold=sys.maxsize):
            yield "str", str(value)
        yield "tolist", value.tolist()
    elif isinstance(value, np.generic):
        yield "item", value.item()
    elif isinstance(value, dict):
        yield from ((f"key {key!r}", key) for key in value)
        yield from ((repr(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((str(index), part) for index, part in enumerate(value))
    elif not isinstance(value, int | float | str):
        yield "repr", repr(value)
