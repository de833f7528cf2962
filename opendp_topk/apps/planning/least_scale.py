"""The least scale at which several equal releases meet a budget together.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...combinators._rules import times_over
from ...core.binary_search import binary_search_chain
from ...core.measurement import Measurement
from ...errors import SearchError, TopKError, checks
from ...spaces.curves.closed_forms import Concentrated, RangeSteps
from ...spaces.curves.composed import NOTHING, Composed, Largest
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure, PrivacyProfile

Make = Callable[[float], Measurement]

CLOSE = 1 + 2.0**-10  # a scale that is searched by slow curves ends this close: they add about as much themselves
_FARTHEST = 2.0**40  # times the scale of one release, where more noise has no use any more
_LARGEST = 700.0  # epsilon or shift of normal laws that floats can tell of
_LEAST = 2.0**-960  # a product above it has all its digits
_GRIDDED = (RangeSteps, Composed, Largest)  # bounds that may take a grid, and are slow if they do
_AGREES = 2.0**-46  # where two looks at a loss say the same scale
_STEEP = 1e-6  # in a logarithm; the slope of a lesser step is noise
_LOOKS = 8  # at a loss, before all scales are searched
_TURNS = 12  # that a search may take by normal laws before it takes middles


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

        def all_of(scale: float) -> Measurement:
            return together(make(scale), releases)

        near = _bracket(all_of, d_in, d_out)
        scale = binary_search_chain(all_of, d_in, d_out, bounds=near).parameters["scale"]
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


def _bracket(make: Make, d_in: Any, d_out: Any) -> tuple[float, float] | None:
    """Two scales close to each other, of which the first does not pass and the second does; None where none are found.

    Losses fall about as a power of the scale, which says where to look.
    """
    scale, power, before = 1.0, 1.0, 0.0
    with suppress(TopKError, ArithmeticError, ValueError):
        for _ in range(_LOOKS):
            loss = make(scale).map(d_in)
            if not (checks.is_real(loss) and checks.is_real(d_out)):
                return None
            here = math.log(float(loss) / float(d_out))
            if abs(before) > _STEEP:  # how fast losses fell on the way here
                power *= (before - here) / before
            scale, before = scale * math.exp(here / power), here
            if abs(here) < _AGREES:
                break
        low, high = scale / (1 + 2 * _AGREES), scale * (1 + 2 * _AGREES)
        if not make(low).check(d_in, d_out) and make(high).check(d_in, d_out):  # [bracket]
            return low, high
    return None


# end-proof-region: least_scale


def _by_curves(make: Make, d_in: Any, d_out: Any, releases: int) -> float:
    """The scale by all bounds, first by those that take no grid."""
    curves = _Curves(make, d_in, d_out, releases)
    scale = curves.quickest()
    guess = curves.guessed(scale)
    kinds = [kind for kind in _GRIDDED if any(_takes_a_grid(one, kind) for one in curves.bounds(scale))]
    for kind in sorted(kinds, key=lambda kind: curves.delta(min(guess, scale / CLOSE), kind)):
        scale = curves.narrowed(kind, scale, min(guess, scale / CLOSE))
    return scale


class _Curves:
    """The curves of several releases by their scale, at one epsilon."""

    def __init__(self, make: Make, d_in: Any, d_out: Any, releases: int) -> None:
        self.make, self.d_in, self.d_out, self.releases = make, d_in, d_out, releases
        self.seen: dict[tuple[type | None, float], float] = {}

    def bounds(self, scale: float) -> tuple[Any, ...]:
        """All bounds of all releases together."""
        curve: PrivacyCurve = several(PrivacyProfile(), self.make(scale).map(self.d_in), self.releases)
        return curve.bounds

    def quickest(self) -> float:
        """The least scale that passes by bounds that take no grid."""

        def quick(scale: float) -> Measurement:
            one = self.make(scale)
            return replace(one, privacy_map=lambda _: _without_grids(one.map(self.d_in)))

        scale = float(binary_search_chain(quick, self.d_in, self.d_out).parameters["scale"])
        if self.releases == 1:
            return scale
        least = scale
        while self.delta(scale) > self.d_out[1]:
            if scale > _FARTHEST * least:
                raise SearchError("no scale meets d_out: raise it, or lower releases")
            scale *= 2
        return self.narrowed(None, scale, scale / CLOSE)

    def guessed(self, scale: float) -> float:
        """Where all releases would pass if their losses were those of a normal law with their rho, which is near."""
        rhos = [bound.rho for bound in self.bounds(scale) if isinstance(bound, Concentrated)]
        return scale * math.sqrt(2 * min(rhos)) / gaussian_shift(*self.d_out) if rhos else scale

    def delta(self, scale: float, kind: type | None = None) -> float:
        """The delta of the bounds of one kind that takes a grid, or for None of all that take none."""
        if (kind, scale) not in self.seen:
            bounds = self.bounds(scale)
            asked = [one for one in bounds if (_takes_a_grid(one, kind) if kind else not _takes_a_grid(one))]
            self.seen[kind, scale] = PrivacyCurve(*asked).delta(self.d_out[0]) if asked else 1.0
        return self.seen[kind, scale]

    def narrowed(self, kind: type | None, high: float, guess: float) -> float:
        """A scale that passes, ``high`` or less, such that one smaller by a factor of at most ``CLOSE`` does not.

        ``high`` passes. Many releases lose about as much as one with Gaussian noise, whose shift is about in inverse
        proportion to the scale: that says where to look, at first at ``guess``, and then a little above and below.
        Where it does not help, the middle is next.
        """
        failed = [at for (known, at), delta in self.seen.items() if known is kind and delta > self.d_out[1]]
        low, place, power = max(failed, default=0.0), guess, 1.0
        before: tuple[float, float] | None = None
        wanted = gaussian_shift(*self.d_out)
        for turn in range(_TURNS):
            if turn:
                nudged = place * CLOSE ** (0.3 if turn % 2 else -0.3)
                place = min(max(nudged, low * CLOSE**0.9), high / CLOSE**0.9)
            if high <= low * CLOSE or (turn and place <= low):
                break
            delta = self.delta(place, kind)
            low, high = (low, place) if delta <= self.d_out[1] else (place, high)
            shift = gaussian_shift(self.d_out[0], delta)
            if before is not None:
                power = min(max(math.log(shift / before[1]) / math.log(before[0] / place), 0.5), 2.0)
            before, place = (place, shift), place * (shift / wanted) ** (1 / power)
        while high > low * CLOSE:
            place = _between(low, high) if low > 0 else 0.8 * high
            if not low < place < high:
                break  # among the least floats, where nothing is to be lost
            low, high = (low, place) if self.delta(place, kind) <= self.d_out[1] else (place, high)
        return high


def _between(low: float, high: float) -> float:
    """The root of the product, also where the product is no float64 any more, or one of few digits."""
    product = low * high
    return math.sqrt(product) if _LEAST < product < math.inf else math.sqrt(low) * math.sqrt(high)


def gaussian_shift(epsilon: Any, delta: Any) -> float:
    """About the shift, in deviations, of a normal law whose delta at ``epsilon`` this is; never 0 nor infinite."""
    e, low, high = float(epsilon), 1 / _LARGEST, _LARGEST
    growth = math.exp(min(e, _LARGEST))
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        near, far = e / middle - middle / 2, e / middle + middle / 2
        there = (math.erfc(near / math.sqrt(2)) - growth * math.erfc(far / math.sqrt(2))) / 2
        low, high = (middle, high) if there < delta else (low, middle)
    return low


def _takes_a_grid(bound: Any, kind: type | tuple[type, ...] = _GRIDDED) -> bool:
    inner = getattr(bound, "bound", bound)
    if isinstance(inner, Largest) and not any(_takes_a_grid(one) for curve in inner.curves for one in curve.bounds):
        return False
    return isinstance(inner, kind) and not (isinstance(inner, RangeSteps) and inner.k == 1)


def _without_grids(curve: PrivacyCurve) -> PrivacyCurve:
    kept = [bound for bound in curve.bounds if not _takes_a_grid(bound)]
    return PrivacyCurve(*kept) if kept else NOTHING
