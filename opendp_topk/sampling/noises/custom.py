"""A custom noise, given by its quantile, its survival function and the condition that it satisfies.

Proof: proofs/noises/custom.tex
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from gmpy2 import mpfr, mpq

from ...errors import ParameterError, ParameterTypeError, checks
from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds
from .noise import IntervalFunction, Noise
from .standard import STANDARD

_FLOAT_PRECISION = 64  # bits: more than the 53 of a float, so that its last bit is nearly always the right one
_CHECK_PRECISION = 128  # bits: twice the other, so that the checks detect an enclosure that does not narrow
_WIDEST = 2.0**1000  # its product with a score or a scale of common size is still a finite float
_MPFR = type(mpfr(0))
_FROM_INSIDE = mpq(1, 2**64)  # floats bound noise with 64 drawn digits, and so no quantile beyond
_STEPS = (mpq(1, 8), mpq(1))  # a small step, which is close to the density, and a large one


def CustomNoise(
    name: str, *, quantile: IntervalFunction, survival: IntervalFunction, condition: str = "class_a"
) -> Noise:
    """Build a noise distribution of your own, for ``make_report_noisy_top_k``.

    Nothing is proved about it: a measurement that uses it is marked as unproven. Its releases are exact, and its map
    is correct, if your arguments are correct.

    Args:
        name: The name in the repr and the parameters of a measurement; not the name of a noise of the library.
        quantile: ``quantile(u, precision)`` encloses F^{-1}(u) for a rational 0 < u < 1 (a ``gmpy2.mpq``): a pair
            (lower, upper) of ``gmpy2.mpfr`` numbers, rounded outward, which narrows as the precision, in bits, grows.
            ``Intervals(precision)`` does such arithmetic. A quantile in floating point is rejected, because
            sampling with it would not be exact.
        survival: ``survival(z, precision)`` encloses S(z) = 1 - F(z) > 0 for a rational z, to a small relative
            error. It is used to check the noise, not to draw it.
        condition: ``"class_a"`` (the default) if f(z + c) >= e^{-c} f(z) for the density f, all z and all c >= 0;
            sufficient for rankings and sets. ``"lipschitz"`` if only S(z + c) >= e^{-c} S(z); sufficient for sets.

    Returns:
        The noise at scale 1. Two noises are equal if their names, functions and conditions are. A noise can be
        pickled if its functions can.

    Raises:
        ParameterTypeError: An argument has the wrong type, or a function did not return a pair of ``mpfr`` numbers.
        ParameterError: ``name`` is taken; or on a grid of points an enclosure is crossed or too wide, the quantile
            decreases or the survival function increases, the two are not inverse to each other, or the condition
            is certainly violated. Passing these checks proves nothing.

    Example:
        >>> import opendp_topk as tk
        >>> def quantile(u, precision):  # of Lomax noise, S(z) = 1 / (1 + z) for z >= 0
        ...     return tk.noise.Intervals(precision).rational(u / (1 - u))
        >>> def survival(z, precision):
        ...     return tk.noise.Intervals(precision).rational(1 / (1 + max(z, 0)))
        >>> lomax = tk.noise.CustomNoise("Lomax", quantile=quantile, survival=survival, condition="lipschitz")
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> best = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=8.0, noise=lomax, release="set")
        >>> best.map(1), best.proof.status
        (0.25, 'unproven')
    """
    # proof-region: custom_noise
    if not isinstance(name, str):
        raise ParameterTypeError(f"name must be a string, not {type(name).__name__}")
    if not name or any(name == known.name for known in STANDARD):
        raise ParameterError("name must not be empty, or the name of a noise of the library")
    condition = checks.require_choice("condition", condition, ("class_a", "lipschitz"))
    extended = _ExtendedQuantile(checks.require_callable("quantile", quantile))
    checks.require_callable("survival", survival)
    noise = Noise(name, extended, _FloatQuantile(extended), condition == "class_a", True, survival, is_proven=False)
    for role, function in (("quantile", quantile), ("survival", survival)):
        if not isinstance(function, Hashable):
            raise ParameterTypeError(f"{role} must be hashable, as functions are")
        if not _takes_two(function):
            raise ParameterTypeError(f"{role} must take two arguments, the second of which is a precision")
    points = _grid_points()
    nodes = [_checked_quantile(noise, u) for u in points]
    if any(lower[0] > upper[1] for lower, upper in pairwise(nodes)):  # [increasing-quantile]
        raise ParameterError("quantile must not decrease, but its enclosures decrease between two points of a grid")
    for u, (lower, upper) in zip(points, nodes, strict=True):
        if not _checked_survival(noise, mpq(upper))[0] <= 1 - u <= _checked_survival(noise, mpq(lower))[1]:  # [inverse]
            raise ParameterError("quantile and survival must be inverse to each other: survival(quantile(u)) = 1 - u")
    _check_condition(noise, sorted({mpq(lower) for lower, _ in nodes}))
    return noise


@dataclass(frozen=True)
class _ExtendedQuantile:
    """The quantile on [0, 1], by enclosures of a quantile on (0, 1); the support of the noise is unbounded above."""

    inside: IntervalFunction

    def __call__(self, u: mpq, precision: int) -> Interval:
        if u == 0:
            return mpfr("-inf"), self.inside(_FROM_INSIDE, precision)[1]  # [lower-end]
        return (mpfr("inf"), mpfr("inf")) if u == 1 else self.inside(u, precision)  # [upper-end]


@dataclass(frozen=True)
class _FloatQuantile:
    """Float64 bounds on the quantile, by MPFR: a Python loop that takes some microseconds an element."""

    quantile: _ExtendedQuantile

    def __call__(self, u: FloatBounds, v: FloatBounds) -> FloatBounds:
        bounds = zip(*(end.tolist() for end in (*u, *v)), strict=True)
        ends = [self._float_bounds(max(mpq(a), 1 - mpq(d)), min(mpq(b), 1 - mpq(c))) for a, b, c, d in bounds]  # [both]
        lower, upper = np.array(ends).reshape(-1, 2).T
        return (
            np.minimum(np.nextafter(lower, -np.inf), _WIDEST),  # [float-lower]
            np.maximum(np.nextafter(upper, np.inf), -_WIDEST),  # [float-upper]
        )

    def _float_bounds(self, least: mpq, most: mpq) -> tuple[float, float]:
        lower = self.quantile(least, _FLOAT_PRECISION)
        upper = lower if most == least else self.quantile(most, _FLOAT_PRECISION)
        return float(lower[0]), float(upper[1])  # [faithful]


def _grid_points() -> list[mpq]:
    """Return points of (0, 1), dense at both ends; on the right they extend far beyond any that is drawn."""
    small = [mpq(1, 2**j) for j in range(1, 65)]
    far = [mpq(1, 2**j) for j in (128, 256, 512, 1024, 4096, 16384)]
    return sorted({*small, *(mpq(i, 64) for i in range(1, 64)), *(1 - u for u in (*small, *far))})  # [grid]


def _check_enclosure(role: str, value: Any) -> Interval:
    if not (isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, _MPFR) for end in value)):
        raise ParameterTypeError(
            f"{role} must return an enclosure, a pair (lower, upper) of gmpy2.mpfr numbers: "
            "compute it with Intervals(precision)"
        )
    if not -np.inf < value[0] <= value[1] < np.inf:  # [ordered-ends]
        raise ParameterError(f"{role} must return finite numbers lower <= upper")
    return value


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return whether two arguments fit its signature; True if the signature cannot be read."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _checked_quantile(noise: Noise, u: mpq) -> Interval:
    """Return the enclosure at the precision of the checks, after comparing it with a coarser one."""
    coarse, fine = (_check_enclosure("quantile", noise.quantile(u, p)) for p in (_FLOAT_PRECISION, _CHECK_PRECISION))
    if coarse[0] > fine[1] or fine[0] > coarse[1]:  # [consistent]
        raise ParameterError("quantile must return enclosures of the same number at every precision")
    for (lower, upper), bits in ((coarse, _FLOAT_PRECISION), (fine, _CHECK_PRECISION)):
        if (mpq(upper) - mpq(lower)) * 2 ** (bits // 2) > max(1, abs(mpq(lower))):  # [narrow]
            raise ParameterError("quantile must return enclosures that become narrower at higher precision")
        if 1 - u >= _FROM_INSIDE and not -_WIDEST < lower <= upper < _WIDEST:  # [moderate]
            raise ParameterError("quantile must be between -2^1000 and 2^1000 for u up to 1 - 2^-64")
    return fine


def _checked_survival(noise: Noise, z: mpq) -> Interval:
    """Return the enclosure of the survival function at the precision of the checks, after checking it."""
    assert noise.survival is not None
    lower, upper = _check_enclosure("survival", noise.survival(z, _CHECK_PRECISION))
    if lower > 1 or (mpq(upper) - mpq(lower)) * 2 ** (_CHECK_PRECISION // 2) > mpq(lower):  # [relative]
        raise ParameterError("survival must be in (0, 1], with enclosures of small relative error")
    return lower, upper


def _check_condition(noise: Noise, nodes: list[mpq]) -> None:
    at = Intervals(_CHECK_PRECISION)
    tails = [_checked_survival(noise, z) for z in nodes]
    if any(upper[1] < lower[0] for upper, lower in pairwise(tails)):  # [decreasing-survival]
        raise ParameterError("survival must not increase")
    _refuse_decay(at, nodes, tails, "lipschitz")  # [check-lipschitz]
    for step in _STEPS if noise.is_class_a else ():
        masses = [
            at.add(tail, at.negative(_checked_survival(noise, z + step))) for z, tail in zip(nodes, tails, strict=True)
        ]
        _refuse_decay(at, nodes, masses, "class_a")  # [check-class-a]


def _refuse_decay(at: Intervals, nodes: list[mpq], masses: list[Interval], condition: str) -> None:
    """Raise if a mass at one node is certainly less than e^{-c} times the mass at the node that is c before it."""
    for (z, mass), (later, rest) in pairwise(zip(nodes, masses, strict=True)):
        if rest[1] < at.multiply(at.exp(at.rational(z - later)), mass)[0]:  # [violated]
            raise ParameterError(f'the noise must meet condition="{condition}", but decays faster than e^-z')


# end-proof-region: custom_noise
