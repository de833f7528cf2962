"""The filters that a budget (epsilon, delta) runs side by side, and how far each may go.

Proof: proofs/ledger/filters.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from ...errors import ParameterError
from ...numerics.arithmetic import exact, round_down
from ...spaces.costs import best_order, overhead
from ...spaces.curves.closed_forms import ApproximateDP, Concentrated, Mixture, RangeSteps
from ...spaces.curves.composed import compose
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import (
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
    apart,
    without_delta,
)
from ...spaces.stated import exactly, pure_of, renyi_of, rho_of, steps_of
from .amounts import UNBOUNDED, Amount, on_grid, reads_below, rest_below

# Steps are convolved up to that many; of more, sums alone are looked at, which then say nearly as much.
_CONVOLVED = 2048
_GUESSES = 6  # a few lead to the number of steps; halving leads there where they do not
_HALVINGS = 60  # leave nothing that a float64 shows


# proof-region: filters
def curve_of(measure: Measure, loss: Any) -> PrivacyCurve | None:
    """All that a loss under ``measure`` says of the laws, with exact parameters; None where the measure is unknown."""
    if measure == PrivacyProfile():
        return exactly(loss)  # [curve]
    for kind, bound in _BOUNDS:
        if isinstance(measure, kind):
            return exactly(PrivacyCurve(bound(loss)))  # [bound]
    return None


_BOUNDS: tuple[tuple[type[Measure], Callable[[Any], Any]], ...] = (
    (MaxDivergence, ApproximateDP),
    (RangeDivergence, lambda loss: RangeSteps(1, loss)),
    (ZeroConcentratedDivergence, Concentrated),
)


def mixed_curve(measure: Measure, loss: Any) -> PrivacyCurve | None:
    """As :func:`curve_of`, for ``Approximate`` measures too: their laws are mixtures."""
    inner, own = apart(measure, loss)
    curve = curve_of(without_delta(measure), inner)
    if curve is None or own == 0:
        return curve
    return PrivacyCurve(*(Mixture(bound, exact(own)) for bound in curve.bounds))  # [mixtures]


def charged(curve: PrivacyCurve, own: Fraction, step: PrivacyCurve | None, order: Fraction | None) -> Amount:
    """What laws that obey ``curve`` up to the delta ``own`` cost each filter, and of the deltas."""
    parts = [rho_of(curve), own, pure_of(curve)]
    parts += [] if step is None else [steps_of(curve, step)]
    parts += [] if order is None else [renyi_of(curve, order)]
    found = [UNBOUNDED if one == math.inf else on_grid(Fraction(one)) for one in parts]  # [charged]
    if order is not None:
        found[-1] = min(found[-1], _times(order, found[0]))  # [at-most-rho]
    return tuple(found)


def up_to(curve: PrivacyCurve, delta: Fraction) -> list[PrivacyCurve]:
    """What the first parts of mixtures obey that make up laws of this curve up to ``delta``: one curve a mixture."""
    mixed = [bound for bound in curve.bounds if isinstance(bound, Mixture) and bound.delta <= delta]
    inner = [exactly(PrivacyCurve(bound.bound)) for bound in mixed]  # [mixed]
    return [*inner, PrivacyCurve(ApproximateDP(curve.epsilon(delta)))]  # [one-delta]


def most_renyi(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The order that has room for the largest rho, and how much of it keeps (epsilon, delta); 0 if none does."""
    order = best_order(epsilon, delta) if delta > 0 else Fraction(2)
    if delta == 0 or (most := epsilon - overhead(order, delta)) <= 0:
        return order, Fraction(0)
    return order, exact(round_down(most))  # [most-renyi]


def keeps_renyi(order: Fraction, divergence: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a divergence of this order keeps (epsilon, delta)."""
    return divergence == 0 or (delta > 0 and divergence + overhead(order, delta) <= epsilon)  # [within-renyi]


def most_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho found whose curve passes below (epsilon, delta); 0 if none does."""
    order, most = most_renyi(epsilon, delta)
    return most / order  # [most-rho]


def keeps_rho(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the curve of ``rho`` passes below (epsilon, delta)."""
    return exact(Concentrated(rho)(epsilon)) <= delta  # [within-rho]


def most_steps(step: PrivacyCurve, epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """The largest number found of steps that keep (epsilon, delta) together, and the delta that they need.

    Raises:
        ParameterError: Nothing is known of the step, or it loses nothing.
    """
    pure, rho = pure_of(step), rho_of(step)
    if rho in (0, math.inf):
        raise ParameterError("step must lose something, and be a loss of which a rho is known")
    limit = most_rho(epsilon, delta)
    by_rho = (n for n in range(int(limit // Fraction(rho)), -1, -1) if keeps_rho(n * Fraction(rho), epsilon, delta))
    low = int(max(0 if pure == math.inf else epsilon // Fraction(pure), next(by_rho)))
    beyond, tried, share, guesses = max(low, _CONVOLVED) + 1, low + 1, None, _GUESSES
    while beyond - low > 1:
        need = delta_of(step, tried, epsilon)
        low, share, beyond = (tried, need, beyond) if need <= delta else (low, share, tried)  # [keep-steps]
        alike, guesses = most_rho(epsilon, need), guesses - 1  # the rho whose curve is about that of so many steps
        guess = tried * limit // alike if guesses > 0 and alike > 0 else (low + beyond) // 2
        tried = min(max(int(guess), low + 1), beyond - 1)
    return low, delta_of(step, low, epsilon) if share is None else share


def delta_of(step: PrivacyCurve, count: int, epsilon: Fraction) -> Fraction:
    """The delta at ``epsilon`` of ``count`` adaptive steps that obey ``step``, rounded up."""
    if count <= _CONVOLVED:
        return exact(compose([step] * count, adaptive=True).delta(epsilon))  # [composed]
    sums = ApproximateDP(_times(count, pure_of(step))), Concentrated(_times(count, rho_of(step)))
    return exact(PrivacyCurve(*sums).delta(epsilon))  # [sums]


def _times(count: Fraction | int, value: Any) -> Any:
    return value if value == math.inf else count * value


# end-proof-region: filters


class Filter(NamedTuple):
    """One of the filters that run side by side: what it adds up, how far it may go, and how far it has come.

    ``delta`` is its share of the budget's. It is alive while ``spent`` is at most ``limit``; releases go on while one
    of them is. The filter of Renyi divergences of one ``order`` has its share together with that of rho, since it
    admits all that this one does.
    """

    adds: str
    limit: Fraction
    spent: Fraction
    delta: Fraction
    order: Fraction | None = None

    @property
    def alive(self) -> bool:
        return self.spent <= self.limit


def room(found: list[Filter]) -> dict[str, float | int]:
    """The largest epsilon, rho and number of steps that one more release may have, rounded down."""
    left = {one.adds: rest_below(one.limit, min(one.limit, one.spent)) for one in found}
    order = next((one.order for one in found if one.order is not None), None)
    pure = max(left.get("epsilon", 0.0), _pure_within(Fraction(repr(left["rho"])), order))
    steps = {one.adds: int(one.limit - min(one.limit, one.spent)) for one in found if one.adds == "steps"}
    return {"epsilon": pure, "rho": left["rho"], **steps}


def _pure_within(rho: Fraction, order: Fraction | None) -> float:
    """About the largest epsilon of which the rho, or the divergence of that order, is at most that, rounded down."""
    low, high = Fraction(0), rho * (order or 1) + 2  # as both divergences are at least T(epsilon) >= epsilon - 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cost = charged(PrivacyCurve(ApproximateDP(middle)), Fraction(0), None, order)
        fits = cost[0] <= rho if order is None else cost[-1] <= order * rho
        low, high = (middle, high) if fits else (low, middle)
    return reads_below(low) if low * 10**12 > high else 0.0
