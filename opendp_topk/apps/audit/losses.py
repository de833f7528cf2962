"""Enclosures of the privacy losses between two exact output distributions, with a proven error.

A probability may be given as an integer, a Fraction, an mpmath or gmpy2 number, or a float. It is assumed to be right
up to the given relative error, and a zero is assumed to be exact: an outcome that is possible on one side only has
infinite privacy loss.

Proof: proofs/audit/losses.tex
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
from gmpy2 import mpfr

from ...errors import CapacityError, ForeignError
from ...numerics.arithmetic import as_mpq

Law = Mapping[Hashable, Any]

# _BITS: far beyond the errors below. _EXACT_ERROR: five digits less than the 30 of declared distributions.
# _FLOAT_ERROR: for tables of float64. _ROUNDING: for sums of many masses. _MOST_STEPS: limit of a search over orders.
# proof-region: losses
_BITS = 256
_EXACT_ERROR = Fraction(1, 10**25)
_FLOAT_ERROR = Fraction(1, 10**10)
_ROUNDING = gmpy2.mpq(1, 2**100)
_MOST_STEPS = 400


@dataclass(frozen=True)
class LossEnclosure:
    """A loss in [lower, upper]; ``where`` gives the outcomes, or the order, at which the lower end is reached."""

    lower: Any
    upper: Any
    where: Mapping[str, Any]


@dataclass(frozen=True)
class DistributionPair:
    """Two output distributions: the logarithms of all outcomes possible under both, each right up to ``error``.

    ``first_only`` and ``second_only`` are outcomes that are possible under one of them only, with their logarithms.
    """

    logs: Mapping[Hashable, tuple[Any, Any]]
    first_only: Mapping[Hashable, Any]
    second_only: Mapping[Hashable, Any]
    error: Any

    @property
    def one_sided_outcome(self) -> Hashable | None:
        """Return an outcome that is possible on one side only, in a tuple; None if there is none."""
        return next(((outcome,) for outcome in (*self.first_only, *self.second_only)), None)


def pair_distributions(law: Law, other: Law, relative_error: Fraction | None = None) -> DistributionPair:
    with gmpy2.context(precision=_BITS, trap_underflow=True):  # [no-underflow]
        error = max(_probability_error(law, relative_error), _probability_error(other, relative_error))
        first, second = _log_probabilities(law, error), _log_probabilities(other, error)
        return DistributionPair(
            {y: (first[y], second[y]) for y in first if y in second},
            {y: first[y] for y in first if y not in second},
            {y: second[y] for y in second if y not in first},
            mpfr(as_mpq(2 * error) + _ROUNDING),  # [error]
        )


def _probability_error(law: Law, stated: Fraction | None) -> Fraction:
    if stated is not None:
        return stated  # [stated]
    return _FLOAT_ERROR if any(isinstance(mass, float) for mass in law.values()) else _EXACT_ERROR  # [default]


def _log_probabilities(law: Law, error: Fraction) -> dict[Hashable, Any]:
    try:
        masses = {outcome: _to_mpfr(mass) for outcome, mass in law.items()}
    except (gmpy2.UnderflowResultError, OverflowError):
        raise CapacityError("a probability is below 2^-(2^30)") from None
    except (TypeError, ValueError):
        raise ForeignError("a probability is not a number") from None
    if not all(mass >= 0 for mass in masses.values()):
        raise ForeignError("a probability is negative or NaN")  # [nonnegative]
    if abs(sum(masses.values()) - 1) > as_mpq(error) + _ROUNDING:
        raise ForeignError("the probabilities do not sum to 1 within their relative error")  # [one]
    return {outcome: gmpy2.log(mass) for outcome, mass in masses.items() if mass}  # [log]


def _to_mpfr(mass: Any) -> Any:
    if isinstance(mass, mpmath.mpf):
        mantissa, exponent = mass.man_exp
        return (
            gmpy2.mul_2exp(mpfr(int(mantissa)), exponent)
            if exponent >= 0
            else gmpy2.div_2exp(mpfr(int(mantissa)), -exponent)
        )
    return mpfr(as_mpq(mass)) if isinstance(mass, Fraction) else mpfr(mass)  # [number]


def largest_absolute_loss(laws: DistributionPair) -> LossEnclosure:
    if laws.one_sided_outcome is not None:
        return _infinite_loss(laws)  # [infinite]
    with gmpy2.context(precision=_BITS):
        worst = max(laws.logs, key=lambda y: abs(laws.logs[y][1] - laws.logs[y][0]))
        loss, slack = abs(laws.logs[worst][1] - laws.logs[worst][0]), 3 * laws.error
        return LossEnclosure(loss - slack, loss + slack, {"outcome": worst})  # [max]


def bounded_range_loss(laws: DistributionPair) -> LossEnclosure:
    """Return the largest privacy loss of an outcome minus the smallest."""
    if laws.one_sided_outcome is not None:
        return _infinite_loss(laws)
    with gmpy2.context(precision=_BITS):
        losses = {y: second - first for y, (first, second) in laws.logs.items()}
        high, low = max(losses, key=losses.__getitem__), min(losses, key=losses.__getitem__)
        loss, slack = losses[high] - losses[low], 5 * laws.error
        return LossEnclosure(loss - slack, loss + slack, {"outcomes": (high, low)})  # [range]


def hockey_stick_divergence(laws: DistributionPair, epsilon: Any) -> LossEnclosure:
    """Return the smallest delta of (epsilon, delta)-privacy between the two distributions, in both directions."""
    with gmpy2.context(precision=_BITS):
        factor = gmpy2.exp(mpfr(as_mpq(Fraction(epsilon)))) if epsilon < float("inf") else None
        found = []
        for i, alone in ((1, laws.second_only), (0, laws.first_only)):
            delta = sum((gmpy2.exp(log) for log in alone.values()), mpfr(0))
            if factor is not None:
                for logs in laws.logs.values():
                    delta += max(mpfr(0), gmpy2.exp(logs[i]) - factor * gmpy2.exp(logs[1 - i]))  # [excess]
            found.append(delta)
        delta = max(found)
        slack = 2 * laws.error * (1 + (factor or 0))
        return LossEnclosure(max(mpfr(0), delta - slack), delta + slack, {"epsilon": float(epsilon)})  # [delta]


def curve_loss(laws: DistributionPair, points: Sequence[tuple[float, float]]) -> LossEnclosure:
    """Return the largest ratio, at ``points`` of a curve, of the smallest delta between the distributions to the curve.

    If the curve is 0 and the delta is certainly above 0, the ratio is infinite.
    """
    with gmpy2.context(precision=_BITS):
        found = []
        for epsilon, delta in points:
            met = hockey_stick_divergence(laws, epsilon)
            if delta > 0:
                found.append(LossEnclosure(met.lower / mpfr(delta), met.upper / mpfr(delta), met.where))  # [ratio]
            elif met.lower > 0:
                found.append(LossEnclosure(mpfr("inf"), mpfr("inf"), met.where))  # [above-zero]
        best = max(found, key=lambda loss: loss.lower)
        return LossEnclosure(best.lower, max(loss.upper for loss in found), best.where)  # [largest-ratio]


def zcdp_loss(laws: DistributionPair, enough: Any = 0, tolerance: float = 1e-3) -> LossEnclosure:
    """Return the supremum over alpha > 1 of D_alpha / alpha, in both directions.

    The enclosure is refined until its upper end is at most ``enough``, or at most ``1 + tolerance`` times its lower
    end, or 400 orders have been tried in a direction.
    """
    if laws.one_sided_outcome is not None:
        return _infinite_loss(laws)
    with gmpy2.context(precision=_BITS):
        crude = bounded_range_loss(laws).upper ** 2 / 8 * (1 + mpfr(_ROUNDING))
        if crude <= enough:
            return LossEnclosure(mpfr(0), crude, {})  # [hoeffding]
        forward = _renyi_supremum(laws, 1, enough, tolerance)
        backward = _renyi_supremum(laws, 0, max(enough, forward.lower), tolerance)
        best = max(forward, backward, key=lambda loss: loss.lower)
        return LossEnclosure(best.lower, min(crude, max(forward.upper, backward.upper)), best.where)  # [both]


def _renyi_supremum(laws: DistributionPair, of: int, enough: Any, tolerance: float) -> LossEnclosure:
    """Return the supremum of D_alpha(distribution ``of`` || the other one) / alpha."""
    logs = [(pair[1 - of], pair[of]) for pair in laws.logs.values()]
    steepest = max(b - a for a, b in logs) + 3 * laws.error  # [steepest]
    lower, where = mpfr(0), mpfr(2)
    cells: list[Any] = []

    def moment_bound_at(alpha: Any) -> Any:
        """Return an upper bound on (alpha - 1) D_alpha; also raise the lower end of the result."""
        nonlocal lower, where
        terms = [alpha * b + (1 - alpha) * a for a, b in logs]
        top = max(terms)
        moment, slack = top + gmpy2.log(gmpy2.fsum([gmpy2.exp(t - top) for t in terms])), 2 * alpha * laws.error
        met = (moment - slack) / (alpha * (alpha - 1))  # [met]
        if met > lower:
            lower, where = met, alpha
        return moment + slack  # [moment]

    def push_cell(a: Any, at_a: Any, b: Any, at_b: Any) -> None:
        """Push the cell of all orders from ``a`` (None: from 1) to ``b`` (None: unbounded)."""
        if a is None:
            bound = at_b / (b - 1)  # [first-cell]
        else:
            bound = _line_ratio_maximum(a, at_a, b, at_b, steepest if b is None else (at_b - at_a) / (b - a))  # [cell]
        heapq.heappush(cells, (-bound, a is None, a, at_a, b, at_b))

    middle = mpfr(2)
    at_middle = moment_bound_at(middle)
    push_cell(None, None, middle, at_middle)
    push_cell(middle, at_middle, None, None)
    for _ in range(_MOST_STEPS):
        if -cells[0][0] <= max(enough, lower * (1 + tolerance) + laws.error):  # [refined]
            break
        _, _, a, at_a, b, at_b = heapq.heappop(cells)
        low, high = (b - 1) / 16 if a is None else a - 1, (a - 1) * 16 if b is None else b - 1
        between = 1 + gmpy2.sqrt(low * high)  # [split]
        at_between = moment_bound_at(between)
        push_cell(a, at_a, between, at_between)
        push_cell(between, at_between, b, at_b)
    return LossEnclosure(lower, -cells[0][0], {"alpha": float(where)})  # [supremum]


def _line_ratio_maximum(a: Any, at_a: Any, b: Any, at_b: Any, slope: Any) -> Any:
    """Return the largest line(alpha) / (alpha (alpha - 1)) from a to b, for the line of ``slope`` through (a, at_a)."""
    fall = slope * (a - 1) - at_a
    if fall <= 0:
        return at_a / (a * (a - 1))  # [falling]
    peak = (fall + gmpy2.sqrt(fall * (fall + slope))) / slope
    if peak <= a - 1:
        return at_a / (a * (a - 1))
    if b is not None and peak >= b - 1:
        return at_b / (b * (b - 1))  # [rising]
    return (slope / (gmpy2.sqrt(slope + fall) + gmpy2.sqrt(fall))) ** 2  # [peak]


def _infinite_loss(laws: DistributionPair) -> LossEnclosure:
    infinity = mpfr("inf")
    return LossEnclosure(infinity, infinity, {"outcome": laws.one_sided_outcome[0]} if laws.one_sided_outcome else {})  # type: ignore[index]


# end-proof-region: losses
