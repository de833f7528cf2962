"""What each of several equal releases may cost within one budget, under three measures side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from ..core.measurement import Measurement
from ..errors import ParameterError
from ..numerics.arithmetic import exact
from ..planning.comparison import six_up
from ..spaces.curves.closed_forms import Concentrated
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from . import guarantees, show
from .options import Target
from .planning import Request

DELTA = Fraction(1, 10**6)  # where no --delta is given: one in common use, and it is shown

_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)  # as many digits as a table has room for


@dataclass(frozen=True)
class Way:
    """One way to account for all releases: the budget in its measure, and what meets it."""

    name: str
    target: Target
    measurement: Measurement
    shortfall: float | None


def show_several(request: Request, releases: int, delta: float | None, alpha: float) -> None:
    """Print what each of ``releases`` may cost under pure, zero-concentrated and (epsilon, delta) privacy."""
    if request.counts:
        raise ParameterError("--releases compares ways to account for releases of items: leave --counts out")
    with show.working("planning") as far:
        total = whole(request.target, DELTA if delta is None else exact(request.target.budget[1]))
        found = [_way(name, target, request, releases, alpha, far) for name, target in budgets(total)]
    epsilon, allowed = total
    show.say(
        f"{releases} releases of {request.k} of {request.n_candidates} candidates ({request.release}), fixed in "
        f"advance, together within epsilon = {six_up(float(epsilon))} at delta = {float(allowed):g}",
        "",
    )
    show.table(
        ["measure", "budget of all", "each may cost", "scale", "within"],
        (
            [way.name, _stated(way.target), _each(way, request, releases), _scale(way), _near(way.shortfall)]
            for way in found
        ),
        right=range(3, 5),
    )
    show.say("")
    show.rows(_legend(request, alpha, found))


def whole(target: Target, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The pair (epsilon, delta) that all releases may reach together; that of a rho is what it implies."""
    if isinstance(target.measure, ZeroConcentratedDivergence):
        return exact(PrivacyCurve(Concentrated(target.budget)).epsilon(delta)), delta
    epsilon = target.budget[0] if isinstance(target.budget, tuple) else target.budget
    return exact(epsilon), delta


def budgets(total: tuple[Fraction, Fraction]) -> list[tuple[str, Target]]:
    """The budget of all releases in each measure, none of which promises less than the pair."""
    epsilon, delta = total
    return [
        ("pure", Target(MaxDivergence(), epsilon)),
        ("zCDP", Target(ZeroConcentratedDivergence(), rho_within(epsilon, delta))),
        ("(epsilon, delta)", Target(PrivacyProfile(), (epsilon, delta))),
    ]


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


def _way(name: str, target: Target, request: Request, releases: int, alpha: float, far: Callable[[str], None]) -> Way:
    far(name)
    asked = replace(request, target=target)
    measurement = asked.planned(releases)
    return Way(name, target, measurement, asked.shortfall(measurement, guarantees.sure(alpha)[0]))


def _stated(target: Target) -> str:
    if isinstance(target.budget, tuple):
        return f"epsilon {six_up(float(target.budget[0]))}, delta {float(target.budget[1]):g}"
    return f"{target.symbol} {six_down(exact(target.budget))}"


def _each(way: Way, request: Request, releases: int) -> str:
    if not isinstance(way.target.budget, tuple):
        return f"{way.target.symbol} {six_down(exact(way.target.budget) / releases)}"
    delta = way.target.budget[1]
    return f"epsilon {six_up(way.measurement.map(request.users).epsilon(delta))} at delta {float(delta):g}"


def six_down(number: Fraction) -> str:
    """Six digits, rounded down: so much may be spent each time, as it is shown."""
    return f"{float(_SIX_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def _scale(way: Way) -> str:
    return six_up(way.measurement.parameters["scale"])


def _near(users: float | None) -> str:
    return "-" if users is None or users == math.inf else str(users)


def _legend(request: Request, alpha: float, found: list[Way]) -> list[tuple[str, str]]:
    _, sure = guarantees.sure(alpha)
    known = [way for way in found if way.shortfall is not None]
    best = min(known or found, key=lambda way: math.inf if way.shortfall is None else way.shortfall)
    reach = f"the t-th released item to the t-th largest count, for every t from 1 to {request.k}"
    if request.release == "set" or not request.row.ranked:
        reach = f"every released item to the {guarantees.largest(request.k)} count"
    return [
        ("pure", "epsilons add up, and delta is not used"),
        ("zCDP", "rhos add up; their sum is converted to (epsilon, delta) once"),
        ("(epsilon, delta)", "the privacy curves of all releases are composed"),
        ("scale", f"of the noise of each release, in users; cost {show.neighbours(request)}"),
        ("within", f"so near, in users, comes {reach}, with probability at least {sure} each time"),
        ("least noise", f"{best.name}: scale {_scale(best)}"),
    ]
