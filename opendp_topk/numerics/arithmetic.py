"""Exact rationals and directed rounding.

Privacy maps are evaluated in exact rational arithmetic and rounded once, upward. A transcendental bound is
evaluated by MPFR, whose results are correctly rounded in the requested direction. A function ``*_up`` never
returns less than the exact value, a function ``*_down`` never more.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from ..errors import ParameterError, checks
from ..errors.checks import Number

# float64 has 53 binary digits. With 128 digits, only the final outward rounding is visible.
# proof-region: rounding
_DOUBLE = 53
_WIDE = 128
_UP = gmpy2.RoundUp
_DOWN = gmpy2.RoundDown


def to_fraction(value: Number) -> Fraction:
    """Return ``value`` as a rational; every finite float is one."""
    return Fraction(value)  # [exact]


def round_up(value: Fraction | int) -> float:
    """Return the smallest float64 that is not below ``value`` (infinity above the largest finite float)."""
    nearest = _nearest_float(value)
    return nearest if _is_at_least(nearest, value) else math.nextafter(nearest, math.inf)  # [round-up]


def round_down(value: Fraction | int) -> float:
    """Return the largest float64 that is not above ``value``."""
    return -round_up(-value)  # [round-down]


def scaled_log_up(factor: Fraction, value: Fraction | int) -> float:
    """Return a float64 that is not below ``factor * ln(value)``, for ``factor >= 0`` and ``value >= 1``."""
    with gmpy2.context(precision=_WIDE, round=_UP):
        product = mpfr(as_mpq(factor)) * _log_up(value)  # [scaled-log]
    return _to_float_up(product)


def _nearest_float(value: Fraction | int) -> float:
    """Return the float64 nearest to ``value``; Python rounds the quotient of two integers correctly."""
    try:
        return float(value)  # [nearest]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # [overflow]


def _is_at_least(number: float, value: Fraction | int) -> bool:
    """Return whether ``number >= value``, by integers: Python's own comparison is several times slower."""
    if math.isinf(number):
        return number > 0  # [infinite]
    above, below = number.as_integer_ratio()
    return above * value.denominator >= value.numerator * below  # [at-least]


def _log_up(value: Fraction | int) -> mpfr:
    with gmpy2.context(precision=_WIDE, round=_UP):
        return gmpy2.log(mpfr(as_mpq(Fraction(value))))  # [log]


def _to_float_up(value: mpfr) -> float:
    with gmpy2.context(precision=_DOUBLE, round=_UP, emin=-1073, emax=1024, subnormalize=True):
        return float(mpfr(value))  # [double]


def as_mpq(value: Fraction | mpq | int) -> mpq:
    """Convert ``value`` by its two integers: if a signal interrupts gmpy2's own conversion, it rejects the fraction."""
    return mpq(value.numerator, value.denominator)


# end-proof-region: rounding


# Losses at common scales stay exact; others, and logarithms, are shortened, so their sums stay short.
# proof-region: shortened
_KEPT_BITS = 256


def shortened_up(value: Fraction) -> Fraction:
    """Return ``value``; if its denominator has more than 256 bits, a rational above it by less than 2^-127 of it."""
    if value.denominator.bit_length() <= _KEPT_BITS or value <= 0:
        return value
    bits = _WIDE + value.denominator.bit_length() - value.numerator.bit_length()
    unit = Fraction(2) ** bits
    return math.ceil(value * unit) / unit  # [shortened]


# end-proof-region: shortened


# proof-region: as_written
def printed_fraction(value: Number) -> Fraction:
    """Return the decimal that a float prints as (one tenth for 0.1), and any other number exactly."""
    return Fraction(repr(float(value))) if isinstance(value, float) else to_fraction(value)  # [decimal]


# end-proof-region: as_written


Interval = tuple[mpfr, mpfr]


# proof-region: intervals
_MOST_DIGITS = 2**30  # about the limit of MPFR; longer numbers would not fit into memory
_KEPT = 64  # cached contexts, one a precision: levels double the precision, so few are in use


class Intervals:
    """Interval arithmetic by MPFR at one precision: lower ends rounded down, upper ends rounded up.

    An interval is a pair (lower, upper) of ``gmpy2.mpfr`` numbers. Each method returns an interval that contains the
    result of its operation at all points of its arguments.
    """

    def __init__(self, precision: int) -> None:
        self._down, self._up = _rounding_contexts(
            checks.require_positive_int("precision", precision, at_most=_MOST_DIGITS)
        )

    def rational(self, value: mpq | int) -> Interval:
        """Return an interval that contains the rational ``value``."""
        return self._down.add(value, mpfr(0)), self._up.add(value, mpfr(0))  # [rational]

    def log(self, x: Interval) -> Interval:
        """Return the logarithm of a nonnegative interval; ln 0 = -inf."""
        return self._down.log(x[0]), self._up.log(x[1])  # [increasing]

    def log1p(self, x: Interval) -> Interval:
        """Return ln(1 + x) for x >= -1; it is accurate also if x is small."""
        return self._down.log1p(x[0]), self._up.log1p(x[1])  # [increasing]

    def negative(self, x: Interval) -> Interval:
        """Return the negative; it is exact if the ends of ``x`` have this precision."""
        return self._down.minus(x[1]), self._up.minus(x[0])  # [negative]

    def add(self, x: Interval, y: Interval) -> Interval:
        """Return the sum."""
        return self._down.add(x[0], y[0]), self._up.add(x[1], y[1])  # [add]

    def exp(self, x: Interval) -> Interval:
        """Return the exponential."""
        return self._down.exp(x[0]), self._up.exp(x[1])  # [increasing]

    def multiply(self, x: Interval, y: Interval) -> Interval:
        """Return the product of two finite intervals."""
        ends = [(a, b) for a in x for b in y]
        return min(self._down.mul(a, b) for a, b in ends), max(self._up.mul(a, b) for a, b in ends)  # [multiply]

    def divide(self, x: Interval, y: Interval) -> Interval:
        """Return the quotient of two finite intervals; the divisor must be positive."""
        ends = [(a, b) for a in x for b in y]
        return min(self._down.div(a, b) for a, b in ends), max(self._up.div(a, b) for a, b in ends)  # [divide]


@functools.lru_cache(maxsize=_KEPT)
def _rounding_contexts(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    if precision < 2:
        raise ParameterError("precision must be at least 2")
    return gmpy2.context(precision=precision, round=_DOWN), gmpy2.context(precision=precision, round=_UP)


# end-proof-region: intervals


# Numbers below e^-800 = 2^-1155 are not float64: e^-800 bounds them from above, and its rational stays short.
# proof-region: exponential_bounds
_LEAST_EXPONENT = -800


def exp_up(x: Fraction) -> Fraction:
    """Return a rational that is not below e^x, for x <= 0; at least 2^-1155."""
    return _evaluate_rational(
        gmpy2.context(precision=_WIDE, round=_UP), "exp", max(x, Fraction(_LEAST_EXPONENT))
    )  # [exp]


def one_minus_exp_up(x: Fraction) -> Fraction:
    """Return a rational that is not below 1 - e^-x, for x >= 0."""
    return -_evaluate_rational(gmpy2.context(precision=_WIDE, round=_DOWN), "expm1", -x)  # [one-minus]


def one_minus_exp_down(x: Fraction) -> Fraction:
    """Return a rational that is not above 1 - e^-x, for x >= 0, and positive for x > 0."""
    return -_evaluate_rational(gmpy2.context(precision=_WIDE, round=_UP), "expm1", -x)  # [one-minus]


def log1p_down(x: Fraction) -> Fraction:
    """Return a rational that is not above ln(1 + x), for x >= 0."""
    return _evaluate_rational(gmpy2.context(precision=_WIDE, round=_DOWN), "log1p", x)  # [log1p]


def _evaluate_rational(context: gmpy2.context, function: str, x: Fraction) -> Fraction:
    """Evaluate an increasing function at ``x``; argument and value are rounded in the direction of ``context``."""
    numerator, denominator = getattr(context, function)(context.add(as_mpq(x), mpfr(0))).as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


# end-proof-region: exponential_bounds
