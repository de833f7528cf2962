"""Privacy curves: delta as a function of epsilon, and epsilon as a function of delta.

Proof: proofs/spaces/curves/curve.tex
"""

from __future__ import annotations

import contextlib
import math
import re
import struct
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from ...errors import ForeignError, MissingExtraError, ParameterError, ParameterTypeError, checks
from ...errors.checks import Number
from ...markup import elements
from ...numerics.arithmetic import round_up

Bound = Callable[[Number], Any]
_FIRST_TESTED, _GUESSES = (0.0, 1.0, 64.0, 2.0**512, sys.float_info.max), 40
_SHOWN = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # common epsilons of budgets


class PrivacyCurve:
    """A delta for every epsilon >= 0: the minimum of one or more bounds.

    Each bound takes an epsilon, a finite number >= 0, and returns a delta in [0, 1]. It means that
    P'(A) <= e^epsilon P(A) + delta for every event A, and the same with P and P' exchanged. You are responsible for
    your own bounds: each of their values is used as a guarantee, and nothing else is assumed of them. Curves are
    immutable, and equal if their bounds are equal.

    Args:
        bounds: One or more nonincreasing functions epsilon -> delta. Your own bounds are checked at a few points.

    Raises:
        ParameterTypeError: A bound is not callable, or no bound is given.
        ForeignError: At one of these points, a bound returns something other than a number in [0, 1], or increases.

    Example:
        >>> import math
        >>> import opendp_topk as tk
        >>> curve = tk.PrivacyCurve(lambda epsilon: math.exp(-4 * epsilon) / 2)
        >>> curve.delta(0)
        0.5
        >>> curve.delta(curve.epsilon(1e-6)) <= 1e-6
        True
    """

    __slots__ = ("_bounds",)
    _bounds: tuple[Bound, ...]

    def __init__(self, *bounds: Bound) -> None:
        if not bounds:
            raise ParameterTypeError("bounds must be one or more functions epsilon -> delta, not none")
        for bound in bounds:
            checks.require_callable("bounds", bound)
        object.__setattr__(self, "_bounds", bounds)
        for bound in self.bounds:
            if not hasattr(bound, "implies"):
                _require_nonincreasing(bound)

    # proof-region: curve
    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds: functions epsilon -> delta."""
        return self._bounds

    def delta(self, epsilon: Number) -> float:
        """Return the smallest delta of all bounds at ``epsilon >= 0``, rounded up; 0 at infinity.

        Raises:
            ParameterError: ``epsilon`` is negative, NaN or not a number.
            ForeignError: A bound returns something other than a number in [0, 1].
        """
        epsilon = checks.require_distance(epsilon, "epsilon")
        if epsilon == math.inf:
            return 0.0  # [nothing-promised]
        return min(_evaluate_bound(bound, epsilon) for bound in self.bounds)  # [least-delta]

    def epsilon(self, delta: Number) -> float:
        """Return a float64 epsilon with ``curve.delta(epsilon) <= delta``; infinity if none is found.

        It is the smallest such epsilon if the bounds are nonincreasing.

        Raises:
            ParameterError: ``delta`` is not a number in [0, 1].
            ForeignError: A bound returns something other than a number in [0, 1].
        """
        delta = checks.require_distance(delta, "delta")
        if delta > 1:
            raise ParameterError("delta must be at most 1")
        return min(_least_epsilon(bound, delta) for bound in self.bounds)  # [least-epsilon]

    def is_within(self, epsilon: Number, delta: Number) -> bool:
        """Whether ``delta(epsilon) <= delta``. Slow bounds are evaluated last, and only if no other bound suffices."""
        epsilon = checks.require_distance(epsilon, "epsilon")
        quick_first = sorted(self.bounds, key=lambda bound: getattr(bound, "takes_long", False))
        return epsilon == math.inf or any(
            _evaluate_bound(bound, epsilon) <= delta for bound in quick_first
        )  # [any-bound]

    # end-proof-region: curve

    def plot(self, epsilons: Iterable[Number] | None = None, *, axes: Any = None, label: str = "") -> Any:
        """Draw delta against epsilon, delta on a logarithmic scale.

        Args:
            epsilons: The points to evaluate, ascending. The default is 200 points from 0 to the epsilon at
                delta = 1e-12; if that is 0 or infinite, to the one at 1e-6 or 1e-3, or to 1.
            axes: The matplotlib axes to draw on; the default is new axes.
            label: The name of the curve, which is written next to its middle.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: A point is not an epsilon.
        """
        if axes is None:
            axes = _new_axes()
        if epsilons is None:
            last = next((e for e in (self.epsilon(delta) for delta in (1e-12, 1e-6, 1e-3)) if 0 < e < math.inf), 1.0)
            epsilons = [last * i / 199 for i in range(200)]
        points = [(float(epsilon), self.delta(epsilon)) for epsilon in epsilons]
        drawn = [point for point in points if point[1] > 0]
        (line,) = axes.plot([point[0] for point in drawn], [point[1] for point in drawn])
        axes.set(xlabel="epsilon (privacy loss)", ylabel="delta (probability)", yscale="log")
        axes.set_title(axes.get_title() or "Privacy curve: every point is a valid bound")
        if label and drawn:
            place = {"xytext": (5, 3), "textcoords": "offset points", "color": line.get_color()}
            axes.annotate(label, drawn[len(drawn) // 2], **place)
        return axes

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a privacy curve is immutable")

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PrivacyCurve) and self.bounds == other.bounds

    def __hash__(self) -> int:
        return hash(self.bounds)

    def __reduce__(self) -> Any:
        return PrivacyCurve, self.bounds

    def _repr_html_(self) -> str:
        pairs = {"epsilon": _SHOWN, "delta, at most": map(self.delta, _SHOWN)}
        return elements.columns_table("Privacy curve: every row is a valid bound", pairs)

    def __repr__(self) -> str:
        return f"PrivacyCurve({', '.join(map(repr, self.bounds))})"

    def __str__(self) -> str:
        """Return the bounds with every fraction as a number that is rounded up."""
        fraction = r"Fraction\((\d+), (\d+)\)"
        return re.sub(fraction, lambda one: repr(round_up(Fraction(*map(int, one.groups())))), repr(self))


# proof-region: evaluation
def _evaluate_bound(bound: Bound, epsilon: Number) -> float:
    """Return the value of a bound as a float64, rounded up."""
    given = bound(epsilon)
    value = checks.plain_number(given) if checks.is_real(given) else math.nan
    if not 0 <= value <= 1:
        raise ForeignError("a bound of a privacy curve must return a number in [0, 1]")  # [check-value]
    return value if isinstance(value, float) else round_up(value)  # [delta-up]


def _least_epsilon(bound: Bound, delta: Number) -> float:
    """Return a float64 at which ``bound`` is at most ``delta``, the smallest one if the bound is nonincreasing."""
    below = -1
    for epsilon in _FIRST_TESTED:
        if _evaluate_bound(bound, epsilon) <= delta:
            break
        below = _float_to_bits(epsilon)
    else:
        return math.inf  # [infinity-passes]
    last = _float_to_bits(epsilon)  # [tested]
    return _bits_to_float(least_argument(lambda bits: _evaluate_bound(bound, _bits_to_float(bits)), delta, below, last))


def least_argument(value: Callable[[int], float], target: Number, below: int, passing: int, *, near: int = 1) -> int:
    """Return ``passing``, or an integer between it and ``below`` at which ``value`` is at most ``target``.

    If ``value`` is nonincreasing, and above ``target`` at ``below``, the result exceeds the least such integer by less
    than ``near``. Most of the first steps interpolate between the logarithms of the values at both ends.
    """
    over = under = 0.0  # how far the logarithms at both ends are from that of target, halved while an end stays
    has_passed, turn = False, 0
    while passing - below > near:
        probe, turn = (below + passing) // 2, turn + 1
        if turn % 4 and turn < _GUESSES and over and under:
            guess = below + ((passing - below) * int(2**53 * (over / (over + under))) >> 53)
            probe = min(max(guess, below + 1), passing - 1)  # [between]
        found = value(probe)
        if found <= target:
            over, under, passing = over / (1 + has_passed), _log_distance(found, target), probe  # [passes]
        else:
            over, under, below = _log_distance(found, target), under / (2 - has_passed), probe
        has_passed = found <= target
    return passing


def _log_distance(value: float, target: Number) -> float:
    """Return about abs(log(value / target)), which is not 0, or 0 if it is unknown."""
    return max(abs(math.log(value) - math.log(target)), 1e-15) if 0 < value < 1 and float(target) > 0 else 0.0


# end-proof-region: evaluation


def _require_nonincreasing(bound: Bound) -> None:
    """Raise unless a caller's bound is nonincreasing at a few points; each value is checked again when it is used."""
    values = [_evaluate_bound(bound, float(Fraction(2) ** power)) for power in range(-10, 7)]
    if any(later > earlier for earlier, later in zip([_evaluate_bound(bound, 0.0), *values], values, strict=False)):
        raise ForeignError("a bound of a privacy curve must not grow with epsilon")


def _new_axes() -> Any:
    with contextlib.suppress(ImportError):
        from matplotlib import pyplot

        return pyplot.subplots()[1]
    raise MissingExtraError('plot requires matplotlib: pip install "opendp_topk[plot]"')


def _float_to_bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _bits_to_float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])
