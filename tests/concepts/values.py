"""Domains, metrics, measures and partial constructors are values: equal by content, hashable, frozen."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def check_value(make: Callable[[], Any], others: Iterable[Any] = ()) -> None:
    """Two calls of ``make`` give equal, equally hashed values, which differ from all ``others``."""
    first, second = make(), make()
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)
    assert copy.deepcopy(first) == first
    assert len({first, second}) == 1
    for other in others:
        assert first != other
        assert other != first
        assert len({first, other}) == 2
    for name in [field.name for field in dataclasses.fields(first)] or ["anything"]:
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(first, name, None)
    assert first == second


def check_plain_value(make: Callable[[], Any], namespace: dict[str, Any]) -> None:
    """The repr of the value is the expression that builds it, and it survives a pickle."""
    value = make()
    assert eval(repr(value), dict(namespace)) == value
    assert repr(eval(repr(value), dict(namespace))) == repr(value)
    assert pickle.loads(pickle.dumps(value)) == value


def named(value: Any) -> str:
    """The repr of a parameter as a name of its test, without the addresses that differ from run to run."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
