"""All items of a table that enough users have, and nothing of how many.

Proof: proofs/planning/keys.tex
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

from ...core.binary_search import binary_search_param
from ...core.measurement import Measurement
from ...measurements._key_shares import shares
from ...measurements._selection_curve import chances
from ...measurements.partition_selection import then_partition_selection
from ...measurements.weighted_partition_selection import SCALES, UNIT, make_weighted_partition_selection
from ...numerics.arithmetic import exact, round_down
from ...spaces.curves.normal import tail
from ...spaces.domains import FrameDomain
from ...spaces.measures import is_pure, without_delta
from ...spaces.metrics import UserDistance
from ...transformations.keep_items import make_keep_items
from ..ledger.amounts import stated
from .columns import Columns
from .plan import Plan, Query
from .promises import NO_BOUND, Promise, finite
from .units import Users
from .unlisted import OfTable

_HALF = Fraction(1, 2)  # the probability of which it is said how many users give it: two rounds reach no more than 0.84
_CELLS = 64  # of the noise of the first round, equally likely: the number of users is a hundredth too large
_NEARLY = 1 + 2.0**-48  # so that a scale in floats meets its rho
_STEPS = 32  # of a delta to its half: what is looked for where several users share one
_MOST = 2**40  # users: more than there are


@dataclass(frozen=True)
class Keys(OfTable):
    """All items of the table with enough users, without counts; of the ways to find them that with which fewer do.

    ``rounds`` is None where each item is drawn for itself, and otherwise how often each user spreads a weight.
    """

    rounds: int | None = None
    k: ClassVar[None] = None
    release: ClassVar[str] = "set"
    fewer: ClassVar[tuple[int, ...]] = (20, 1)  # items of a user, of which it is said how many users an item would need

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return "partition_selection" if self.rounds is None else "weighted_partition_selection"

    def built(self, query: Query[Any, Users], main: float, delta: float) -> Measurement:
        """The chain from a table to the items, for so much epsilon, or with a scale of so much under rho."""
        unit, measure = query.unit, query.budget.measure
        columns = unit.columns
        found: Any
        if self.rounds is None:
            found = unit.scores(None) >> then_partition_selection(measure, epsilon=main, delta=delta)
        else:
            domain, metric = FrameDomain(columns.user, columns.item), UserDistance(unit.neighbors)
            how = {"epsilon" if is_pure(without_delta(measure)) else "scale": main, "delta": delta}
            found = make_weighted_partition_selection(
                domain,
                metric,
                measure,
                max_items=columns.max_items or 1,
                rounds=self.rounds,
                minimum_users=columns.minimum_users or 1,
                **how,
            )
            if columns.keep != "order":
                found = make_keep_items(domain, metric, most=found.parameters["max_items"], by=columns.keep) >> found
        measurement: Measurement = found
        return measurement

    def least(self, query: Query[Any, Users], known: dict[Any, float] | None = None) -> Measurement:
        """The chain that releases an item of the fewest users as likely as not, where each has ``max_items``.

        In two rounds users spread what items do not need over others that they have, which finds more items. So where
        weights are the better way, and users may have several items, there are two.

        Raises:
            SearchError: None meets the budget.
        """
        pure, several = is_pure(without_delta(query.budget.measure)), query.unit.columns.max_items != 1
        if pure:
            each = self._least(query)
            once = replace(self, rounds=1)._least(query) if several else each
            if likely_users(each, _HALF) <= likely_users(once, _HALF):
                return each
        return replace(self, rounds=2 if several else 1)._least(query)

    def _least(self, query: Query[Any, Users]) -> Measurement:
        d_in, main, delta = query.unit.d_in, query.budget.main, round_down(stated(query.budget.delta, "delta"))
        if is_pure(without_delta(query.budget.measure)):
            both_ways = self.rounds is None and query.unit.neighbors == "replace"
            loss = round_down(exact(main) / (d_in * (2 if both_ways else 1)))
        else:
            squares = d_in**2 * (2 if query.unit.neighbors == "replace" else 1)
            inverse = sum((1 / part**2 for part in SCALES[self.rounds or 1]), Fraction(0))
            loss = _NEARLY * math.sqrt(squares * inverse / (2 * exact(main)))
        whole = self.built(query, loss, delta)
        if whole.check(d_in, query.budget.d_out):
            return whole

        def with_less(steps: int) -> Measurement:
            return self.built(query, loss, delta * 2.0 ** (-steps / _STEPS))

        return with_less(binary_search_param(with_less, d_in, query.budget.d_out, T=int))

    def accuracy(self, plan: Plan[Any, Users]) -> float:
        """The number of users with which an item comes out as likely as not."""
        return likely_users(plan.measurement, _HALF)

    def question(self, columns: Columns) -> str:
        """What is asked."""
        return "which items do enough users have, where nobody lists the items?"

    def words(self, plan: Plan[Any, Users]) -> str:
        """The mechanism in words."""
        rounds = plan.measurement.parameters.get("rounds")
        capped = plan.query.unit.columns.capped
        if rounds is None:
            return f"{plan.measurement.parameters['mechanism']}: each item with the largest probability{capped}"
        where = "" if rounds == 1 else ", once more where the first time they seemed to have too few"
        return f"{plan.measurement.parameters['mechanism']}: Gaussian noise on weights of users{where}{capped}"

    def because(self, plan: Plan[Any, Users]) -> str:
        """How many users an item would need if fewer items of a user counted."""
        query, most = plan.query, plan.query.unit.columns.max_items or 1
        found = []
        for cap in (cap for cap in self.fewer if cap < most):
            columns = replace(query.unit.columns, max_items=cap)
            users = Plan(query, self.least(replace(query, unit=replace(query.unit, columns=columns)))).accuracy
            if users is not None and users < (plan.accuracy or 0):
                found.append(f"{users:.0f} where {f'at most {cap} items' if cap > 1 else '1 item'} of each counted")
        if not found:
            return ""
        return (
            "the items of a user share what may be lost, so an item would need fewer users with a smaller "
            f"--max-items: {' and '.join(found)}"
        )

    def promises(self, plan: Plan[Any, Users]) -> Mapping[str, Promise]:
        """How many users an item needs."""
        users = plan.accuracy
        assert users is not None
        among = "or more have it, among the items of each that count"
        number = "1 user" if users == 1 else f"{users:.0f} users"
        words = f"with probability at least 50 %, an item gets in if {number} {among}"
        return {"accuracy": Promise(NO_BOUND if users == math.inf else words, finite(users), float(_HALF))}


# proof-region: likely_users
def likely_users(measurement: Measurement, chance: Fraction) -> float:
    """A number of users such that an item which as many, or more, have comes out with a probability of ``chance``."""
    known = measurement.parameters
    least, most = known.get("minimum_users", 1), known["max_items"]
    if "rounds" not in known:
        table = chances(*shares(exact(known["epsilon"]), exact(known["delta"]), most))  # [table]
        return float(least - 1 + min(n for n, p in enumerate(table) if p >= chance * table[-1]))  # [first-enough]
    return _least_integer(least, lambda users: comes_out(known, users) >= chance)  # [users]


def comes_out(known: Mapping[str, Any], users: int) -> Fraction:
    """A number that is not above the probability of an item of so many users, not fewer than the minimum."""
    first, last, level, weight = _in_weights(known)
    weight *= users
    if known["rounds"] == 1:
        return _at_least(weight - level, last)  # [one-round]
    enough, kept = level + last, 1 - _root(known["max_items"]) / 2**16
    sums = (weight * min(Fraction(1), enough / (weight + farthest)) * kept for farthest in _quantiles(first))
    return sum((_at_least(one - level, last) for one in sums), Fraction(0)) / _CELLS  # [two-rounds]


def _in_weights(known: Mapping[str, Any]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The scales of the first and the last noise, the threshold, and the weight of a user who has most items."""
    parts, most = SCALES[known["rounds"]], known["max_items"]
    sigma, level = exact(known["scale"]), exact(math.nextafter(known["threshold"], math.inf))  # [level-up]
    return sigma * parts[0], sigma * parts[-1], level, 1 / _root(most) - Fraction(2, UNIT)  # [weight]


def _root(most: int) -> Fraction:
    """A number that is not below the square root."""
    return Fraction(math.isqrt(most * 2**80) + 1, 2**40)  # [root]


def _at_least(gap: Fraction, scale: Fraction) -> Fraction:
    """A number that is not above the probability that noise of this ``scale`` is at least -``gap``."""
    step = Fraction(1, UNIT)
    if gap >= step:
        return 1 - tail((gap - step) / scale)  # [above-threshold]
    nearly = _HALF - Fraction(2, 5) * (step + max(Fraction(0), -gap)) / scale
    return max(Fraction(0), nearly * (1 - Fraction(1, 2**12)))  # [below-threshold]


@functools.lru_cache(maxsize=64)
def _quantiles(scale: Fraction) -> tuple[Fraction, ...]:
    """For all but one of the cells, from the lowest, numbers >= 0 that noise exceeds no likelier than all above it."""
    found = []
    for cell in range(1, _CELLS):
        beyond = Fraction(_CELLS - cell, _CELLS)
        at = max(0.0, NormalDist().inv_cdf(cell / _CELLS))
        while beyond < _HALF and tail(exact(at)) > beyond:
            at += 2.0**-20  # [quantile]
        found.append(exact(at) * scale + Fraction(1, UNIT))  # [one-step]
    return tuple(found)


def _least_integer(low: int, holds: Any) -> float:
    """The least integer from ``low`` on at which ``holds``, which stays so; infinity where it is beyond all users."""
    high = low
    while not holds(high):
        low, high = high + 1, 2 * high
        if high > _MOST:
            return math.inf
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)  # [least-integer]
    return high


# end-proof-region: likely_users
