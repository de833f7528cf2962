"""A cost that holds up to a delta, as a distance of the measures that know deltas.

Proof: proofs/measurements/with_delta.tex
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..errors import ParameterTypeError
from ..numerics.arithmetic import round_up
from .costs import Cost
from .curves.added import Added
from .curves.closed_forms import Mixture
from .curves.curve import PrivacyCurve
from .measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    without_delta,
)

# proof-region: with_delta
STRICT: tuple[Measure, ...] = (
    Approximate(MaxDivergence()),
    Approximate(ZeroConcentratedDivergence()),
    PrivacyProfile(),
)
NOT_STRICT: tuple[Measure, ...] = (Approximate(MaxDivergence()), PrivacyProfile())  # [not-strict]


def with_delta(measure: Measure, cost: Cost, delta: Fraction, *, strict: bool) -> Any:
    """What ``measure``, one of :data:`STRICT`, reads in a cost that holds up to ``delta``; rounded up once.

    ``strict`` says that the cost holds but for an event of probability delta. Otherwise every privacy curve of the cost
    holds with delta added, which under ``Approximate(ZeroConcentratedDivergence())`` says nothing.
    """
    inner = without_delta(measure)
    read = cost.under(inner)
    if inner is not measure:
        return read, round_up(delta)  # [pair]
    return curve_with_delta(read, delta, strict=strict)


def curve_with_delta(curve: PrivacyCurve, delta: Fraction, *, strict: bool) -> PrivacyCurve:
    """``curve`` up to ``delta``, as in :func:`with_delta`."""
    more = Mixture if strict else Added  # [curve]
    return PrivacyCurve(*(more(bound, round_up(delta)) for bound in curve.bounds))


# end-proof-region: with_delta


def require_with_delta(measure: Any, allowed: tuple[Measure, ...], note: str = "") -> None:
    """Raise unless ``measure`` is one of ``allowed``; ``note`` ends the message."""
    if not isinstance(measure, Measure) or measure not in allowed:
        *others, last = map(repr, allowed)
        raise ParameterTypeError(f"output_measure must be {', '.join(others)} or {last}{note}")
