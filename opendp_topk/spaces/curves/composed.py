"""Privacy curves of compositions, by convolution of loss distributions, and the maximum of several curves."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gmpy2 import mpz

from ...errors import checks
from ...errors.checks import Number
from ...numerics.arithmetic import one_minus_exp_up, round_up, to_fraction
from .closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, UpToDelta, ZCDPBound
from .covers import DIGITS, ONE, LossDistribution, choose_grid, discretize, surely_beyond
from .curve import PrivacyCurve

# A bound for several steps, each of which obeys its own privacy curve. The curves are fixed in advance.
#
# Proof: proofs/spaces/curves/covers.tex

_NEARLY_ONE = 1 - 2.0**-53  # the largest float below 1
_MOST_STEPS = 2**20  # for more steps, the grid is too coarse to improve on their rho
_FARTHEST = 64  # largest epsilon in practical use: if all deltas up to it are about 1, there is no convolution

Parts = tuple[tuple[PrivacyCurve, int], ...]


# proof-region: composed
@dataclass(frozen=True)
class Composed:
    """The curve of composed steps: for each (curve, count) of ``parts``, ``count`` >= 1 steps that obey ``curve``.

    The curve of each step is interpolated by chords between the nodes of a grid, which defines a loss distribution.
    These are convolved in integer arithmetic with upward rounding. Deltas below about count * 10^-30 are not resolved.
    The counts of equal curves in ``parts`` are added when the bound is made.
    """

    parts: Parts
    takes_long: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts: dict[PrivacyCurve, int] = {}
        for curve, count in self.parts:
            counts[curve] = counts.get(curve, 0) + checks.require_positive_int("count", count)  # [distinct]
        object.__setattr__(self, "parts", tuple(counts.items()))

    def __call__(self, epsilon: Number) -> float:
        if epsilon < _least_useful_epsilon(self.parts):
            return 1.0  # [one-step-says-nothing]
        h, infinite, first, weights, damped_sums = _tail_masses(self.parts)
        e = to_fraction(epsilon)
        place = max(e // h + 1, first)  # [cell]
        if place - first >= len(weights):
            return _round_delta_up(Fraction(infinite, ONE))  # [above-all]
        weight, damped = weights[place - first], damped_sums[place - first]
        decay = 1 - one_minus_exp_up(place * h - e)  # [decay]
        return _round_delta_up((int(weight) - decay * int(damped)) / ONE)  # [hockey-stick]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``: whether ``other`` has the same steps, and possibly more.

        If both have steps of one curve only, these two curves are compared bound by bound.
        """
        if not isinstance(other, Composed):
            return False
        if len(self.parts) == len(other.parts) == 1:
            (curve, count), (wider, most) = *self.parts, *other.parts
            return count <= most and all(_is_implied(bound, curve) for bound in wider.bounds)  # [one-kind]
        counts = dict(other.parts)
        return all(count <= counts.get(curve, 0) for curve, count in self.parts)  # [implies]


def _is_implied(bound: Any, curve: PrivacyCurve) -> bool:
    """Whether a bound of ``curve`` equals or implies ``bound``."""
    return any(own == bound or (hasattr(own, "implies") and own.implies(bound)) for own in curve.bounds)  # [follows]


def _round_delta_up(value: Fraction) -> float:
    return round_up(min(Fraction(1), value))  # [delta-up]


@functools.lru_cache(maxsize=64)
def _least_useful_epsilon(parts: Parts) -> float:
    """Return the epsilon below which a single step already has a delta of nearly 1, so no grid is needed.

    It is infinity if no practical epsilon gives a useful delta.
    """
    if sum(count for _, count in parts) > _MOST_STEPS:
        return math.inf  # [many]
    first = max(curve.epsilon(_NEARLY_ONE) if curve.delta(0) == 1 else 0.0 for curve, _ in parts)
    return math.inf if first > _FARTHEST or surely_beyond(parts, _FARTHEST) else first  # [far]


@functools.lru_cache(maxsize=16)
def _tail_masses(parts: Parts) -> tuple[Fraction, int, int, list[mpz], list[mpz]]:
    """Return the grid's step h, the mass at infinity, ``first``, and tail sums of a loss distribution of all steps.

    The two lists of tail sums for i = ``first``, ``first`` + 1, ... are the whole mass at losses >= i h, infinity
    included, and a lower bound on the sum of mass e^(i h - loss) over the finite losses >= i h. There is no mass
    between 0 and ``first`` h.
    """
    h, reads = choose_grid(parts)  # [grid]
    powers = (_repeated_distribution(*part, every * h, every, n) for part, (every, n) in zip(parts, reads, strict=True))
    cover = functools.reduce(LossDistribution.__mul__, powers)  # [product]
    decay = mpz(math.floor((1 - one_minus_exp_up(h)) * ONE))  # [decay-down]
    first = max(cover.lowest, 0)  # [first]
    from_top = cover.masses[first - cover.lowest :][::-1]
    weights = list(itertools.accumulate(from_top, initial=cover.infinite))  # [sums]
    damped = mpz(0)
    damped_sums = [damped := mass + (decay * damped >> DIGITS) for mass in from_top]  # [damped-sums]
    return h, int(cover.infinite), first, weights[:0:-1], damped_sums[::-1]


@functools.lru_cache(maxsize=4)
def _repeated_distribution(curve: PrivacyCurve, count: int, step: Fraction, every: int, n: int) -> LossDistribution:
    """Return a loss distribution of ``count`` steps of ``curve``, discretized at n multiples of ``step``.

    Its grid is finer than ``step`` by the factor ``every``.
    """
    return discretize(curve, step, n).refine_grid(every).self_compose(count)  # [powers]


# end-proof-region: composed


# The maximum of several privacy curves, for pairs of neighbours that obey an unknown one of them.
#
# Proof: proofs/spaces/curves/largest.tex


# proof-region: largest
@dataclass(frozen=True)
class Largest:
    """The maximum of ``curves``: a bound for output distributions that obey at least one of them."""

    curves: tuple[PrivacyCurve, ...]
    takes_long: ClassVar[bool] = True

    def __call__(self, epsilon: Number) -> float:
        found = 0.0
        for curve in self.curves:
            found = found if curve.is_within(epsilon, found) else curve.delta(epsilon)  # [largest]
        return found

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``: whether ``other`` has all of these curves."""
        return isinstance(other, Largest) and set(self.curves) <= set(other.curves)  # [fewer]


def largest_of_curves(curves: Iterable[PrivacyCurve]) -> PrivacyCurve:
    """Return the curve of output distributions that obey at least one of ``curves``.

    Its bounds are the maximum of ``curves`` and every bound that all of them imply.
    """
    listed = tuple(dict.fromkeys(curves))
    if len(listed) == 1:
        return listed[0]  # [one-of-them]
    stated = dict.fromkeys(bound for curve in listed for bound in curve.bounds)
    common = (bound for bound in stated if all(_is_implied(bound, curve) for curve in listed))  # [common]
    return PrivacyCurve(Largest(listed), *common)


# end-proof-region: largest


# The privacy curve of several releases from the same input, computed from their curves.
#
# Proof: proofs/spaces/curves/totals.tex

Steps = list[tuple[PrivacyCurve, int]]

# proof-region: totals
NOTHING = PrivacyCurve(ApproximateDP(math.inf))


def compose(curves: Iterable[PrivacyCurve], *, adaptive: bool = False, ordered: bool = True) -> PrivacyCurve:
    """Return the curve of the composition of steps that obey ``curves``, which are fixed in advance.

    If ``adaptive``, a step may depend on the outputs of earlier steps; otherwise the steps are independent. If
    ``ordered`` is false, the order in which the curves are used may depend on these outputs as well.
    """
    alike = ((curve, sum(1 for _ in same)) for curve, same in itertools.groupby(curves))  # [in-a-row]
    return _joint_curve(alike, adaptive, ordered)


def compose_repeated(curve: PrivacyCurve, count: int) -> PrivacyCurve:
    """Return the curve of the composition of ``count`` >= 1 independent steps that each obey ``curve``."""
    return _joint_curve([(curve, count)], adaptive=False, ordered=True)


def _joint_curve(steps: Iterable[tuple[PrivacyCurve, int]], adaptive: bool, ordered: bool) -> PrivacyCurve:
    whole = _count_equal_steps(
        (step for step in steps if ApproximateDP(0) not in step[0].bounds), adaptive
    )  # [counting]
    if any(curve == NOTHING for curve, _ in whole):
        return NOTHING  # [nothing]
    if _total_steps(whole) < 2:
        return whole[0][0] if whole else PrivacyCurve(ApproximateDP(0))  # [alone]
    parts = [(part, count * often) for curve, count in whole for part, often in _composed_steps(curve)]
    blocks = _group_into_blocks(whole, adaptive)
    ways = [parts] + [blocks] * (ordered and _total_steps(blocks) > 1 and blocks != parts)  # [in-order]
    return PrivacyCurve(
        *dict.fromkeys(
            [*(Composed(tuple(way)) for way in ways), *_additive_bounds(whole), *_additive_bounds(parts)]
        )  # [least]
    )


def _count_equal_steps(steps: Iterable[tuple[PrivacyCurve, int]], adaptive: bool) -> Steps:
    """Merge equal steps: adjacent ones if ``adaptive``, otherwise all of them."""
    found: Steps = []
    places: dict[PrivacyCurve, int] = {}
    for curve, count in steps:
        place = places.get(curve, -1)
        if place >= 0 and (not adaptive or place == len(found) - 1):
            found[place] = curve, found[place][1] + count  # [gathered]
        else:
            places[curve] = len(found)
            found.append((curve, count))
    return found


def _total_steps(steps: Steps) -> int:
    return sum(count for _, count in steps)


def _composed_steps(curve: PrivacyCurve) -> Sequence[tuple[PrivacyCurve, int]]:
    """Return the steps of a composed curve, or any other curve as one step."""
    for bound in curve.bounds:
        if isinstance(bound, Composed):
            return bound.parts  # [flatten]
    return [(curve, 1)]


def _additive_bounds(steps: Steps) -> list[Any]:
    """Return the bounds by adding epsilons, rhos or steps of one range, each if all ``steps`` have such a bound."""
    return [bound for kind, add in _SUMS if (bound := _add_bounds(steps, kind, add)) is not None]


def _add_bounds(steps: Steps, kind: type, add: Callable[[list[tuple[Any, int]]], Any]) -> Any:
    stated = [(_first_bound_of_kind(curve, kind), count) for curve, count in steps]
    bounds = [(pair[0], count) for pair, count in stated if pair]
    deltas = [(pair[1], count) for pair, count in stated if pair]
    if len(bounds) < len(steps):
        return None
    bound, delta = add(bounds), min(Fraction(1), _exact_sum(deltas))  # [add]
    return bound if bound is None or delta == 0 else UpToDelta(bound, delta)  # [with-delta]


def _first_bound_of_kind(step: PrivacyCurve, kind: type) -> tuple[Any, Number] | None:
    """Return the first finite bound of this kind that a step obeys, and its delta; None if there is none."""
    for bound in step.bounds:
        inner, delta = (bound.bound, bound.delta) if isinstance(bound, UpToDelta) else (bound, 0)  # [mixture]
        if isinstance(inner, ApproximateDP):
            inner, delta = ApproximateDP(inner.epsilon), to_fraction(delta) + to_fraction(inner.delta)  # [pair]
        if isinstance(inner, kind) and math.inf not in vars(inner).values():
            return inner, delta
    return None


def _add_equal_ranges(bounds: list[tuple[AdaptiveRangeBound, int]]) -> AdaptiveRangeBound | None:
    """Add the numbers of steps if all have the same range; otherwise return None."""
    same = len({to_fraction(bound.a) for bound, _ in bounds}) == 1
    return (
        AdaptiveRangeBound(sum(bound.k * count for bound, count in bounds), bounds[0][0].a) if same else None
    )  # [same-range]


def _exact_sum(values: Iterable[tuple[Number, int]]) -> Fraction:
    return sum((to_fraction(value) * count for value, count in values), Fraction(0))  # [exact-sum]


def _add_epsilons(bounds: list[tuple[ApproximateDP, int]]) -> ApproximateDP:
    return ApproximateDP(_exact_sum((bound.epsilon, count) for bound, count in bounds))  # [epsilons]


def _add_rhos(bounds: list[tuple[ZCDPBound, int]]) -> ZCDPBound:
    return ZCDPBound(_exact_sum((bound.rho, count) for bound, count in bounds))  # [rhos]


_SUMS: tuple[tuple[type, Callable[[list[tuple[Any, int]]], Any]], ...] = (
    (ApproximateDP, _add_epsilons),
    (ZCDPBound, _add_rhos),
    (AdaptiveRangeBound, _add_equal_ranges),
)


def _group_into_blocks(steps: Steps, adaptive: bool) -> Steps:
    """Merge the steps of each block into one: adjacent steps if ``adaptive``, otherwise all steps with the same key."""
    keys = [_block_key(curve) or place for place, (curve, _) in enumerate(steps)]
    if not adaptive:
        order = sorted(range(len(steps)), key=lambda place: keys.index(keys[place]))  # [any-order]
        steps, keys = [steps[place] for place in order], [keys[place] for place in order]
    pairs, found = zip(keys, steps, strict=True), []
    for key, block in itertools.groupby(pairs, key=lambda pair: pair[0]):  # [blocks]
        together = [step for _, step in block]
        alone = isinstance(key, int) or _total_steps(together) == 1
        found += together if alone else [(PrivacyCurve(*_additive_bounds(together)), 1)]  # [block]
    return found


# end-proof-region: totals


def _block_key(step: PrivacyCurve) -> Hashable:
    """Return the key of steps that are better added than convolved: the same range, or only rhos; None otherwise.

    Steps with a ``LaplacePair`` are convolved, because its curve is better than that of its range.
    """
    if any(isinstance(bound, LaplacePair) for bound in step.bounds):
        return None
    if (ranged := _first_bound_of_kind(step, AdaptiveRangeBound)) is not None:
        return "range", to_fraction(ranged[0].a)
    if _first_bound_of_kind(step, ZCDPBound) is not None and all(isinstance(bound, ZCDPBound) for bound in step.bounds):
        return "rho"
    return None
