"""The privacy curve of several releases of one input, out of their curves.

Proof: proofs/spaces/curves/totals.tex
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from ...errors.checks import Number
from ...numerics.arithmetic import exact
from .closed_forms import ApproximateDP, Concentrated, LaplacePair, Mixture
from .composed import Composed
from .curve import PrivacyCurve
from .range_steps import RangeSteps

Steps = list[tuple[PrivacyCurve, int]]

# proof-region: totals
NOTHING = PrivacyCurve(ApproximateDP(math.inf))


def compose(curves: Iterable[PrivacyCurve], *, adaptive: bool = False, ordered: bool = True) -> PrivacyCurve:
    """The joint curve of steps that obey ``curves``, all fixed in advance.

    ``adaptive`` says that a step may be chosen after those before it; otherwise they are independent. Without
    ``ordered`` the order of the steps may be chosen on the way, too.
    """
    alike = ((curve, sum(1 for _ in same)) for curve, same in itertools.groupby(curves))  # [in-a-row]
    return _joint(alike, adaptive, ordered)


def times(curve: PrivacyCurve, count: int) -> PrivacyCurve:
    """The joint curve of ``count`` >= 1 independent steps that obey ``curve`` each."""
    return _joint([(curve, count)], adaptive=False, ordered=True)


def _joint(steps: Iterable[tuple[PrivacyCurve, int]], adaptive: bool, ordered: bool) -> PrivacyCurve:
    whole = _gathered((step for step in steps if ApproximateDP(0) not in step[0].bounds), adaptive)  # [counting]
    if any(curve == NOTHING for curve, _ in whole):
        return NOTHING  # [nothing]
    if _length(whole) < 2:
        return whole[0][0] if whole else PrivacyCurve(ApproximateDP(0))  # [alone]
    parts = [(part, count * often) for curve, count in whole for part, often in _parts(curve)]
    blocks = _blocks(whole, adaptive)
    ways = [parts] + [blocks] * (ordered and _length(blocks) > 1 and blocks != parts)  # [in-order]
    return PrivacyCurve(
        *dict.fromkeys([*(Composed(tuple(way)) for way in ways), *_sums(whole), *_sums(parts)])  # [least]
    )


def _gathered(steps: Iterable[tuple[PrivacyCurve, int]], adaptive: bool) -> Steps:
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


def _length(steps: Steps) -> int:
    return sum(count for _, count in steps)


def _parts(curve: PrivacyCurve) -> Sequence[tuple[PrivacyCurve, int]]:
    """The steps of a composed curve, or the curve itself."""
    for bound in curve.bounds:
        if isinstance(bound, Composed):
            return bound.parts  # [flatten]
    return [(curve, 1)]


def _sums(steps: Steps) -> list[Any]:
    """The bounds that adding up epsilons, rhos and steps of one range gives, where all ``steps`` state them."""
    return [bound for kind, add in _SUMS if (bound := _sum(steps, kind, add)) is not None]


def _sum(steps: Steps, kind: type, add: Callable[[list[tuple[Any, int]]], Any]) -> Any:
    stated = [(_stated(curve, kind), count) for curve, count in steps]
    bounds = [(pair[0], count) for pair, count in stated if pair]
    deltas = [(pair[1], count) for pair, count in stated if pair]
    if len(bounds) < len(steps):
        return None
    bound, delta = add(bounds), min(Fraction(1), _exact_sum(deltas))  # [add]
    return bound if bound is None or delta == 0 else Mixture(bound, delta)  # [with-delta]


def _stated(step: PrivacyCurve, kind: type) -> tuple[Any, Number] | None:
    """The first bound of this kind that a step obeys, and the delta up to which it does; None if there is none."""
    for bound in step.bounds:
        inner, delta = (bound.bound, bound.delta) if isinstance(bound, Mixture) else (bound, 0)  # [mixture]
        if isinstance(inner, ApproximateDP):
            inner, delta = ApproximateDP(inner.epsilon), exact(delta) + exact(inner.delta)  # [pair]
        if isinstance(inner, kind) and math.inf not in vars(inner).values():
            return inner, delta
    return None


def _one_range(bounds: list[tuple[RangeSteps, int]]) -> RangeSteps | None:
    """Steps of one range add up; those of different ranges are left apart."""
    same = len({exact(bound.a) for bound, _ in bounds}) == 1
    return RangeSteps(sum(bound.k * count for bound, count in bounds), bounds[0][0].a) if same else None  # [same-range]


def _exact_sum(values: Iterable[tuple[Number, int]]) -> Fraction:
    return sum((exact(value) * count for value, count in values), Fraction(0))  # [exact-sum]


def _epsilons(bounds: list[tuple[ApproximateDP, int]]) -> ApproximateDP:
    return ApproximateDP(_exact_sum((bound.epsilon, count) for bound, count in bounds))  # [epsilons]


def _rhos(bounds: list[tuple[Concentrated, int]]) -> Concentrated:
    return Concentrated(_exact_sum((bound.rho, count) for bound, count in bounds))  # [rhos]


_SUMS: tuple[tuple[type, Callable[[list[tuple[Any, int]]], Any]], ...] = (
    (ApproximateDP, _epsilons),
    (Concentrated, _rhos),
    (RangeSteps, _one_range),
)


def _blocks(steps: Steps, adaptive: bool) -> Steps:
    """The steps, those of a block as one: next to each other, or anywhere if not adaptive."""
    keys = [_key(curve) or place for place, (curve, _) in enumerate(steps)]
    if not adaptive:
        order = sorted(range(len(steps)), key=lambda place: keys.index(keys[place]))  # [any-order]
        steps, keys = [steps[place] for place in order], [keys[place] for place in order]
    pairs, found = zip(keys, steps, strict=True), []
    for key, block in itertools.groupby(pairs, key=lambda pair: pair[0]):  # [blocks]
        together = [step for _, step in block]
        alone = isinstance(key, int) or _length(together) == 1
        found += together if alone else [(PrivacyCurve(*_sums(together)), 1)]  # [block]
    return found


# end-proof-region: totals


def _key(step: PrivacyCurve) -> Hashable:
    """What steps that are better added up than convolved have in common: a range, or nothing but a rho; else None.

    A pair of Laplace laws is convolved: it says more than its range.
    """
    if any(isinstance(bound, LaplacePair) for bound in step.bounds):
        return None
    if (ranged := _stated(step, RangeSteps)) is not None:
        return "range", exact(ranged[0].a)
    if _stated(step, Concentrated) is not None and all(isinstance(bound, Concentrated) for bound in step.bounds):
        return "rho"
    return None
