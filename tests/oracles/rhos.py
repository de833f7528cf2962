"""The rho of four hypotheses, from the theorems and mpmath alone: rationals that are right to 10^-60 of themselves."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath


def _exact(function: Callable[..., Any], *arguments: Fraction) -> Fraction:
    """``function`` with so many digits that neither what cancels near 0 nor an e^-x for large x is lost."""
    digits = 80 + 3 * max(len(str(one.numerator)) + len(str(one.denominator)) for one in arguments)
    digits += int(min(5000, max(arguments)))
    with mpmath.workdps(digits):
        value = function(*(mpmath.mpf(one.numerator) / one.denominator for one in arguments))
        mantissa, exponent = value.man_exp
        return Fraction(int(mantissa)) * Fraction(2) ** exponent


def of_pure(epsilon: Fraction) -> Fraction:
    """What randomised response of loss epsilon costs."""
    return _exact(lambda e: e * mpmath.tanh(e / 2), epsilon) if epsilon else epsilon


def of_range(a: Fraction) -> Fraction:
    """The most that two laws of range a cost."""

    def worst(x: Any) -> Any:
        z = x / -mpmath.expm1(-x)
        return z - 1 - mpmath.log(z)

    return _exact(worst, a) if a else a


def of_laplace(loss: Fraction) -> Fraction:
    """What two Laplace laws of that loss cost."""
    return _exact(lambda e: e + mpmath.expm1(-e), loss) if loss else loss


def of_discrete_laplace(loss: Fraction, step: Fraction) -> Fraction:
    """What integer noise with odds e^-step costs, moved so far that its largest loss is ``loss``."""
    return _exact(lambda e, h: e + h / mpmath.sinh(h) * mpmath.expm1(-e), loss, step)
