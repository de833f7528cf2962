"""Privacy loss of noise on several integers, given bounds on the change of each and of all together.

Proof: proofs/measurements/moved.tex
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors.checks import Number
from ..numerics.arithmetic import one_minus_exp_down, round_up, to_fraction
from ..spaces.costs import Cost, rho_of_discrete_laplace, rho_of_laplace
from ..spaces.curves.closed_forms import (
    ApproximateDP,
    ArrivalTimes,
    DiscreteGaussian,
    DiscreteLaplace,
    LaplacePair,
    ZCDPBound,
)
from ..spaces.curves.composed import Composed, Largest
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import L01InfDistance, L1Distance, L2Distance
from ._grid import Grid

# A composition takes about 50 ms, so with more than 12 shapes the curve has no bound by composition. If the number of
# integers is not bounded, total changes above 24 have more than 12 shapes, unless they have one.
_MOST_SHAPES, _LARGEST = 12, 24
# Beyond this squared change, in units of the scale, one score alone has rho = 8, or epsilon = 4 under Laplace noise.
_MOST_SQUARES = 16
_SMALL = Fraction(1, 2**14)  # up to here three terms are accurate to 2^-90, and a difference would lose digits

Shape = tuple[int, ...]
Step = Callable[[int, Fraction], PrivacyCurve]


# proof-region: moved
@dataclass(frozen=True)
class ChangedScores:
    """Bounds on the changes of ``size`` integers between neighbouring datasets (any number if ``size`` is None).

    Each integer changes by at most ``each`` >= 1. The sum of the changes is at most ``total``, and the sum of their
    squares at most ``squares``.
    """

    each: int
    total: int
    squares: int
    size: int | None

    @staticmethod
    def bounded_contributions(each: int, total: int, size: int | None) -> ChangedScores:
        """Return the bounds for changes of at most ``each``, and ``total`` in sum."""
        most = total if size is None else min(total, size * each)  # [size]
        return ChangedScores(each, most, each * most, size)  # [few-squares]

    @staticmethod
    def bounded_sum(total: int, size: int | None) -> ChangedScores:
        """Return the bounds for changes of at most ``total`` in sum."""
        return ChangedScores(total, total, total * total, size)  # [in-sum]

    @staticmethod
    def bounded_squares(squares: int, size: int | None) -> ChangedScores:
        """Return the bounds for changes whose squares sum to at most ``squares``."""
        return ChangedScores(math.isqrt(squares), squares, squares, size)  # [in-squares]


@functools.lru_cache(maxsize=16)  # a search for a scale needs the same shapes at every scale
def maximal_change_shapes(moved: ChangedScores) -> tuple[Counter[int], ...]:
    """Return the multisets of changes that no other multiset dominates, or none of them if they are too many.

    A multiset maps each change to the number of integers that change by it.
    """
    each, total, squares, size = moved.each, moved.total, moved.squares, moved.size
    if each == 1:
        return (Counter({1: total if size is None else min(total, size)}),)  # [all-by-one]
    if size is not None and size * each <= total and size * each**2 <= squares:
        return (Counter({each: size}),)  # [all-by-most]
    if total > _LARGEST:
        return ()
    found = list(_enumerate_shapes(size, (), each, total, squares))
    largest = [
        one for one in found if not any(one != other and _is_dominated(one, other) for other in found)
    ]  # [largest]
    return tuple(map(Counter, largest)) if len(largest) <= _MOST_SHAPES else ()


def _enumerate_shapes(size: int | None, begun: Shape, each: int, total: int, squares: int) -> Iterator[Shape]:
    """Yield the shapes that extend ``begun`` by changes of at most ``each`` until no further change fits."""
    full = size is not None and len(begun) == size
    most = 0 if full else min(each, total, math.isqrt(squares))
    if most == 0:
        yield begun  # [complete]
    for move in range(most, 0, -1):
        yield from _enumerate_shapes(size, (*begun, move), move, total - move, squares - move * move)  # [next-move]


def _is_dominated(one: Shape, other: Shape) -> bool:
    """Return whether each change in ``one`` is at most the change in the same place of ``other``."""
    return len(one) <= len(other) and all(a <= b for a, b in zip(one, other, strict=False))  # [below]


def changed_scores(
    grid: Grid, domain: VectorDomain, metric: L1Distance | L2Distance | L01InfDistance, d_in: Number
) -> ChangedScores | None:
    """Return the changes on the grid, in steps, of scores within a finite ``d_in`` > 0; None if no score can change."""
    size = domain.size
    if isinstance(metric, L01InfDistance):
        each, total = metric.moves(d_in)  # [few]
        return ChangedScores.bounded_contributions(each, total, size) if each else None
    if isinstance(metric, L1Distance):
        most = int(grid.l1_distance_bound(to_fraction(d_in), size) / grid.step)  # [sum]
        return ChangedScores.bounded_sum(most, size) if most else None
    squares = int(grid.squared_l2_bound(to_fraction(d_in), size) / grid.step**2)  # [squares]
    return ChangedScores.bounded_squares(squares, size) if squares else None


def laplace_loss(moved: ChangedScores, scale: Fraction, measure: Measure) -> Any:
    """Return the privacy loss of discrete Laplace noise of ``scale`` > 0, as a distance of ``measure``."""
    loss, one = moved.total / scale, moved.each / scale
    rho = Fraction(moved.total, moved.each) * rho_of_discrete_laplace(one, 1 / scale)  # [sum-of-rhos]
    read = Cost(loss, 2 * loss, rho).to_distance(measure)  # [laplace-cost]
    if measure != PrivacyProfile():
        return read
    together = DiscreteLaplace(moved.total, scale)  # [all-in-one]
    own = _shape_bounds(moved, _laplace_change_curve, scale) if moved.each < moved.total else ()
    return PrivacyCurve(*read.bounds, together, *own)


def gaussian_loss(moved: ChangedScores, scale: Fraction, measure: Measure) -> Any:
    """Return the privacy loss of discrete Gaussian noise of ``scale`` > 0, as a distance of ``measure``."""
    read = Cost(rho=moved.squares / (2 * scale * scale)).to_distance(measure)  # [gaussian-cost]
    if measure != PrivacyProfile():
        return read
    return PrivacyCurve(*read.bounds, *_shape_bounds(moved, _gaussian_change_curve, scale))


def two_sided_loss(moved: ChangedScores, scale: Fraction, measure: Measure, odds: bool) -> Any:
    """Return the privacy loss of real noise of ``scale`` > 0 whose log-density is 1-Lipschitz at scale 1.

    If ``odds`` is true, the noise is logistic.
    """
    rho_of = _rho_by_odds if odds else rho_of_laplace  # [rho-of]
    loss, one = moved.total / scale, moved.each / scale
    rho = Fraction(moved.total, moved.each) * rho_of(one)  # [sum-of-real-rhos]
    read = Cost(loss, 2 * loss, rho, joined=(1, loss)).to_distance(measure)  # [two-sided-cost]
    if measure != PrivacyProfile() or moved.each == moved.total:
        return read

    def change_curve(move: int, scale: Fraction) -> PrivacyCurve:
        loss = move / scale
        return PrivacyCurve(ApproximateDP(loss), ZCDPBound(round_up(rho_of(loss))), LaplacePair(loss))  # [two-sided]

    return PrivacyCurve(*read.bounds, *_shape_bounds(moved, change_curve, scale))


def _rho_by_odds(h: Fraction) -> Fraction:
    """Return an upper bound of h coth(h / 2) - 2, the rho of logistic noise on a number that changes by ``h`` > 0."""
    if h <= _SMALL:
        return h**2 / 6 - h**4 / 360 + h**6 / 15120  # [odds-series]
    once = one_minus_exp_down(h)
    return h * (2 - once) / once - 2  # [odds-rho]


def _shape_bounds(moved: ChangedScores, step: Step, scale: Fraction) -> Iterator[Any]:
    """Yield a bound that covers every shape.

    There is none if there are too many shapes, or several and so little noise that the bound would be useless.
    """
    if len(maximal_change_shapes(moved)) > 1 and moved.each**2 > _MOST_SQUARES * scale**2:
        return  # [too-little-noise]
    curves = tuple(_composed_curve(shape, step, scale) for shape in maximal_change_shapes(moved))
    if len(curves) == 1:
        yield from curves[0].bounds  # [one-shape]
    elif curves:
        yield Largest(curves)  # [any-shape]


def _composed_curve(shape: Counter[int], step: Step, scale: Fraction) -> PrivacyCurve:
    """Return the privacy curve of independent noise on integers that change as in ``shape``."""
    parts = [(step(move, scale), times) for move, times in shape.items()]
    if shape.total() == 1:
        return parts[0][0]  # [one-move]
    return PrivacyCurve(Composed(tuple(parts)))  # [moves]


def _laplace_change_curve(move: int, scale: Fraction) -> PrivacyCurve:
    rho = rho_of_discrete_laplace(move / scale, 1 / scale)
    return PrivacyCurve(
        ApproximateDP(move / scale), ZCDPBound(round_up(rho)), DiscreteLaplace(move, scale)
    )  # [laplace]


def _gaussian_change_curve(move: int, scale: Fraction) -> PrivacyCurve:
    rho = ZCDPBound(round_up(Fraction(move * move) / (2 * scale * scale)))
    return PrivacyCurve(DiscreteGaussian(move, scale), rho)  # [gaussian]


# end-proof-region: moved


_MOST_ARRIVALS = 1024  # the curve of more changed scores takes long, and has little use


# proof-region: gumbel_changes
def gumbel_bounds(moved: ChangedScores, scale: Fraction, steps: int, one_way: bool) -> tuple[Any, ...]:
    """Return privacy curves of all scores with Gumbel noise of ``scale`` > 0, so of every selection from them.

    There are none if the curve of ``steps`` adaptive choices is the smaller one. If ``one_way``, the scores of one
    dataset are not smaller than those of the other.
    """
    if moved.total > min(steps // 3, _MOST_ARRIVALS):
        return ()  # [few-steps]
    if one_way and moved.each == 1:
        return (ArrivalTimes(1 / scale, moved.total),)  # [one-way]
    return tuple(
        _shape_bounds(moved, lambda move, scale: PrivacyCurve(ArrivalTimes(move / scale)), scale)
    )  # [both-ways]


# end-proof-region: gumbel_changes
