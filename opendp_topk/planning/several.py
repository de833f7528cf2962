"""Several equal releases within one budget, accounted for under three measures."""

from __future__ import annotations

from fractions import Fraction

from ..numerics.arithmetic import exact
from ..spaces.curves.closed_forms import Concentrated
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from .units import Budget

DELTA = Fraction(1, 10**6)  # where none is given: one in common use, and it is shown


def whole(budget: Budget, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The pair (epsilon, delta) that all releases may reach together; that of a rho is what it implies."""
    if isinstance(budget.measure, ZeroConcentratedDivergence):
        return exact(PrivacyCurve(Concentrated(budget.d_out)).epsilon(delta)), delta
    return exact(budget.main), delta


def budgets(total: tuple[Fraction, Fraction]) -> dict[str, Budget]:
    """The budget of all releases in each measure, none of which promises less than the pair."""
    epsilon, delta = total
    return {
        "pure": Budget(MaxDivergence(), epsilon),
        "zCDP": Budget(ZeroConcentratedDivergence(), rho_within(epsilon, delta)),
        "(epsilon, delta)": Budget(PrivacyProfile(), (epsilon, delta)),
    }


def rho_within(epsilon: Fraction, delta: Fraction) -> float:
    """A rho that implies (epsilon, delta), the largest up to a float64's last digits."""
    low, high = 0.0, 1.0
    while _implied(high, epsilon, delta) and high < 2.0**60:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _implied(middle, epsilon, delta) else (low, middle)
    return low


def _implied(rho: float, epsilon: Fraction, delta: Fraction) -> bool:
    return PrivacyCurve(Concentrated(rho)).delta(epsilon) <= delta
