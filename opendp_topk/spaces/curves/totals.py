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
from .closed_forms import ApproximateDP, Concentrated, Mixture
from .composed import Composed
from .curve import PrivacyCurve
from .range_steps import RangeSteps

# proof-region: totals
NOTHING = PrivacyCurve(ApproximateDP(math.inf))


def compose(curves: Iterable[PrivacyCurve], *, adaptive: bool = False, ordered: bool = True) -> PrivacyCurve:
    """The joint curve of steps that obey ``curves``, all fixed in advance.

    ``adaptive`` says that a step may be chosen after those before it; otherwise they are independent. Without
    ``ordered`` the order of the steps may be chosen on the way, too.
    """
    whole = [curve for curve in curves if ApproximateDP(0) not in curve.bounds]  # [counting]
    if NOTHING in whole:
        return NOTHING  # [nothing]
    if len(whole) < 2:
        return whole[0] if whole else PrivacyCurve(ApproximateDP(0))  # [alone]
    steps = [step for curve in whole for step in _steps(curve)]
    blocks = [PrivacyCurve(*sums(block)) if len(block) > 1 else block[0] for block in _blocks(whole, adaptive)]
    ways = [steps] + [blocks] * (ordered and len(blocks) > 1 and blocks != steps)  # [in-order]
    return PrivacyCurve(
        *dict.fromkeys(
            [*(Composed(tuple((step, 1) for step in way)) for way in ways), *sums(whole), *sums(steps)]
        )  # [least]
    )


def _steps(curve: PrivacyCurve) -> list[PrivacyCurve]:
    """The steps of a composed curve, or the curve itself."""
    for bound in curve.bounds:
        if isinstance(bound, Composed):
            return [step for step, count in bound.parts for _ in range(count)]  # [flatten]
    return [curve]


def sums(steps: Sequence[PrivacyCurve]) -> list[Any]:
    """The bounds that adding up epsilons, rhos and steps of one range gives, where all ``steps`` state them."""
    return [bound for kind, add in _SUMS if (bound := _sum(steps, kind, add)) is not None]


def _sum(steps: Sequence[PrivacyCurve], kind: type, add: Callable[[list[Any]], Any]) -> Any:
    stated = [_stated(step, kind) for step in steps]
    if None in stated:
        return None
    bounds, deltas = [pair[0] for pair in stated if pair], [pair[1] for pair in stated if pair]
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


def _one_range(bounds: list[RangeSteps]) -> RangeSteps | None:
    """Steps of one range add up; those of different ranges are left apart."""
    same = len({exact(bound.a) for bound in bounds}) == 1
    return RangeSteps(sum(bound.k for bound in bounds), bounds[0].a) if same else None  # [same-range]


def _exact_sum(values: Iterable[Number]) -> Fraction:
    return sum(map(exact, values), Fraction(0))  # [exact-sum]


_SUMS: tuple[tuple[type, Callable[[list[Any]], Any]], ...] = (
    (ApproximateDP, lambda bounds: ApproximateDP(_exact_sum(bound.epsilon for bound in bounds))),  # [epsilons]
    (Concentrated, lambda bounds: Concentrated(_exact_sum(bound.rho for bound in bounds))),  # [rhos]
    (RangeSteps, _one_range),
)


def _blocks(steps: list[PrivacyCurve], adaptive: bool) -> list[list[PrivacyCurve]]:
    """Steps that are better added up than convolved, together: next to each other, or anywhere if not adaptive."""
    keys = [_key(place, step) for place, step in enumerate(steps)]
    if not adaptive:
        order = sorted(range(len(steps)), key=lambda place: keys.index(keys[place]))  # [any-order]
        steps, keys = [steps[place] for place in order], [keys[place] for place in order]
    pairs = zip(keys, steps, strict=True)
    return [[step for _, step in block] for _, block in itertools.groupby(pairs, key=lambda pair: pair[0])]  # [blocks]


# end-proof-region: totals


def _key(place: int, step: PrivacyCurve) -> Hashable:
    """What steps of one block have in common: their range, or that nothing but their rho is known."""
    if (ranged := _stated(step, RangeSteps)) is not None:
        return "range", exact(ranged[0].a)
    if _stated(step, Concentrated) is not None and all(isinstance(bound, Concentrated) for bound in step.bounds):
        return "rho"
    return place
