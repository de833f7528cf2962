"""Quantiles and distribution functions of the five noises and of others, from mpmath alone."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import exp, ldexp, log, log1p, mpf, tanh

NAMES = ("Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic")
OTHERS = ("AsymmetricLaplace", "Lomax", "Gapped")
"""Density (2/3) e^{-z} above 0 and (2/3) e^{2z} below; S(z) = 1 / (1 + z), z >= 0; exponential with the gap 1..7."""
GAP = 6


def number(value: Fraction | int) -> Any:
    """A rational at the present precision."""
    return mpf(value.numerator) / value.denominator


def dyadic(value: Any) -> Any:
    """An mpfr exactly: it is a dyadic rational."""
    mantissa, exponent = (int(part) for part in value.as_mantissa_exp())
    return ldexp(mpf(mantissa), exponent)


def _gumbel(u: Fraction) -> Any:
    return -log(-log(number(u)) if 2 * u < 1 else -log1p(-number(1 - u)))


def _exponential(u: Fraction) -> Any:
    return -log(number(1 - u))


def _half_logistic(u: Fraction) -> Any:
    return log(number((1 + u) / (1 - u)))


def _laplace(u: Fraction) -> Any:
    return log(number(2 * u)) if 2 * u < 1 else -log(number(2 * (1 - u)))


def _logistic(u: Fraction) -> Any:
    return log(number(u / (1 - u)))


def _asymmetric_laplace(u: Fraction) -> Any:
    return log(number(3 * u)) / 2 if 3 * u < 1 else -log(number(3 * (1 - u) / 2))


def _lomax(u: Fraction) -> Any:
    return number(u / (1 - u))


def _gapped(u: Fraction) -> Any:
    z = _exponential(u)
    return z if z < 1 else z + GAP


_ALL = _gumbel, _exponential, _half_logistic, _laplace, _logistic, _asymmetric_laplace, _lomax, _gapped
QUANTILE: dict[str, Callable[[Fraction], Any]] = dict(zip(NAMES + OTHERS, _ALL, strict=True))
"""F^{-1}(u) for a rational 0 < u < 1."""


def _without_gap(z: Any) -> Any:
    return max(z - GAP, min(max(z, 0), 1))


CDF: dict[str, Callable[[Any], Any]] = {
    "Gumbel": lambda z: exp(-exp(-z)),
    "Exponential": lambda z: 1 - exp(-z) if z > 0 else mpf(0),
    "HalfLogistic": lambda z: tanh(z / 2) if z > 0 else mpf(0),
    "Laplace": lambda z: exp(z) / 2 if z < 0 else 1 - exp(-z) / 2,
    "Logistic": lambda z: 1 / (1 + exp(-z)),
    "AsymmetricLaplace": lambda z: exp(2 * z) / 3 if z < 0 else 1 - 2 * exp(-z) / 3,
    "Lomax": lambda z: z / (1 + z) if z > 0 else mpf(0),
    "Gapped": lambda z: 1 - exp(-_without_gap(z)),
    "Sixth": lambda z: 2 * (1 - exp(-z)) / (2 + exp(-z)) if z > 0 else mpf(0),
}
"""F(z)."""
