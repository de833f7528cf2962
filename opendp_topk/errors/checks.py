"""Checks of arguments and pickles. Every message states what is required, and none contains data."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeVar

from . import ParameterError, ParameterTypeError

T = TypeVar("T")
Number = int | float | Fraction
_NO_NUMBERS = ("bool", "bool_", "timedelta64", "ndarray")
_COMMON = float, int, Fraction  # these need no conversion
_BITS = 14_000  # longer numbers may exceed the 4300 digits that Python converts to text


# proof-region: checks
def is_integer(value: Any) -> bool:
    """Return True for Python and NumPy integers; booleans, time spans and arrays do not count as numbers."""
    if isinstance(value, bool) or type(value).__name__ in _NO_NUMBERS:  # [no-truth-values]
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def is_real(value: Any) -> bool:
    """Return True for integers, floats (also infinities and NaN) and exact rationals, but not for booleans."""
    named = type(value).__name__ not in _NO_NUMBERS
    return is_integer(value) or (named and isinstance(value, float | Rational))  # [real]


def require_positive_int(name: str, value: Any, *, at_most: int | None = None, limit: str = "") -> int:
    """Return ``value`` as an int if ``1 <= value <= at_most``; otherwise raise."""
    if not is_integer(value):
        raise ParameterTypeError(f"{name} must be an integer >= 1, not {type(value).__name__}")
    number = operator.index(value)
    require_short(number, ParameterError(f"{name} must be an integer of at most {_BITS} bits"))
    if number < 1:  # [at-least-one]
        raise ParameterError(f"{name} must be an integer >= 1")
    if at_most is not None and number > at_most:  # [at-most]
        raise ParameterError(f"{name} must be at most {limit or at_most} ({at_most})")
    return number


def require_scale(value: Any, name: str = "scale") -> Number:
    """Return ``value`` as a Python number if it is finite and >= 0; otherwise raise."""
    if not is_real(value):
        raise ParameterTypeError(f"{name} must be a number >= 0 (int, float or Fraction), not {type(value).__name__}")
    number = plain_number(value)  # [plain-first]
    if isinstance(number, float) and not math.isfinite(number):  # [finite]
        raise ParameterError(f"{name} must be finite")
    if number < 0:  # [not-negative]
        raise ParameterError(f"{name} must be >= 0")
    return require_short(number, ParameterError(f"{name} must be a number of at most {_BITS} bits"))


def require_finite(value: Any, name: str) -> Number:
    """Return ``value`` as a Python number if it is finite; otherwise raise."""
    if not is_real(value):
        raise ParameterTypeError(f"{name} must be a number (int, float or Fraction), not {type(value).__name__}")
    number = plain_number(value)  # [plain-first]
    require_scale(abs(number), name)  # [magnitude]
    return number


def require_distance(value: Any, name: str) -> Number:
    """Return ``value`` as a Python number if it is >= 0; otherwise raise. Infinity is a distance, NaN is not."""
    common = type(value) in _COMMON
    if not common and not is_real(value):
        raise ParameterError(f"{name} must be a number >= 0 (int, float or Fraction), not {type(value).__name__}")
    number: Number = value if common else plain_number(value)  # [plain-first]
    if isinstance(number, float):
        if number != number:  # [not-a-number]
            raise ParameterError(f"{name} must be a number >= 0, not NaN")
    elif _is_long(number):
        raise ParameterError(f"{name} must be a number of at most {_BITS} bits")
    if number < 0:  # [not-negative]
        raise ParameterError(f"{name} must be >= 0")
    return number


def require_probability(value: Any, name: str) -> Number:
    """Return ``value`` as a Python number if ``0 < value < 1``; otherwise raise."""
    if not is_real(value):
        raise ParameterTypeError(f"{name} must be a number in (0, 1), not {type(value).__name__}")
    number = plain_number(value)  # [plain-first]
    if not 0 < number < 1:  # [between]
        raise ParameterError(f"{name} must be strictly between 0 and 1")
    return number


def require_unit_interval(value: Any, name: str) -> Number:
    """Return ``value`` as a Python number if ``0 <= value <= 1``; otherwise raise."""
    if not is_real(value):
        raise ParameterTypeError(
            f"{name} must be a number in [0, 1] (int, float or Fraction), not {type(value).__name__}"
        )
    number = plain_number(value)  # [plain-first]
    if not 0 <= number <= 1:  # [between]
        raise ParameterError(f"{name} must be between 0 and 1")
    return number


def require_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``; otherwise raise."""
    if not isinstance(value, str):
        raise ParameterTypeError(f"{name} must be one of {', '.join(map(repr, choices))}, not {type(value).__name__}")
    if value not in choices:  # [choices]
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}")
    return value


def require_boolean(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False; otherwise raise."""
    if not isinstance(value, bool):
        raise ParameterTypeError(f"{name} must be True or False, not {type(value).__name__}")
    return value


def require_instance(name: str, value: T, kind: type[Any], hint: str) -> T:
    """Return ``value`` if it is an instance of ``kind``; otherwise raise an error with ``hint``, how to make one."""
    if not isinstance(value, kind):
        got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise ParameterTypeError(f"{name} must be {hint}, not {got}")
    return value


def require_callable(name: str, value: Any) -> Any:
    """Return ``value`` if it can be called; otherwise raise."""
    if not callable(value):
        raise ParameterTypeError(f"{name} must be callable, not {type(value).__name__}")
    return value


def parameters_dictionary(value: Any) -> dict[str, Any]:
    """Return the parameters of a measurement or transformation as a dictionary; None gives an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterTypeError(
            f"parameters must be a mapping from names to public values, not {type(value).__name__}"
        )
    return dict(value or {})


def plain_number(value: Any) -> Number:
    """Return a number of NumPy, gmpy2 or a derived type as the Python number with the same value."""
    if is_integer(value):
        return operator.index(value)
    if isinstance(value, float):
        return float(value)
    return Fraction(int(value.numerator), int(value.denominator))  # [same-value]


def plain_text(value: str) -> str:
    """Return a string of a derived type as a plain ``str``, regardless of its own methods."""
    return str.__str__(value)


def require_short(value: Number, error: Exception) -> Number:
    """Return ``value`` if it has few enough digits for Python to convert it to text; otherwise raise ``error``."""
    if not isinstance(value, float) and _is_long(value):
        raise error
    return value


def _is_long(value: int | Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS


# end-proof-region: checks


def require_names(value: Any) -> None:
    """Raise unless every function in ``value`` can be imported by the name of its module and its own."""
    if isinstance(value, list | tuple):
        for one in value:
            require_names(one)
    elif isinstance(value, Mapping):
        require_names(list(value.values()))
    elif isinstance(value, functools.partial):
        require_names([value.func, *value.args, *value.keywords.values()])
    elif callable(value) and not _has_name(value) and _is_code(value):
        raise ParameterTypeError(
            "a pickle of a measurement (including cloudpickle) stores functions by name, and "
            f"{getattr(value, '__qualname__', type(value).__qualname__)} has no importable name: define it "
            "with def at the top level of a module that the other process can import"
        )


def _is_code(value: Any) -> bool:
    """Return True if ``value`` is a function, a class, or of a class without an importable name.

    Other callable objects are pickled as their class defines.
    """
    return isinstance(value, type) or hasattr(value, "__code__") or not _has_name(type(value))


def _has_name(value: Any) -> bool:
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for part in getattr(value, "__qualname__", "<nameless>").split("."):
        found = getattr(found, part, None)
    return found is value
