"""Quantiles and distribution functions of the five noises, from mpmath alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import exp, log, log1p, mpf, tanh

NAMES = ("Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic")


def number(value: Fraction | int) -> Any:
    """A rational at the present precision."""
    return mpf(value.numerator) / value.denominator


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


QUANTILE: dict[str, Callable[[Fraction], Any]] = dict(
    zip(NAMES, (_gumbel, _exponential, _half_logistic, _laplace, _logistic), strict=True)
)
"""F^{-1}(u) for a rational 0 < u < 1."""

CDF: dict[str, Callable[[Any], Any]] = {
    "Gumbel": lambda z: exp(-exp(-z)),
    "Exponential": lambda z: 1 - exp(-z) if z > 0 else mpf(0),
    "HalfLogistic": lambda z: tanh(z / 2) if z > 0 else mpf(0),
    "Laplace": lambda z: exp(z) / 2 if z < 0 else 1 - exp(-z) / 2,
    "Logistic": lambda z: 1 / (1 + exp(-z)),
}
"""F(z)."""
