"""What would fit in the place of a release that a ledger has refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from ...core.measurement import Measurement
from ...core.queryable import rescaled
from ...errors import ParameterError

_DOUBLINGS = 40  # a release with 10^12 times the noise is of no use
_HALVINGS = 14  # to the last of the four digits that are shown


def least_scale(measurement: Measurement, fits: Callable[[Measurement], bool]) -> float | None:
    """About the least scale with which ``measurement`` would fit, of four digits; None where none is found."""
    own = measurement.parameters.get("scale")
    if not isinstance(own, int | float | Fraction) or not 0 < own < math.inf:
        return None

    def passes(scale: float) -> bool:
        made = rescaled(measurement, scale)
        return made is not None and fits(made)

    try:
        wide = next((2.0**n for n in range(1, _DOUBLINGS) if passes(float(own) * 2.0**n)), None)
        if wide is None:
            return None
        low, high = float(own) * wide / 2, float(own) * wide
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if passes(middle) else (middle, high)
        digits = 3 - math.floor(math.log10(high))
        shown = math.ceil(high * 10.0**digits) / 10.0**digits
        return shown if passes(shown) else None
    except (ParameterError, ArithmeticError):
        return None
