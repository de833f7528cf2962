"""Conversions between measures against exact formulas and against 60-digit optima."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath

from tests.mutation.library import tk
from tests.mutation.oracles import expect, is_rounded_up, number

_NUMBERS = (0.1, 0.3, 1.7)


def check() -> None:
    """Nothing is converted to less than its formula, or to much more."""
    pure, ranged, zcdp = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
    for a in map(Fraction, _NUMBERS):
        for source, convert, exact in (
            (pure, tk.make_pureDP_to_range, 2 * a),
            (pure, tk.make_pureDP_to_zCDP, a * a / 2),
            (ranged, tk.make_range_to_pureDP, a),
            (ranged, tk.make_range_to_zCDP, a * a / 8),
        ):
            found = convert(_with_loss(source, float(a))).map(1)
            expect(found >= exact, f"{convert.__name__} rounds down")
            expect(is_rounded_up(found, exact), f"{convert.__name__} gives more than its formula")
        for epsilon in (0.0, 0.05, 0.2, 1.0):
            _curve(
                "a range", tk.make_range_to_approxDP(_with_loss(ranged, float(a))).map(1), epsilon, _range(a, epsilon)
            )
            _curve("zCDP", tk.make_zCDP_to_approxDP(_with_loss(zcdp, float(a))).map(1), epsilon, _renyi(a, epsilon))
    curve = tk.make_zCDP_to_approxDP(_with_loss(zcdp, 0.3)).map(1)
    expect(curve.delta(curve.epsilon(1e-6)) <= 1e-6, "the epsilon of a curve does not meet its delta")
    expect(curve.delta(math.nextafter(curve.epsilon(1e-6), 0)) > 1e-6, "the epsilon of a curve is not the least")
    fixed = tk.make_fix_delta(tk.make_zCDP_to_approxDP(_with_loss(zcdp, 0.3)), delta=1e-6)
    expect(fixed.map(1) == (curve.epsilon(1e-6), 1e-6), "a fixed delta gives another epsilon than the curve")


def _with_loss(measure: Any, loss: float) -> Any:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    return tk.make_user_measurement(*space, measure, function=len, privacy_map=lambda d_in: loss * d_in)


def _curve(what: str, curve: Any, epsilon: float, true: Any) -> None:
    found = curve.delta(epsilon)
    with mpmath.workdps(60):
        expect(mpmath.mpf(found) >= true, f"the curve of {what} is below its bound at epsilon = {epsilon}")
        expect(mpmath.mpf(found) <= true * (1 + mpmath.mpf(2) ** -40), f"the curve of {what} is loose at {epsilon}")


def _range(a: Fraction, epsilon: float) -> Any:
    with mpmath.workdps(60):
        if epsilon >= a:
            return mpmath.mpf(0)
        left = -mpmath.expm1(-number(a - Fraction(epsilon)) / 2)
        return left**2 / -mpmath.expm1(-number(a))


def _renyi(rho: Fraction, epsilon: float) -> Any:
    """The least bound over all orders, by bisection of the derivative of its logarithm in alpha - 1."""
    with mpmath.workdps(60):
        r, e = number(rho), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(2) ** -40, mpmath.mpf(2) ** 40
        for _ in range(200):
            b = mpmath.sqrt(low * high)
            low, high = (b, high) if (2 * b + 1) * r - e < mpmath.log1p(1 / b) else (low, b)
        b = (low + high) / 2
        return min(mpmath.mpf(1), mpmath.exp(b * ((1 + b) * r - e) - b * mpmath.log1p(1 / b) - mpmath.log1p(b)))
