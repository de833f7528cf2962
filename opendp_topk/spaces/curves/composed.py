"""Privacy curves of compositions: sums of losses on grids, totals of many parts, and the largest of several curves."""

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

# The bound of a privacy curve of several steps, each of which obeys a curve of its own that was fixed in advance.
#
# Proof: proofs/spaces/curves/covers.tex

_NEARLY_ONE = 1 - 2.0**-53  # the greatest float below 1
_MOST_STEPS = 2**20  # of more a grid is too coarse to say more than their rho does
_FARTHEST = 64  # epsilons up to here are in use: where steps say nothing at any of them, adding up is not worth it

Parts = tuple[tuple[PrivacyCurve, int], ...]


# proof-region: composed
@dataclass(frozen=True)
class Composed:
    """What steps say together, ``count`` >= 1 of them obeying ``curve``, for each (curve, count) of ``parts``.

    The curve of each step is joined by chords between the nodes of a grid, and the laws of losses so defined are
    convolved: exact integers, every rounding upward. No delta below about count * 10^-30 is resolved. The curves of
    ``parts`` differ: counts of equal ones are added up when the bound is made.
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
        h, infinite, first, beyond = _tail_masses(self.parts)
        e = to_fraction(epsilon)
        place = max(e // h + 1, first)  # [cell]
        if place - first >= len(beyond):
            return _round_delta_up(Fraction(infinite, ONE))  # [above-all]
        weight, damped = beyond[place - first]
        decay = 1 - one_minus_exp_up(place * h - e)  # [decay]
        return _round_delta_up((int(weight) - decay * int(damped)) / ONE)  # [hockey-stick]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too: whether ``other`` has these steps, and maybe more.

        Steps of one curve each are compared bound by bound.
        """
        if not isinstance(other, Composed):
            return False
        if len(self.parts) == len(other.parts) == 1:
            (curve, count), (wider, most) = *self.parts, *other.parts
            return count <= most and all(_is_implied(bound, curve) for bound in wider.bounds)  # [one-kind]
        counts = dict(other.parts)
        return all(count <= counts.get(curve, 0) for curve, count in self.parts)  # [implies]


def _is_implied(bound: Any, curve: PrivacyCurve) -> bool:
    """Whether a bound of ``curve`` is ``bound``, or implies it."""
    return any(own == bound or (hasattr(own, "implies") and own.implies(bound)) for own in curve.bounds)  # [follows]


def _round_delta_up(value: Fraction) -> float:
    return round_up(min(Fraction(1), value))  # [delta-up]


@functools.lru_cache(maxsize=64)
def _least_useful_epsilon(parts: Parts) -> float:
    """The epsilon below which a step alone says nothing, so that no grid is worth its work; infinity beyond all use."""
    if sum(count for _, count in parts) > _MOST_STEPS:
        return math.inf  # [many]
    first = max(curve.epsilon(_NEARLY_ONE) if curve.delta(0) == 1 else 0.0 for curve, _ in parts)
    return math.inf if first > _FARTHEST or surely_beyond(parts, _FARTHEST) else first  # [far]


@functools.lru_cache(maxsize=16)
def _tail_masses(parts: Parts) -> tuple[Fraction, int, int, list[tuple[mpz, mpz]]]:
    """The grid's step h, the mass at infinity, and sums over the other masses in a cover of all steps.

    For i = ``first``, ``first`` + 1, ...: all of the mass at losses >= i h, and a number not above the sum of mass
    e^(i h - loss) there. Between 0 and ``first`` h, the third number, is no mass.
    """
    h, reads = choose_grid(parts)  # [grid]
    powers = (_repeated_distribution(*part, every * h, every, n) for part, (every, n) in zip(parts, reads, strict=True))
    cover = functools.reduce(LossDistribution.__mul__, powers)  # [product]
    decay = math.floor((1 - one_minus_exp_up(h)) * ONE)  # [decay-down]
    weight, damped, beyond = cover.infinite, mpz(0), []
    first = max(cover.lowest, 0)  # [first]
    for mass in reversed(cover.masses[first - cover.lowest :]):
        weight, damped = weight + mass, mass + (decay * damped >> DIGITS)  # [sums]
        beyond.append((weight, damped))
    return h, int(cover.infinite), first, beyond[::-1]


@functools.lru_cache(maxsize=4)
def _repeated_distribution(curve: PrivacyCurve, count: int, step: Fraction, every: int, n: int) -> LossDistribution:
    """A cover of ``count`` steps that obey ``curve``, which is read at n multiples of ``step`` on a finer grid."""
    return discretize(curve, step, n).refine_grid(every).self_compose(count)  # [powers]


# end-proof-region: composed


# The largest of several privacy curves: of neighbours of which it is not known which one of them holds.
#
# Proof: proofs/spaces/curves/largest.tex


# proof-region: largest
@dataclass(frozen=True)
class Largest:
    """What holds between two laws that obey one of ``curves``, whichever it is."""

    curves: tuple[PrivacyCurve, ...]
    takes_long: ClassVar[bool] = True

    def __call__(self, epsilon: Number) -> float:
        return max(curve.delta(epsilon) for curve in self.curves)  # [largest]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too: whether ``other`` has all of these curves."""
        return isinstance(other, Largest) and set(self.curves) <= set(other.curves)  # [fewer]


def largest_of_curves(curves: Iterable[PrivacyCurve]) -> PrivacyCurve:
    """The curve of laws that obey one of ``curves``, whichever it is: their largest, and what all of them state."""
    listed = tuple(dict.fromkeys(curves))
    if len(listed) == 1:
        return listed[0]  # [one-of-them]
    stated = dict.fromkeys(bound for curve in listed for bound in curve.bounds)
    common = (bound for bound in stated if all(_is_implied(bound, curve) for curve in listed))  # [common]
    return PrivacyCurve(Largest(listed), *common)


# end-proof-region: largest


# The privacy curve of several releases of one input, out of their curves.
#
# Proof: proofs/spaces/curves/totals.tex

Steps = list[tuple[PrivacyCurve, int]]

# proof-region: totals
NOTHING = PrivacyCurve(ApproximateDP(math.inf))


def compose(curves: Iterable[PrivacyCurve], *, adaptive: bool = False, ordered: bool = True) -> PrivacyCurve:
    """The joint curve of steps that obey ``curves``, all fixed in advance.

    ``adaptive`` says that a step may be chosen after those before it; otherwise they are independent. Without
    ``ordered`` the order of the steps may be chosen on the way, too.
    """
    alike = ((curve, sum(1 for _ in same)) for curve, same in itertools.groupby(curves))  # [in-a-row]
    return _joint_curve(alike, adaptive, ordered)


def compose_repeated(curve: PrivacyCurve, count: int) -> PrivacyCurve:
    """The joint curve of ``count`` >= 1 independent steps that obey ``curve`` each."""
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
    """Equal steps counted together: next to each other, or anywhere if not adaptive."""
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
    """The steps of a composed curve, or the curve itself."""
    for bound in curve.bounds:
        if isinstance(bound, Composed):
            return bound.parts  # [flatten]
    return [(curve, 1)]


def _additive_bounds(steps: Steps) -> list[Any]:
    """The bounds that adding up epsilons, rhos and steps of one range gives, where all ``steps`` state them."""
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
    """The first bound of this kind that a step obeys, and the delta up to which it does; None if there is none."""
    for bound in step.bounds:
        inner, delta = (bound.bound, bound.delta) if isinstance(bound, UpToDelta) else (bound, 0)  # [mixture]
        if isinstance(inner, ApproximateDP):
            inner, delta = ApproximateDP(inner.epsilon), to_fraction(delta) + to_fraction(inner.delta)  # [pair]
        if isinstance(inner, kind) and math.inf not in vars(inner).values():
            return inner, delta
    return None


def _add_equal_ranges(bounds: list[tuple[AdaptiveRangeBound, int]]) -> AdaptiveRangeBound | None:
    """Steps of one range add up; those of different ranges are left apart."""
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
    """The steps, those of a block as one: next to each other, or anywhere if not adaptive."""
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
    """What steps that are better added up than convolved have in common: a range, or nothing but a rho; else None.

    A pair of Laplace laws is convolved: it says more than its range.
    """
    if any(isinstance(bound, LaplacePair) for bound in step.bounds):
        return None
    if (ranged := _first_bound_of_kind(step, AdaptiveRangeBound)) is not None:
        return "range", to_fraction(ranged[0].a)
    if _first_bound_of_kind(step, ZCDPBound) is not None and all(isinstance(bound, ZCDPBound) for bound in step.bounds):
        return "rho"
    return None
