"""Measurements and transformations as JSON. Reading it calls only constructors and classes of this library."""

from __future__ import annotations

import importlib
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from ..errors import ParameterError, ParameterTypeError, TopKError
from .candidates import BestCounts, IndexCandidates
from .claims import Claimed
from .measurement import post_process
from .public_names import HOMES, NAMESPACES
from .transformation import chain_measurement, chain_transformations

FORMAT = "opendp_topk/recipe/1"
_PACKAGE = __package__.partition(".")[0]
_CHAINS = chain_measurement, chain_transformations, post_process
_ARGUMENTS: dict[type, Callable[[Any], list[Any]]] = {
    tuple: lambda value: [list(value)],
    dict: lambda value: [[*map(list, value.items())]],
    range: lambda value: [value.start, value.stop, value.step],
    Fraction: lambda value: [value.numerator, value.denominator],
    type: lambda value: [value.__name__],
}
_CALLABLES: dict[str, Callable[..., Any]] = {
    **{one.__name__: one for one in (tuple, dict, range, IndexCandidates, BestCounts)},
    "Fraction": lambda numerator, denominator: Fraction(numerator, denominator),  # of one text it computes any power
    "type": lambda name: {"int": int, "float": float}[name],
    ">>": operator.rshift,
}


def to_json(built: Any) -> str:
    """Return JSON from which :func:`from_json` rebuilds a measurement, a transformation or an odometer.

    Args:
        built: Result of constructors whose arguments are numbers, strings, collections of these, and values of this
            library. Functions are refused, except ``index_candidates``, ``largest_counts`` and ``counts_from``.

    Returns:
        A string with the names of the constructors and their arguments.

    Raises:
        ParameterTypeError: ``built`` is not the unchanged result of a constructor, or an argument has another type.
        ParameterError: A number has more than 4300 digits.

    Example:
        >>> import opendp_topk as tk
        >>> noisy = tk.make_laplace(tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance(), tk.MaxDivergence(), scale=2)
        >>> tk.from_json(tk.to_json(noisy)) == noisy
        True
    """
    written = {"format": FORMAT, "built": _encode(built)}
    with suppress(ValueError):
        return json.dumps(written)
    raise ParameterError("built must contain numbers of at most 4300 digits")


def from_json(text: str) -> Any:
    """Return what :func:`to_json` wrote, built again: its privacy map and its proof are those of this library.

    Args:
        text: The JSON. A source that is not trusted can ask for long work, but can run nothing else.

    Returns:
        The measurement, transformation or odometer.

    Raises:
        ParameterError: ``text`` is not in the format of :func:`to_json`, or contains another name.
        TopKError: A constructor refuses its arguments.

    Example:
        >>> import opendp_topk as tk
        >>> noisy = tk.make_laplace(tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance(), tk.MaxDivergence(), scale=2)
        >>> tk.from_json(tk.to_json(noisy)).map(1)
        0.5
    """
    try:
        found = json.loads(text)
        if found["format"] == FORMAT and isinstance(built := _decode(found["built"], {}), Claimed):
            return built
    except TopKError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        pass
    raise ParameterError(f"text must be JSON in the format {FORMAT}, as to_json writes it")


def _encode(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [*map(_encode, value)]
    name, arguments, options = _find_call(value)
    return {"call": [name, [*map(_encode, arguments)], {one: _encode(options[one]) for one in options}]}


def _find_call(value: Any) -> tuple[str, Iterable[Any], Mapping[str, Any]]:
    """Return the name and the arguments of the call that makes the value."""
    kind = type(value)
    if kind in _ARGUMENTS:
        return kind.__name__, _ARGUMENTS[kind](value), {}
    recipe = value._own_claim().recipe if isinstance(value, Claimed) else None
    if recipe is not None:
        name = ">>" if recipe.constructor in _CHAINS else recipe.constructor.__name__
        if _find_callable(name) is not None:
            return name, recipe.arguments, recipe.options
    if kind.__name__ == "Noise" and value.is_proven:
        return value.name, (), {}
    if _find_callable(kind.__name__) is kind:
        return kind.__name__, (), {one.name: getattr(value, one.name) for one in fields(value)}
    raise ParameterTypeError(
        f"a value of the type {kind.__name__} cannot be written as JSON: give the unchanged result of a constructor, "
        "whose arguments are numbers, strings, lists and values of this library"
    )


def _decode(value: Any, built: dict[str, Any]) -> Any:
    """Return the value; equal calls are made once, so that groups that shared a measurement share it again."""
    if isinstance(value, list):
        return [_decode(one, built) for one in value]
    if not isinstance(value, dict):
        return value
    text = json.dumps(value)
    if text not in built:
        name, arguments, options = value["call"]
        build = _find_callable(name)
        if build is None:
            raise ParameterError("text must name only constructors and values of this library")
        built[text] = build(*_decode(arguments, built), **{one: _decode(options[one], built) for one in options})
    return built[text]


def _find_callable(name: str) -> Any:
    """Return the public constructor, the noise or the class of values of this name; None if there is none.

    Maps that a caller supplied are not read, because a text could claim any.
    """
    if name.startswith("make_user_"):
        return None
    if name not in HOMES:
        noises = importlib.import_module(NAMESPACES["noise"], _PACKAGE)
        return getattr(noises, name) if name in noises.__all__ else _CALLABLES.get(name)
    found = getattr(importlib.import_module(HOMES[name], _PACKAGE), name)
    is_value = isinstance(found, type) and is_dataclass(found) and not issubclass(found, Claimed)
    return found if is_value or name.startswith("make_") else None
