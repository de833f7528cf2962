"""What releases cost that are drawn step by step, when it is seen how many steps they took.

Proof: proofs/combinators/pay_what_you_get.tex
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..core.measurement import Measurement
from ..spaces.concentrated import rho_of_range
from ..spaces.costs import Cost
from ..spaces.measures import Approximate, MaxDivergence, Measure, ZeroConcentratedDivergence
from ..spaces.with_delta import with_delta

_CHOSEN_ON_THE_WAY: tuple[Measure, ...] = (Approximate(MaxDivergence()), Approximate(ZeroConcentratedDivergence()))


# proof-region: adaptive_steps
def loss_of_steps(measure: Measure, count: int, width: Fraction | float, delta: Fraction) -> Any:
    """What ``count`` steps of range ``width`` lose up to ``delta``, under a measure of ``STRICT``; rounded up once."""
    if isinstance(width, float):
        return measure.infinite  # [no-width]
    cost = Cost(pure=count * width, rho=count * rho_of_range(width), steps=(count, width))  # [cost]
    return with_delta(measure, cost, min(delta, Fraction(1)), strict=True)  # [read]


def loss_after(query: Measurement, drawn: int | None, d_in: Any) -> Any:
    """The loss of ``query`` at ``d_in`` once it was seen to take ``drawn`` steps; None where that is not known."""
    whole, measure, steps = query.exact_map(d_in), query.output_measure, query.declared.steps
    if drawn is None or steps is None or measure not in _CHOSEN_ON_THE_WAY:
        return whole  # [whole]
    width, delta = steps.width(d_in), steps.delta(d_in)
    if not measure.at_most(loss_of_steps(measure, steps.most, width, delta), whole):  # [agreed-before]
        return whole
    return loss_of_steps(measure, drawn, width, delta)  # [fewer-steps]


def drawn_in(query: Measurement, release: Any) -> int | None:
    """How many steps ``release`` took; None where ``query`` does not say."""
    return None if query.declared.steps is None else query.declared.steps.drawn(release)  # [drawn]


# end-proof-region: adaptive_steps
