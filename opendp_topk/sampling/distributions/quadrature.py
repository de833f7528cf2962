"""Integrals of analytic functions with a proven error, from a rule of 12 nodes and the maximum on discs.

Proof: proofs/distributions/quadrature.tex
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...errors import CapacityError
from ...numerics.floatlog import FloatBounds, Floats

_NODES = 12  # exact for polynomials up to degree 23
_SLACK = 2.0**-46  # the error of the rule on a panel, relative to the largest value on its disc, and roundings
_SUMS = 2.0**-38  # what the sums of up to 20,000 terms round, relatively
_HEAVY = 2.0  # panels whose mass may exceed it are halved: it decides where work is done, and nothing else
_NEGLIGIBLE = 2.0**-60  # panels with less mass are bounded and not evaluated
_ROUNDS = 12  # a panel is halved eleven times at most
_CHUNK = 128  # panels at a time, so that arrays of nodes by candidates stay small
MOST_PANELS = 20_000  # a limit of work, on which the error of the sums counts


# proof-region: quadrature
def integral(
    ends: Floats,
    values: Callable[[Floats, Floats, Floats], FloatBounds],
    greatest: Callable[[Floats, Floats, Floats, Floats], Floats],
) -> tuple[float, float]:
    """Bounds on the integral of f >= 0 from ``ends[0]`` to ``ends[-1]``; f is analytic between neighbouring ends.

    Args:
        ends: Ascending, positive, each at most 9/7 times the one before.
        values: ``values(x, left, right)`` are bounds on f(x), where [left, right] is a panel around x.
        greatest: ``greatest(low, high, left, right)`` is a bound on |f|, continued from the panel [left, right], on the
            disc with the diameter [low, high], which has the panel's middle and four times its width.

    Raises:
        CapacityError: More than 20,000 panels are needed.
    """
    left, right = ends[:-1], ends[1:]
    lower = upper = wrong = 0.0
    for turn in range(_ROUNDS):
        if len(left) > MOST_PANELS:  # [panels]
            raise CapacityError("the probability needs too many panels: use fewer winners, or a larger scale")
        error, mass = _errors(left, right, greatest)
        small, heavy = mass <= _NEGLIGIBLE, (mass > _HEAVY) & (turn < _ROUNDS - 1)
        kept = ~small & ~heavy
        below, above = _rule(left[kept], right[kept], values)
        lower, upper = lower + below, upper + above + float(np.sum(mass[small]))  # [negligible]
        wrong += float(np.sum(error[kept]))
        left, right = left[heavy], right[heavy]
        if len(left) == 0:
            break
        middle = (left + right) / 2  # [halve]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return lower * (1 - _SUMS) - wrong * (1 + _SUMS), (upper + wrong) * (1 + _SUMS)  # [sum]


def _errors(left: Floats, right: Floats, greatest: Callable[..., Floats]) -> FloatBounds:
    """For each panel a bound on the error of the rule, and a bound on the integral."""
    error, mass = np.zeros((2, len(left)))
    for start in range(0, len(left), _NODES * _CHUNK):
        part = slice(start, start + _NODES * _CHUNK)
        a, b = left[part], right[part]
        width, centre = b - a, (a + b) / 2
        most = greatest((centre - 2 * width) * (1 - 2.0**-48), (centre + 2 * width) * (1 + 2.0**-48), a, b)  # [disc]
        most = np.where(np.isfinite(most), most, np.finfo(float).max)
        error[part] = most * (width * _SLACK + b * 2.0**-48)  # [error]
        mass[part] = most * width * (1 + _SLACK)  # [mass]
    return error, mass


def _rule(left: Floats, right: Floats, values: Callable[..., FloatBounds]) -> tuple[float, float]:
    nodes, weights = rule()
    below = above = 0.0
    for start in range(0, len(left), _CHUNK):
        a, b = (side[start : start + _CHUNK, None] for side in (left, right))
        x = np.clip((a + b) / 2 + nodes * ((b - a) / 2), a, b)  # [nodes]
        a, b = (np.broadcast_to(side, x.shape).ravel() for side in (a, b))
        scaled = (weights * ((right - left)[start : start + _CHUNK, None] / 2)).ravel()
        lower, upper = values(x.ravel(), a, b)
        below, above = below + float(np.sum(scaled * lower)), above + float(np.sum(scaled * upper))  # [weigh]
    return below, above


@functools.cache
def rule() -> FloatBounds:
    """The nodes in (-1, 1) and the positive weights of Gauss and Legendre, in float64.

    Every moment of degree below 24 is right up to 2^-50: this is checked in exact arithmetic.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    exact = [(Fraction(x), Fraction(w)) for x, w in zip(nodes.tolist(), weights.tolist(), strict=True)]
    for m in range(2 * _NODES):
        moment = Fraction(2, m + 1) if m % 2 == 0 else Fraction(0)
        if abs(sum(w * x**m for x, w in exact) - moment) > Fraction(1, 2**50):  # [moments]
            raise AssertionError("the quadrature rule of this NumPy is inaccurate")
    return nodes, weights


# end-proof-region: quadrature
