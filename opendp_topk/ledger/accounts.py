"""In which measure a ledger counts, how far its count may go, and what a release is charged.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import ParameterError, SpaceError, checks
from ..numerics.arithmetic import exact
from ..spaces.concentrated import rho_of_pure, rho_of_range
from ..spaces.curves.closed_forms import Concentrated, Mixture
from ..spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
    apart,
    without_delta,
)
from .amounts import Amount, amount, stated

# proof-region: accounts
_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
_ADDITIVE = tuple(measure for one in _SCALARS for measure in (one, Approximate(one)))
MEASURES = {repr(measure): measure for measure in (*_ADDITIVE, PrivacyProfile())}


@dataclass(frozen=True)
class Account:
    """A budget under ``measure``, kept as a ``limit`` on the sum of charges under ``counted``."""

    measure: Measure
    budget: Amount
    limit: Amount

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
        if measure == PrivacyProfile():
            at = Fraction(0) if delta is None else stated(delta, "delta")
            measure, distance = Approximate(MaxDivergence()), (distance.epsilon(at), at)  # [one-delta]
        loss, own = apart(measure, distance)
        return amount(self.counted, (_concentrated(without_delta(measure), loss), own))


def _concentrated(measure: Measure, loss: Any) -> Any:
    """The rho of what loses ``loss`` under ``measure``, or a rational above it."""
    if loss == float("inf") or measure == ZeroConcentratedDivergence():
        return loss
    if measure == MaxDivergence():
        return rho_of_pure(exact(loss))  # [pure]
    if measure == RangeDivergence():
        return rho_of_range(exact(loss))  # [range]
    raise SpaceError(f"no amount of rho is known for {measure!r}: convert the measurement first")


def opened(measure: Any, budget: Any, own_delta: Any = None) -> Account:
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
    if own_delta is not None and measure != PrivacyProfile():
        raise ParameterError("own_delta is part of a budget under PrivacyProfile() only")
    return Account(measure, parts, _limit(parts[0], parts[1], own_delta) if measure == PrivacyProfile() else parts)


def _limit(epsilon: Fraction, delta: Fraction, own_delta: Any) -> Amount:
    """The largest (rho, delta) found whose curve passes below (epsilon, delta)."""
    own = delta / 2 if own_delta is None else stated(own_delta, "own_delta")
    if not own < delta <= 1:
        raise ParameterError("own_delta must be smaller than the budget's delta, which the conversion of rho needs")

    low, high = Fraction(0), epsilon
    for _ in range(60):  # sixty halvings leave nothing that a float64 shows
        middle = (low + high) / 2
        low, high = (middle, high) if _converts(middle, own, epsilon, delta) else (low, middle)  # [keep-within]
    if low == 0:
        raise ParameterError("budget is too small for releases under concentrated privacy: raise epsilon or delta")
    return low, own


def _converts(rho: Fraction, own: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    return exact(Mixture(Concentrated(rho), own)(epsilon)) <= delta  # [within]


def within(account: Account) -> bool:
    """Whether the limit of ``account`` keeps its budget."""
    return _converts(*account.limit, *account.budget) if account.mixes else account.limit == account.budget


# end-proof-region: accounts
