"""The probability that keys of few users pass a threshold on noisy sums of weights, and the threshold for a delta.

Proof: proofs/measurements/new_keys.tex
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ..errors import ParameterError
from ..numerics.arithmetic import Intervals, as_mpq, one_minus_exp_up, to_fraction
from ..spaces.curves.closed_forms import normal_tail_bound

PARTS = 16  # parts of the largest L2 norm
_PIECES = 32  # intervals of weights: a chord is close to the function even if that grows e-fold in one interval
_DIGITS = 128  # precision of logarithms in bits
_HALVINGS = 60  # bisection steps: a few more than the 53 digits of a float64


# proof-region: new_keys
@dataclass(frozen=True)
class DiscreteGaussianNoise:
    """Discrete Gaussian noise of ``scale`` >= ``step`` on sums that are multiples of ``step`` > 0."""

    scale: Fraction
    step: Fraction

    @functools.lru_cache(maxsize=16)  # noqa: B019
    def new_partition_probability(self, length: int, keys: int, level: Fraction, parts: int = PARTS) -> Fraction:
        """Return an upper bound of the probability that the noisy sum of at least one new key reaches ``level``.

        There are at most ``keys`` new keys. The L2 norm of their sums is at most ``parts`` / 16 of ``length``, with
        1 <= ``parts`` <= 16.
        """
        if keys == 0:
            return Fraction(0)  # [no-keys]
        if level - length - self.step / 2 < self.scale:
            return Fraction(1)  # [too-near]
        ends = [Fraction(length * i, _PIECES) for i in range(_PIECES // PARTS * parts + 1)]
        heights = [self._miss_exponent(level - end) for end in ends]
        chords = [(high - low) * _PIECES / length for low, high in itertools.pairwise(heights)]
        price = to_fraction(
            _lagrange_multiplier(
                list(map(float, ends)), list(map(float, heights)), list(map(float, chords)), float(ends[-1]), keys
            )
        )
        most = max(
            low + chord * (at - start) - price * at * at
            for start, end, low, chord in zip(ends, ends[1:], heights, chords, strict=False)
            for at in [min(max(chord / (2 * price), start), end)]  # [highest]
        )
        return one_minus_exp_up(keys * max(Fraction(0), most) + price * ends[-1] ** 2)  # [lost]

    def reach_probability(self, gap: Fraction) -> Fraction:
        """Return an upper bound of the probability that noise is at least ``gap`` >= ``scale`` + ``step`` / 2."""
        return normal_tail_bound((gap - self.step / 2) / self.scale)  # [reached]

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def _miss_exponent(self, gap: Fraction) -> Fraction:
        """Return an upper bound of -ln(1 - q), with q the :meth:`reach_probability` of ``gap``."""
        at = Intervals(_DIGITS)
        top, bottom = at.negative(at.log1p(at.rational(as_mpq(-self.reach_probability(gap)))))[1].as_integer_ratio()
        return Fraction(int(top), int(bottom))  # [missed]

    def least_threshold(self, is_sufficient: Callable[[Fraction], bool]) -> Fraction:
        """Return a multiple of the step, about the least one at which ``is_sufficient`` is true.

        Raises:
            ParameterError: No threshold up to about 64 (scale + 1) is high enough.
        """
        steps = [math.ceil((1 + self.step + self.scale) / self.step)] * 2
        grain = max(1, math.ceil(self.scale / self.step) >> 12)
        while not is_sufficient(steps[1] * self.step):
            steps = [steps[1], 2 * steps[1]]
            if steps[1] * self.step > _FARTHEST * (self.scale + 1):
                raise ParameterError("delta is too small: no threshold satisfies it")
        while steps[1] - steps[0] > grain:
            middle = sum(steps) // 2
            steps = [steps[0], middle] if is_sufficient(middle * self.step) else [middle, steps[1]]  # [kept]
        return steps[1] * self.step


_FARTHEST = 64  # in scales: beyond it the probability is below every positive float64
# end-proof-region: new_keys


def _lagrange_multiplier(
    ends: list[float], heights: list[float], chords: list[float], length: float, keys: int
) -> float:
    """Return approximately the best Lagrange multiplier of the squared L2 norm.

    Every positive multiplier gives a valid bound.
    """

    def dual_objective(price: float) -> float:
        places = [min(max(c / (2 * price), a), b) for a, b, c in zip(ends, ends[1:], chords, strict=False)]
        parts = zip(ends, heights, chords, places, strict=False)
        return keys * max(low + c * (at - a) - price * at * at for a, low, c, at in parts) + price * length * length

    tried = [c / (a + b) for a, b, c in zip(ends, ends[1:], chords, strict=False)]
    return min((price for price in tried if price > 0), key=dual_objective, default=2.0**-1000)


def least_scale(epsilon: float, delta: float, apart: float, kept: Callable[[float], bool]) -> float:
    """Return approximately the smallest scale for which ``kept`` is true.

    The search goes upward from the scale of normal noise for a sensitivity of ``apart``.

    Raises:
        ParameterError: No finite scale was found.
    """
    scale, more = apart / largest_normal_shift(epsilon, delta), 2.0**-40
    while scale < math.inf and not kept(scale):
        scale, more = scale * (1 + more), 2 * more
    if scale == math.inf:
        raise ParameterError("epsilon and delta are too small for any noise: raise one of them")
    return scale


def largest_normal_shift(epsilon: float, delta: float) -> float:
    """Return approximately the largest shift of a standard normal distribution that is (epsilon, delta)-DP."""
    low, high = -30.0, 12.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _normal_shift_delta(epsilon, math.exp(middle)) > delta else (middle, high)
    return math.exp(low)


def _normal_shift_delta(epsilon: float, apart: float) -> float:
    """Return approximately the delta at ``epsilon`` of a standard normal distribution shifted by ``apart``."""
    own, other = (epsilon / apart - apart / 2) / math.sqrt(2), (epsilon / apart + apart / 2) / math.sqrt(2)
    if other < 5:
        return (math.erfc(own) - math.exp(epsilon) * math.erfc(other)) / 2
    rest = math.exp(epsilon - other * other) / (other * math.sqrt(math.pi)) * (1 - 1 / (2 * other * other))
    return (math.erfc(own) - rest) / 2
