"""In which measure a ledger counts, how far its count may go, and what a release is charged.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, SpaceError, checks
from ...numerics.arithmetic import exact
from ...spaces.curves.closed_forms import Concentrated, Mixture
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    apart,
    without_delta,
)
from .amounts import UNBOUNDED, Amount, amount, fits, on_grid, stated
from .filters import (
    Filter,
    charged,
    curve_of,
    delta_of,
    keeps_renyi,
    keeps_rho,
    most_renyi,
    most_steps,
    room,
    up_to,
)

_FOR_STEPS = Fraction(15, 16)  # of delta at most; what the whole number of steps leaves of it is for the rho

# proof-region: accounts
_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
_ADDITIVE = tuple(measure for one in _SCALARS for measure in (one, Approximate(one)))
MEASURES = {repr(measure): measure for measure in (*_ADDITIVE, PrivacyProfile())}


@dataclass(frozen=True)
class Account:
    """A budget under ``measure``, kept as a ``limit`` on the sums of charges.

    Under ``PrivacyProfile()`` the sums are of rho, of deltas that releases have of their own, of epsilon, of steps
    where there is a ``step``, and of Renyi divergences of one ``order``. All but that of deltas are filters, side by
    side; ``shares`` are the deltas of those of rho and of Renyi divergences together, and of that of steps. Without
    ``shares`` the filter of rho is the only one; ledgers that were made before there was an ``order`` have none.
    """

    measure: Measure
    budget: Amount
    limit: Amount
    shares: Amount | None = None
    step: PrivacyCurve | None = None
    order: Fraction | None = None

    @property
    def counted(self) -> Measure:
        """The measure whose distances are added."""
        return Approximate(ZeroConcentratedDivergence()) if self.mixes else self.measure  # [counted]

    @property
    def mixes(self) -> bool:
        """Whether releases under several measures are paid from it."""
        return self.measure == PrivacyProfile()

    @property
    def nothing(self) -> Amount:
        return tuple(0 * part for part in self.limit)

    def admits(self, spent: Amount) -> bool:
        """Whether all charges together may be ``spent``: a filter is dead once its sum is above its limit."""
        if self.shares is None:
            return fits(spent, self.limit)  # [fits]
        rho, own, *others = map(operator.le, spent, self.limit)
        return own and any((rho, *others))  # [one-lives]

    def charge(self, measure: Measure, distance: Any, delta: Any = None) -> Amount | None:
        """What a release that loses ``distance`` under ``measure`` is charged; None where no amount is enough.

        Raises:
            SpaceError: The ledger does not count this measure.
            ParameterError: ``delta`` is given for a release that has no choice of it.
        """
        if delta is not None and not (self.mixes and measure == PrivacyProfile()):
            raise ParameterError("delta is for releases under PrivacyProfile() from a ledger with such a budget only")
        if not self.mixes:
            if measure != self.measure:  # [same-measure]
                raise SpaceError(
                    f"the ledger counts {self.measure!r}, and the release is under {measure!r}: convert it first"
                )
            return amount(measure, distance)
        at = Fraction(0) if delta is None else stated(delta, "delta")
        loss, own = (distance, at) if measure == PrivacyProfile() else apart(measure, distance)
        whole = curve_of(without_delta(measure), loss)
        if whole is None:
            raise SpaceError(f"no amount of rho is known for {measure!r}: convert the measurement first")
        ways = [whole] if at == 0 else up_to(whole, at)  # [no-delta]
        cost = min(charged(one, on_grid(exact(own)), self.step, self.order) for one in ways)  # [least-rho]
        return None if all(one == UNBOUNDED for one in (*cost[:1], *cost[2:])) else cost[: len(self.limit)]

    def filters(self, spent: Amount) -> list[Filter]:
        """The filters of a budget from which releases under several measures are paid; none of another."""
        if not self.mixes:
            return []
        shares = self.shares or (self.budget[1] - self.limit[1],)
        kinds = [("rho", shares[0]), ("epsilon", Fraction(0))]
        kinds += [] if self.step is None else [("steps", shares[1])]
        kinds += [] if self.order is None else [("renyi", shares[0])]
        sums = zip(kinds, self.limit[:1] + self.limit[2:], spent[:1] + spent[2:], strict=False)
        return [
            Filter(name, limit, so_far, delta, self.order if name == "renyi" else None)
            for (name, delta), limit, so_far in sums
        ]

    def told(self, spent: Amount) -> Amount:
        """``spent``, of rho as little as the filter of Renyi divergences says: up to the limit the rest still fits."""
        return spent if self.order is None else (min(spent[0], spent[-1] / self.order), *spent[1:])

    def room(self, spent: Amount) -> dict[str, float | int]:
        """What one more release may cost at most, where releases under several measures are paid."""
        return room(self.filters(self.told(spent))) if self.mixes else {}

    def said(self, cost: Amount) -> Amount:
        """A stated amount, of rho and delta where releases are mixed, as a charge: epsilon and steps admit none."""
        divergence = [] if self.order is None else [self.order * cost[0]]
        rest = (UNBOUNDED if cost[0] > 0 else Fraction(0) for _ in self.limit[len(cost) + len(divergence) :])
        return (*cost, *rest, *divergence)  # [stated]


def opened(measure: Any, budget: Any, own_delta: Any = None, step: PrivacyCurve | None = None) -> Account:
    """The account of a new ledger.

    Raises:
        ParameterError: The losses of adaptive releases do not add up under ``measure``, or the budget is none of it.
    """
    checks.instance("measure", measure, Measure, "a measure such as MaxDivergence()")
    if measure not in MEASURES.values():  # [additive]
        raise ParameterError(
            "measure must be MaxDivergence(), ZeroConcentratedDivergence(), Approximate(...) of one of them, or "
            f"PrivacyProfile(): under {measure!r} the losses of adaptive releases do not add up, so convert first"
        )
    pair = isinstance(measure, Approximate | PrivacyProfile)
    if pair and not (isinstance(budget, tuple | list) and len(budget) == 2):
        raise ParameterError(f"budget must be a pair (amount, delta) under {measure!r}")
    parts = tuple(stated(one, "budget") for one in (budget if pair else (budget,)))
    if pair and parts[1] > 1:
        raise ParameterError("delta of budget must be at most 1")
    if not (own_delta is None and step is None) and measure != PrivacyProfile():
        raise ParameterError("own_delta and step are parts of a budget under PrivacyProfile() only")
    if measure == PrivacyProfile():
        return _with_filters(parts[0], parts[1], own_delta, step)
    return Account(measure, parts, parts)


def _with_filters(epsilon: Fraction, delta: Fraction, own_delta: Any, step: PrivacyCurve | None) -> Account:
    """The account whose filters keep (epsilon, delta), ``step`` having as much of delta as it needs."""
    own = Fraction(0) if own_delta is None else stated(own_delta, "own_delta")
    if not own <= delta <= 1 or epsilon == 0:
        raise ParameterError("a budget needs an epsilon > 0, and own_delta must be at most its delta")
    steps, share = (0, Fraction(0)) if step is None else most_steps(step, epsilon, (delta - own) * _FOR_STEPS)
    rest = delta - own - share  # [split]
    order, most = most_renyi(epsilon, rest)
    limit = (most / order, own, epsilon, *([] if step is None else [Fraction(steps)]), most)
    return Account(PrivacyProfile(), (epsilon, delta), limit, (rest, share), step, order)


def within(account: Account) -> bool:
    """Whether the limit of ``account`` keeps its budget."""
    if not account.mixes:
        return account.limit == account.budget
    epsilon, delta = account.budget
    if account.shares is None:
        rho, own = account.limit
        return exact(Mixture(Concentrated(rho), own)(epsilon)) <= delta  # [within-old]
    (_, own, pure, *steps), (for_rho, for_steps) = account.limit, account.shares
    return (
        own + for_rho + for_steps <= delta  # [shares]
        and pure <= epsilon  # [within-pure]
        and _within_share(account, for_rho)
        and (account.step is None or delta_of(account.step, int(steps[0]), epsilon) <= for_steps)  # [within-steps]
    )


def _within_share(account: Account, delta: Fraction) -> bool:
    """Whether the filters of rho and of Renyi divergences keep their share of delta together."""
    rho, most, epsilon, order = account.limit[0], account.limit[-1], account.budget[0], account.order
    if order is None:
        return rho == 0 or keeps_rho(rho, epsilon, delta)
    return order * rho <= most and keeps_renyi(order, most, epsilon, delta)  # [one-share]


# end-proof-region: accounts
