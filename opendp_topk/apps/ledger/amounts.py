"""Amounts of a budget as exact rationals: one for each number of a measure's distance.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import functools
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, ParameterTypeError, checks
from ...numerics.arithmetic import exact, round_down, round_up
from ...spaces.measures import Approximate, Measure

Amount = tuple[Fraction, ...]
UNBOUNDED: Any = math.inf  # as an amount: more than any other
_WRITTEN = re.compile(r"\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?|\d{1,300}/\d{1,300}", re.ASCII)
# Sums of float64 losses need at most 1024 + 1074 bits; twice that is room for any sum, and shorter than what Python
# refuses to write in decimals.
_BITS = 4300
_WRITTEN_BITS = 3 * _BITS  # of a denominator; Python reads and writes 4300 decimal digits
_SPELT = 10**9  # whole numbers below it are spelt out
# Charges have a common denominator, so that sums stay short however many there are: decimals of 24 places, fractions of
# numbers up to 100 and products of such are exact, and what is finer is charged less than 10^-95 more.
_GRID = 2**104 * 10**24 * math.lcm(*range(1, 101))
_DUST = 10**12  # what is left of a budget below this part of it is shown as nothing


# proof-region: amounts
def stated(value: Any, name: str) -> Fraction:
    """What a person wrote, exactly: ``0.1`` is one tenth, as a float, a Decimal or a text.

    Raises:
        ParameterError: It is no finite number >= 0, or one with too many digits.
    """
    if isinstance(value, str | Decimal):
        return _bounded(_read(checks.plain_text(value if isinstance(value, str) else str(value)), name), name)
    if not checks.is_real(value):
        raise ParameterTypeError(f"{name} must be a number >= 0 (int, float, Fraction, Decimal or its text)")
    number = checks.plain(value)  # [plain]
    if isinstance(number, float) and math.isfinite(number):
        return _bounded(_read(repr(number), name), name)  # [shortest]
    if isinstance(number, float) or number < 0:
        raise ParameterError(f"{name} must be a finite number >= 0")
    return _bounded(exact(number), name)


def _read(text: str, name: str) -> Fraction:
    text = text.strip()
    if _WRITTEN.fullmatch(text) and not re.search(r"/0+$", text):
        return Fraction(text)  # [decimal]
    raise ParameterError(f"{name} must be a finite number >= 0, such as 0.1 or 1/3, of at most 300 digits")


def _bounded(value: Fraction, name: str) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS:
        raise ParameterError(f"{name} must be a number of at most {_BITS} bits")
    return value


def amount(measure: Measure, distance: Any) -> Amount | None:
    """What a loss of ``distance`` under ``measure`` is charged: the exact numbers, or as little above them as

    keeps sums short; None where the distance promises nothing.
    """
    given = distance if isinstance(measure, Approximate) else (distance,)
    parts = [checks.distance(part, "the loss") for part in given]  # [not-negative]
    if any(part == float("inf") for part in parts):
        return None  # [infinite]
    return tuple(on_grid(exact(part)) for part in parts)  # [exact]


def on_grid(value: Fraction) -> Fraction:
    """``value``, if the grid has it; otherwise the next number above that the grid has, or that is a float64."""
    if _GRID % value.denominator == 0:
        return value
    above, near = Fraction(math.ceil(value * _GRID), _GRID), round_up(value)
    return above if near == math.inf else min(above, exact(near))  # [grid-up]


def total(spent: Amount, cost: Amount) -> Amount:
    return tuple(one + other for one, other in zip(spent, cost, strict=True))  # [sum]


def fits(spent: Amount, budget: Amount) -> bool:
    return all(one <= other for one, other in zip(spent, budget, strict=True))  # [fits]


# end-proof-region: amounts


def distance_up(measure: Measure, value: Amount) -> Any:
    """``value`` as a distance of ``measure``, each number rounded up; it is so exactly, or as the decimal it reads."""
    return _distance(measure, tuple(map(_reads_above, value)))


def left(measure: Measure, budget: Amount, spent: Amount) -> Any:
    """What of ``budget`` is left, rounded down to what fits if it is typed again; 0 where it is next to nothing."""
    return _distance(measure, tuple(map(rest_below, budget, spent)))


def rest_below(limit: Fraction, spent: Fraction) -> float:
    """What is left of ``limit``, rounded down; 0 where it is next to nothing."""
    rest = limit - spent
    return reads_below(rest) if rest * _DUST > limit else 0.0


def _reads_above(value: Fraction) -> float:
    """The least float64 that is not below ``value``, as it is or as the decimal that it is written as."""
    if value == UNBOUNDED:
        return math.inf
    found = round_up(value)
    below = math.nextafter(found, -math.inf)
    return below if below > 0 and Fraction(repr(below)) >= value else found


def reads_below(value: Fraction) -> float:
    """The largest float64 whose decimal is not above ``value`` > 0."""
    near = round_down(value)
    tried = math.nextafter(near, math.inf), near, math.nextafter(near, 0.0)
    return next((one for one in tried if one < math.inf and Fraction(repr(one)) <= value), 0.0)


def _distance(measure: Measure, parts: tuple[float, ...]) -> Any:
    return parts if isinstance(measure, Approximate) else parts[0]


def written(value: Amount) -> str:
    """The exact numbers as people write them: decimals where they are short, fractions otherwise."""
    return ", ".join(map(_decimal, value))


def _decimal(value: Fraction) -> str:
    if value == UNBOUNDED:
        return "inf"
    short = repr(float(value)) if value < 2**1000 else ""
    if value.denominator == 1 and value < _SPELT:
        return str(value)
    return short if short and Fraction(short) == value else str(value)


def to_texts(value: Amount) -> list[str]:
    """As a record has it.

    Raises:
        ParameterError: It is the sum of stated amounts with so many digits that Python would not read it again.
    """
    if any(part != UNBOUNDED and part.denominator.bit_length() > _WRITTEN_BITS for part in value):
        raise ParameterError(
            "cost must have fewer digits, as the sum of all is written out: give decimals of at most 24 places, or "
            "fractions of numbers up to 100"
        )
    return list(map(str, value))


def from_texts(texts: Any) -> Amount:
    """The inverse of :func:`to_texts`.

    Raises:
        ValueError: They are none that it writes.
    """
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise ValueError
    return tuple(map(_from_text, texts))


@functools.lru_cache(4096)  # the same costs come again and again
def _from_text(text: str) -> Fraction:
    part = UNBOUNDED if text == "inf" else Fraction(text)
    if str(part) != text or part < 0:
        raise ValueError
    return part
