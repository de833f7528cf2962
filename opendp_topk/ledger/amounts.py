"""Amounts of a budget as exact rationals: one for each number of a measure's distance.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..errors import ParameterError
from ..errors.checks import Number
from ..numerics.arithmetic import exact, round_down, round_up
from ..spaces.measures import Approximate, MaxDivergence, Measure, ZeroConcentratedDivergence

Amount = tuple[Fraction, ...]

# proof-region: amounts
_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
MEASURES = {repr(measure): measure for one in _SCALARS for measure in (one, Approximate(one))}


def require_additive(measure: Measure) -> None:
    """Raise unless the losses of adaptive releases add up under ``measure``."""
    if measure not in MEASURES.values():  # [additive]
        raise ParameterError(
            "measure must be MaxDivergence(), ZeroConcentratedDivergence() or Approximate(...) of one of them: under "
            f"{measure!r} the losses of adaptive releases do not add up, so convert the measurements first"
        )


def amount(measure: Measure, distance: Any) -> Amount | None:
    """``distance`` of an additive measure as exact numbers; None where it promises nothing."""
    parts: tuple[Number, ...] = distance if isinstance(measure, Approximate) else (distance,)
    if any(part == float("inf") for part in parts):
        return None  # [infinite]
    return tuple(map(exact, parts))  # [exact]


def total(spent: Amount, cost: Amount) -> Amount:
    return tuple(one + other for one, other in zip(spent, cost, strict=True))  # [sum]


def fits(spent: Amount, budget: Amount) -> bool:
    return all(one <= other for one, other in zip(spent, budget, strict=True))  # [fits]


# end-proof-region: amounts


def distance_up(measure: Measure, value: Amount) -> Any:
    """``value`` as a distance of ``measure``, each number rounded up."""
    return _distance(measure, tuple(map(round_up, value)))


def left(measure: Measure, budget: Amount, spent: Amount) -> Any:
    """What of ``budget`` is left, each number rounded down."""
    return _distance(measure, tuple(abs(round_down(one - other)) for one, other in zip(budget, spent, strict=True)))


def _distance(measure: Measure, parts: tuple[float, ...]) -> Any:
    return parts if isinstance(measure, Approximate) else parts[0]


def to_text(value: Amount) -> str:
    return " ".join(map(str, value))


def from_text(text: str) -> Amount:
    """The inverse of :func:`to_text`.

    Raises:
        ValueError: The text is none that it writes.
    """
    parts = tuple(map(Fraction, text.split()))
    if not parts or to_text(parts) != text or any(part < 0 for part in parts):
        raise ValueError
    return parts
