"""In which measure a ledger counts, how far its count may go, and what a release is charged.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import ParameterError, SpaceError, checks
from ..numerics.arithmetic import exact
from ..spaces.curves.closed_forms import Concentrated, Mixture
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    apart,
    without_delta,
)
from .amounts import UNBOUNDED, Amount, amount, fits, on_grid, stated
from .filters import Filter, charged, curve_of, delta_of, keeps_rho, most_rho, most_steps, room, up_to

_FOR_STEPS = Fraction(15, 16)  # of delta at most; what the whole number of steps leaves of it is for the rho

# proof-region: accounts
_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
_ADDITIVE = tuple(measure for one in _SCALARS for measure in (one, Approximate(one)))
MEASURES = {repr(measure): measure for measure in (*_ADDITIVE, PrivacyProfile())}


@dataclass(frozen=True)
class Account:
    """A budget under ``measure``, kept as a ``limit`` on the sums of charges.

    Under ``PrivacyProfile()`` the sums are of rho, of deltas that releases have of their own, of epsilon, and of steps
    where there is a ``step``: the first and the last two are filters, side by side, and ``shares`` are the deltas of
    that of rho and of that of steps. Without ``shares`` the filter of rho is the only one.
    """

    measure: Measure
    budget: Amount
    limit: Amount
    shares: Amount | None = None
    step: PrivacyCurve | None = None

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
        cost = min(charged(one, on_grid(exact(own)), self.step) for one in ways)  # [least-rho]
        return None if all(one == UNBOUNDED for one in (*cost[:1], *cost[2:])) else cost[: len(self.limit)]

    def filters(self, spent: Amount) -> list[Filter]:
        """The filters of a budget from which releases under several measures are paid; none of another."""
        if not self.mixes:
            return []
        shares = self.shares or (self.budget[1] - self.limit[1],)
        deltas = *shares[:1], Fraction(0), *shares[1:]
        sums = zip(("rho", "epsilon", "steps"), self.limit[:1] + self.limit[2:], spent[:1] + spent[2:], strict=False)
        return [Filter(*one, delta) for one, delta in zip(sums, deltas, strict=False)]

    def room(self, spent: Amount) -> dict[str, float | int]:
        """What one more release may cost at most, where releases under several measures are paid."""
        return room(self.filters(spent)) if self.mixes else {}

    def said(self, cost: Amount) -> Amount:
        """A stated amount, of rho and delta where releases are mixed, as a charge: no other filter admits it."""
        rest = (UNBOUNDED if cost[0] > 0 else Fraction(0) for _ in self.limit[len(cost) :])
        return (*cost, *rest)  # [stated]


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
    limit = (most_rho(epsilon, rest), own, epsilon, *([] if step is None else [Fraction(steps)]))
    return Account(PrivacyProfile(), (epsilon, delta), limit, (rest, share), step)


def within(account: Account) -> bool:
    """Whether the limit of ``account`` keeps its budget."""
    if not account.mixes:
        return account.limit == account.budget
    epsilon, delta = account.budget
    if account.shares is None:
        rho, own = account.limit
        return exact(Mixture(Concentrated(rho), own)(epsilon)) <= delta  # [within-old]
    (rho, own, pure, *steps), (for_rho, for_steps) = account.limit, account.shares
    return (
        own + for_rho + for_steps <= delta  # [shares]
        and pure <= epsilon  # [within-pure]
        and (rho == 0 or keeps_rho(rho, epsilon, for_rho))
        and (account.step is None or delta_of(account.step, int(steps[0]), epsilon) <= for_steps)  # [within-steps]
    )


# end-proof-region: accounts
