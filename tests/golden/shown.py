"""A value as text that is the same on every machine: exact where it is exact, and readable in a diff.

A float is its shortest hexadecimal form, a rational a quotient, a number of mpmath has 25 digits; of what is long there
is a digest with the first entries. What went through the platform's exponentials and logarithms, whose last digits
differ between machines, is wrapped in :class:`Rough` and has ten digits.
"""

import functools
import hashlib
import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import numpy as np

from .names import tk

_LONG, _FIRST = 24, 6
_DIGITS = 25
EPSILONS = (0, Fraction(1, 10), Fraction(1, 2), 1, 3)
DELTAS = (Fraction(1, 10**6), Fraction(1, 100))
_MPQ, _MPZ = type(gmpy2.mpq()), type(gmpy2.mpz())


@dataclass(frozen=True)
class Rough:
    """A value of which ten digits count."""

    value: Any


def shown(value: Any, rough: bool = False) -> Any:
    """``value`` as JSON."""
    if isinstance(value, Rough):
        return shown(value.value, rough=True)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, np.generic):
        return shown(value.item(), rough)
    if isinstance(value, np.ndarray):
        return {str(value.dtype): _cut([shown(one, rough) for one in value.tolist()])}
    if isinstance(value, int | _MPZ):
        return int(value) if abs(value) < 2**53 else str(value) if abs(value) < 2**200 else digest(hex(value))
    if isinstance(value, float):
        return f"{value:.10g}" if rough else hexadecimal(value)
    if isinstance(value, Fraction | _MPQ):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, mpmath.mpf):
        return mpmath.nstr(value, _DIGITS)
    if isinstance(value, tk.PrivacyCurve):
        return curve(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(shown(key)): shown(one, rough) for key, one in value.items()}
    if isinstance(value, tk.Release):
        return {"Release": {name: shown(one, rough) for name, one in vars(value).items() if one is not None}}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {type(value).__name__: {name: shown(getattr(value, name), rough) for name in value._fields}}
    if isinstance(value, list | tuple):
        return _cut([shown(one, rough) for one in value])
    return text(repr(value))


def hexadecimal(value: float) -> str:
    """``float.hex`` without zeros at the end."""
    return re.sub(r"\.?0*p", "p", value.hex(), count=1) if np.isfinite(value) else str(value)


def curve(found: Any) -> Any:
    """Some of its points."""
    return {
        "delta": [shown(found.delta(epsilon), rough=True) for epsilon in EPSILONS],
        "epsilon": [shown(found.epsilon(delta), rough=True) for delta in DELTAS],
    }


def law(found: Mapping[Any, Any]) -> Any:
    """Outcomes and probabilities, in the order of the outcomes; of many the first, and a digest of all."""
    rows = sorted([json.dumps(shown(one)), shown(p)] for one, p in found.items())
    listed = [f"{outcome}: {p}" for outcome, p in rows]
    return listed if len(listed) <= 4 else {"outcomes": len(listed), "first": listed[:3], "sha256": digest(listed)}


def digest(value: Any) -> str:
    """Sixteen digits of the SHA-256 of what JSON makes of it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def text(words: str) -> str:
    """Without addresses, and without what depends on the state of the proofs."""
    words = re.sub(r" at 0x[0-9a-f]+", "", words)
    words = re.sub(r"\n +proof +=.*", "", words)
    words = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"<class \1>", words)
    return re.sub(r" \((?:current|stale|missing)\)", "", words)


def refusal(error: BaseException) -> Any:
    """The class of an error, and of the library's own the parameter with which its words begin; never the words."""
    first = re.match(r"\w+", str(error)) if isinstance(error, tk.errors.TopKError) else None
    about = f": {first[0]}" if first and first[0] in parameters() else ""
    return {"refused": f"{type(error).__name__}{about}"}


@functools.cache
def parameters() -> frozenset[str]:
    """The names of all parameters of public functions, classes and methods."""
    found: set[str] = set()
    for public in tk.all().values():
        own = vars(public).values() if inspect.isclass(public) else ()
        for one in (public, *own):
            if callable(one):
                found |= _parameters(one)
    return frozenset(found)


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def signature(found: Any) -> str:
    """The arguments of a function: names, kinds, defaults and types, without the modules of these."""
    try:
        return text(re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", str(inspect.signature(found)))).replace(
            "ForwardRef", ""
        )
    except (TypeError, ValueError):
        return "none"


def _cut(entries: list[Any]) -> Any:
    if len(entries) <= _LONG:
        return entries
    return {"length": len(entries), "first": entries[:_FIRST], "sha256": digest(entries)}
