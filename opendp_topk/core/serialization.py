"""Measurements and transformations as JSON: names of constructors and records, and their arguments.

Unlike a pickle, JSON can name only constructors, records and noises of this library, so reading it runs no other code.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
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
_CHAINS = chain_measurement, chain_transformations, post_process
_FUNCTIONS = {one.__name__: one for one in (IndexCandidates, BestCounts)}
_NOISES = "Exponential", "Gumbel", "HalfLogistic", "Laplace", "Logistic"
_PACKAGE = __package__.partition(".")[0]
_TYPES = {"int": int, "float": float}


def to_json(built: Any) -> str:
    """Return JSON from which :func:`from_json` rebuilds a measurement, a transformation or an odometer.

    Args:
        built: Result of constructors whose arguments are numbers, strings, collections of these, and values of this
            library, such as domains. Functions are refused, except ``index_candidates``, ``largest_counts`` and
            ``counts_from``.

    Returns:
        A string with the names of the constructors and their arguments.

    Raises:
        ParameterTypeError: ``built`` is not the unchanged result of a constructor, or an argument has another type.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0)
        >>> tk.from_json(tk.to_json(top)) == top
        True
    """
    if not isinstance(built, Claimed):
        raise ParameterTypeError(f"built must be a measurement or a transformation, not {type(built).__name__}")
    return json.dumps({"format": FORMAT, "built": _encode(built)})


def from_json(text: str) -> Any:
    """Return the measurement, transformation or odometer that :func:`to_json` wrote.

    It is built again, so its privacy map and its proof are those of this version of the library.

    Args:
        text: The JSON. It may come from a source that is not trusted.

    Returns:
        What the constructors return.

    Raises:
        ParameterError: ``text`` is not in the format of :func:`to_json`, or contains another name.
        TopKError: A constructor refuses its arguments.

    Example:
        >>> import opendp_topk as tk
        >>> noisy = tk.make_laplace(tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance(), tk.MaxDivergence(), scale=2)
        >>> tk.from_json(tk.to_json(noisy)).map(1)
        0.5
    """
    refusal: Exception = ParameterError(f"text must be JSON in the format {FORMAT}, as to_json writes it")
    try:
        found = json.loads(text)
        built = _decode(found["built"]) if found["format"] == FORMAT else None
        if isinstance(built, Claimed):
            return built
    except TopKError as error:
        refusal = error
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        pass
    raise refusal


def _encode(value: Any) -> Any:
    """Return a value for JSON; a dictionary with one key, except for a plain number, string or list."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [*map(_encode, value)]
    if kind is tuple:
        return {"tuple": [*map(_encode, value)]}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        return {"mapping": [[_encode(name), _encode(value[name])] for name in value]}
    if kind is Fraction:
        return {"fraction": str(value)}
    if isinstance(value, type) and _TYPES.get(value.__name__) is value:
        return {"type": value.__name__}
    if kind.__name__ == "Noise" and value.name in _NOISES and value == _find_noise(value.name):
        return {"noise": value.name}
    if isinstance(value, Claimed):
        recipe = value._own_claim().recipe
        if recipe is None:
            raise ParameterTypeError(
                f"this {kind.__name__.lower()} cannot be written as JSON, because it is not the unchanged result of a "
                "constructor of this library: build it where it is needed"
            )
        if recipe.constructor in _CHAINS:
            return {"chain": [*map(_encode, recipe.arguments)]}
        name, arguments, options = recipe.constructor.__name__, recipe.arguments, recipe.options
    elif is_dataclass(kind) and _find_callable(kind.__name__) is kind:
        name, arguments, options = kind.__name__, (), {one.name: getattr(value, one.name) for one in fields(value)}
    else:
        raise ParameterTypeError(
            f"an argument of the type {kind.__name__} cannot be written as JSON: give numbers, strings, lists or "
            "values of this library, or pickle the measurement"
        )
    return {"call": [name, [*map(_encode, arguments)], {one: _encode(options[one]) for one in options}]}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_decode, value)]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "call":
        name, arguments, options = content
        build = _find_callable(name)
        if build is None:
            raise ParameterError("text must name only constructors and values of this library")
        return build(*map(_decode, arguments), **{one: _decode(options[one]) for one in options})
    if kind == "chain":
        first, then = map(_decode, content)
        return first >> then
    known: dict[str, Callable[[Any], Any]] = {
        "tuple": lambda listed: tuple(map(_decode, listed)),
        "range": lambda ends: range(*ends),
        "mapping": _decode_mapping,
        "fraction": Fraction,
        "type": _TYPES.__getitem__,
        "noise": _find_noise,
    }
    return known[kind](content)


def _decode_mapping(pairs: list[Any]) -> dict[Any, Any]:
    """Return the mapping; what many keys share is built once."""
    once = {text: _decode(json.loads(text)) for text in {json.dumps(one) for _, one in pairs}}
    return {_decode(name): once[json.dumps(one)] for name, one in pairs}


def _find_noise(name: str) -> Any:
    return getattr(importlib.import_module(NAMESPACES["noise"], _PACKAGE), _NOISES[_NOISES.index(name)])()


def _find_callable(name: str) -> Any:
    """Return the public constructor or the class of values of this name; None if there is none."""
    if name not in HOMES:
        return _FUNCTIONS.get(name)
    found = getattr(importlib.import_module(HOMES[name], _PACKAGE), name)
    is_value = isinstance(found, type) and is_dataclass(found) and not issubclass(found, Claimed)
    return found if is_value or name.startswith("make_") else None
