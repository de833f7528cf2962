"""The least scale at which several equal releases meet a budget together.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..combinators._rules import times_over
from ..core.binary_search import binary_search_chain
from ..core.measurement import Measurement
from ..errors import SearchError
from ..spaces.curves.composed import Composed
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.curves.range_steps import RangeSteps
from ..spaces.curves.totals import NOTHING
from ..spaces.measures import Measure, PrivacyProfile

Make = Callable[[float], Measurement]
Excess = Callable[[float], float]

CLOSE = 1 + 2.0**-10  # a scale that is searched by slow curves ends this close: they add about as much themselves
_FARTHEST = 2.0**40  # times the scale of one release, where more noise has no use any more
_LOGS = 700.0  # a delta of 0 counts as e^-700 where a line is drawn through logarithms


# proof-region: least_scale
def several(measure: Measure, loss: Any, releases: int) -> Any:
    """The loss of ``releases`` independent releases, each of which loses ``loss``; nothing is rounded down."""
    return loss if releases == 1 else times_over(measure, loss, releases)  # [times-over]


def together(one: Measurement, releases: int) -> Measurement:
    """``one`` with the map of ``releases`` of it, for a search alone."""
    if releases == 1:
        return one
    return replace(
        one, privacy_map=lambda d_in: several(one.output_measure, one.exact_map(d_in), releases)
    )  # [together]


def least_scale(
    make: Make, d_in: Any, d_out: Any, releases: int = 1, known: dict[Any, float] | None = None
) -> Measurement:
    """What ``make`` builds at the least scale at which ``releases`` of it lose at most ``d_out`` together.

    The next smaller float64 does not pass, save under ``PrivacyProfile()`` where a bound that takes a grid is of use:
    there a scale smaller by a thousandth does not pass. What is returned passes. ``known`` keeps what was found for one
    budget by the curve at scale 1, for other mechanisms of the same curves.

    Raises:
        SearchError: No scale passes, or every one does.
    """
    if make(1.0).output_measure != PrivacyProfile():
        scale = binary_search_chain(lambda tau: together(make(tau), releases), d_in, d_out).parameters["scale"]
        return make(scale)  # [scalar]

    def passes(scale: float) -> bool:
        return together(make(scale), releases).check(d_in, d_out)

    alike = make(1.0).map(d_in)
    gridded = any(map(_takes_a_grid, several(PrivacyProfile(), alike, releases).bounds))
    known = known if gridded and known is not None else {}
    if alike not in known or not passes(known[alike]):
        known[alike] = _by_curves(make, d_in, d_out, releases)
    if not passes(known[alike]):  # [passes]
        raise SearchError("no scale meets d_out: raise it")
    return make(known[alike])


# end-proof-region: least_scale


def _by_curves(make: Make, d_in: Any, d_out: Any, releases: int) -> float:
    """The scale by all bounds, first by those that take no grid."""
    epsilon, delta = d_out
    curves = _Curves(make, d_in, epsilon, releases)
    scale = curves.quickest(delta)
    for kind in curves.slow(scale / CLOSE):
        scale = curves.improved(kind, scale, delta)
    return scale


class _Curves:
    """The curves of several releases by their scale, at one epsilon."""

    def __init__(self, make: Make, d_in: Any, epsilon: Any, releases: int) -> None:
        self.make, self.d_in, self.epsilon, self.releases = make, d_in, epsilon, releases

    def bounds(self, scale: float) -> tuple[Any, ...]:
        """All bounds of all releases together."""
        curve: PrivacyCurve = several(PrivacyProfile(), self.make(scale).map(self.d_in), self.releases)
        return curve.bounds

    def quickest(self, delta: Any) -> float:
        """The least scale that passes by bounds that take no grid."""

        def quick(scale: float) -> Measurement:
            one = self.make(scale)
            return replace(one, privacy_map=lambda _: _without_grids(one.map(self.d_in)))

        scale = float(binary_search_chain(quick, self.d_in, (self.epsilon, delta)).parameters["scale"])
        if self.releases == 1:
            return scale
        low, high = scale / CLOSE, scale
        while self.delta(high, None) > delta:
            if high > _FARTHEST * scale:
                raise SearchError("no scale meets d_out: raise it, or lower releases")
            low, high = high, 2 * high
        return narrowed(lambda at: excess(self.delta(at, None), delta), low, high)

    def slow(self, scale: float) -> list[type]:
        """The kinds of bounds that take a grid, the one with the least delta at ``scale`` first."""
        kinds = {type(bound) for bound in self.bounds(scale) if _takes_a_grid(bound)}
        return sorted(kinds, key=lambda kind: self.delta(scale, kind))

    def improved(self, kind: type, scale: float, delta: Any) -> float:
        """The least scale, or ``scale`` where it is less, that passes by the bounds of one kind."""
        low, high = scale / CLOSE, scale
        if self.delta(low, kind) > delta:
            return scale
        while self.delta(low, kind) <= delta:
            low, high = low * 0.8, low
        return narrowed(lambda at: excess(self.delta(at, kind), delta), low, high)

    def delta(self, scale: float, kind: type | None) -> float:
        """The delta of the bounds of one kind that takes a grid, or for None of all that take none."""
        wanted = [
            bound for bound in self.bounds(scale) if (isinstance(bound, kind) if kind else not _takes_a_grid(bound))
        ]
        return PrivacyCurve(*wanted).delta(self.epsilon) if wanted else 1.0


def _takes_a_grid(bound: Any) -> bool:
    inner = getattr(bound, "bound", bound)
    return isinstance(inner, Composed) or (isinstance(inner, RangeSteps) and inner.k > 1)


def _without_grids(curve: PrivacyCurve) -> PrivacyCurve:
    kept = [bound for bound in curve.bounds if not _takes_a_grid(bound)]
    return PrivacyCurve(*kept) if kept else NOTHING


def excess(delta: float, allowed: Any) -> float:
    """By how much the logarithm of ``delta`` is too large; at most 0 where it passes."""
    if delta <= allowed:
        return max(math.log(delta / allowed), -_LOGS) if delta > 0 else -_LOGS
    return math.log(delta / allowed) if allowed > 0 else _LOGS


def narrowed(too_large: Excess, low: float, high: float) -> float:
    """A scale that passes, ``high`` or less, such that one smaller by a factor of at most ``CLOSE`` does not.

    ``low`` does not pass, or was not seen to. A line through the logarithms says where to look, a little above and
    a little below in turn, and every third time the middle.
    """
    below, above, turn = too_large(low), too_large(high), 0
    while high > low * CLOSE:
        share = below / (below - above) if below > 0 >= above and turn % 3 < 2 else 0.5
        nudge = CLOSE ** (0.3 if turn % 2 == 0 else -0.3)
        at = min(max(low * (high / low) ** share * nudge, low * CLOSE**0.3), high / CLOSE**0.3)
        value = too_large(at)
        if value <= 0:
            high, above = at, value
        else:
            low, below = at, value
        turn += 1
    return high
