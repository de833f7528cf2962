"""How often a private selection runs what it selects from, as laws of a random number, and what each costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from ..errors import ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import (
    Interval,
    Intervals,
    as_mpq,
    exact,
    one_minus_exp_down,
    one_minus_exp_up,
    round_up,
    scaled_log_up,
    shortened_up,
)

_DIGITS = 4096  # of a mean: enough for every shape that is not 0 to be told from it
_MOST_SHAPE = 1000  # the price grows with the shape: nobody pays for more
_MOST_RUNS = 10**6  # of a Poisson number on average: e to the power of minus it is still a number of MPFR
_HALVINGS = 60  # of an interval that holds the answer: after them its ends are nearly neighbours among floats


@dataclass(frozen=True)
class TruncatedNegativeBinomial:
    """At least one run, and a number of runs with a heavier or lighter tail.

    The number N has E[t^N] = ((1 - (1 - gamma) t)^-shape - 1) / (gamma^-shape - 1), with gamma = ``stop_probability``.
    Shape 1 is the geometric law (after each run stop with probability gamma); shape 0, as the limit, the logarithmic
    one, P(N = n) = (1 - gamma)^n / (n ln(1 / gamma)).

    Args:
        shape: A number > -1. The smaller it is, the smaller is the price, and the more often there is one run alone.
        stop_probability: A number in (0, 1): the smaller it is, the more runs.

    Raises:
        ParameterError: An argument is out of range or of the wrong type.

    Example:
        >>> import opendp_topk as tk
        >>> logarithmic = tk.TruncatedNegativeBinomial(shape=0, stop_probability=0.01)
        >>> 21 < logarithmic.mean < 22
        True
    """

    shape: Number
    stop_probability: Number

    least = 1

    def __post_init__(self) -> None:
        shape = checks.plain(self.shape) if checks.is_real(self.shape) else None
        if shape is None:
            raise ParameterTypeError(f"shape must be a number > -1, not {type(self.shape).__name__}")
        if not -1 < shape < _MOST_SHAPE:
            raise ParameterError(f"shape must be > -1 and less than {_MOST_SHAPE}")
        object.__setattr__(self, "shape", shape)
        stop = checks.probability(self.stop_probability, "stop_probability")
        object.__setattr__(self, "stop_probability", checks.scale(stop, "stop_probability"))
        checks.scale(abs(shape), "shape")
        _ = self.most

    @property
    def mean(self) -> float:
        """The mean number of runs, rounded up."""
        return round_up(self.most)

    # proof-region: truncated_negative_binomial
    def first(self, arithmetic: Intervals) -> Interval | None:
        """The probability of one run; None where the precision does not tell."""
        shape, gamma = exact(self.shape), exact(self.stop_probability)
        log = arithmetic.log(arithmetic.rational(as_mpq(gamma)))
        if shape == 0:
            share, divisor = 1 - gamma, arithmetic.negative(log)  # [logarithmic]
        else:
            power = arithmetic.exp(arithmetic.multiply(arithmetic.rational(as_mpq(-shape)), log))
            rise = arithmetic.add(power, arithmetic.rational(mpq(-1)))
            share, divisor = abs(shape) * (1 - gamma), arithmetic.negative(rise) if shape < 0 else rise  # [one-run]
        known = divisor[0] > 0
        return arithmetic.divide(arithmetic.rational(as_mpq(share)), divisor) if known else None  # [unknown]

    def ratio(self, n: int) -> mpq:
        """P(N = n + 1) / P(N = n)."""
        shape, gamma = exact(self.shape), exact(self.stop_probability)
        return as_mpq((1 - gamma) * (n + shape) / (n + 1))  # [ratio]

    @property
    def most(self) -> Fraction:
        """The mean number of runs, or a rational above it."""
        shape, gamma = exact(self.shape), exact(self.stop_probability)
        arithmetic = Intervals(_DIGITS)
        first = self.first(arithmetic)
        if first is None:
            raise ParameterError(f"shape must be 0, or farther from 0 than 2^-{_DIGITS}")
        log = arithmetic.log(arithmetic.rational(as_mpq(gamma)))
        power = arithmetic.exp(arithmetic.multiply(arithmetic.rational(as_mpq(-1 - shape)), log))
        numerator, denominator = arithmetic.multiply(first, power)[1].as_integer_ratio()
        return shortened_up(Fraction(int(numerator), int(denominator)))  # [mean]

    def shift_of_pure(self, epsilon: Fraction) -> Fraction:
        """The most by which the choice of the best adds to the loss of runs that lose ``epsilon`` at most."""
        gamma, q = exact(self.stop_probability), 1 - one_minus_exp_up(epsilon)
        return exact(scaled_log_up(1 + exact(self.shape), (1 + gamma * q) / (q + gamma)))  # [shift-of-pure]

    def shift(self, delta: Callable[[Number], Number]) -> Fraction:
        """The same for runs with the privacy curve ``delta``."""
        gamma = exact(self.stop_probability)
        if delta(0) == 0:
            return Fraction(0)  # [equal-laws]
        low, high = 0.0, scaled_log_up(Fraction(1), 1 / gamma)  # [no-more]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            odds = one_minus_exp_down(exact(middle))
            if (1 - gamma) * exact(delta(middle)) * (1 - odds) <= gamma * odds:
                high = middle  # [enough]
            else:
                low = middle
        return (1 + exact(self.shape)) * exact(high)  # [shift]

    # end-proof-region: truncated_negative_binomial

    def generating(self, t: Any) -> Any:
        """E[t^N], in mpmath's numbers of the precision at hand."""
        import mpmath

        shape, gamma = _mpf(self.shape), _mpf(self.stop_probability)
        if shape == 0:
            return mpmath.log(1 - (1 - gamma) * t) / mpmath.log(gamma)
        return ((1 - (1 - gamma) * t) ** -shape - 1) / (gamma**-shape - 1)


@dataclass(frozen=True)
class Poisson:
    """A Poisson number of runs, which may be none.

    Args:
        mean: The mean number of runs, > 0 and at most 10^6.

    Raises:
        ParameterError: ``mean`` is out of range or of the wrong type.

    Example:
        >>> import opendp_topk as tk
        >>> tk.Poisson(mean=20)
        Poisson(mean=20)
    """

    mean: Number

    least = 0

    def __post_init__(self) -> None:
        mean = checks.scale(self.mean, "mean")
        if not 0 < mean <= _MOST_RUNS:  # [mean-in-reach]
            raise ParameterError(f"mean must be > 0 and at most {_MOST_RUNS}")
        object.__setattr__(self, "mean", mean)

    # proof-region: poisson
    def first(self, arithmetic: Intervals) -> Interval | None:
        """The probability of no run."""
        return arithmetic.exp(arithmetic.rational(as_mpq(-exact(self.mean))))  # [no-run]

    def ratio(self, n: int) -> mpq:
        """P(N = n + 1) / P(N = n)."""
        return as_mpq(exact(self.mean) / (n + 1))  # [poisson-ratio]

    @property
    def most(self) -> Fraction:
        """The mean number of runs."""
        return exact(self.mean)  # [poisson-mean]

    def shift_of_pure(self, epsilon: Fraction) -> Fraction:
        """The most by which the choice of the best adds to the loss of runs that lose ``epsilon`` at most."""
        rise = one_minus_exp_up(epsilon)
        return exact(self.mean) * rise / (2 - rise)  # [poisson-shift-of-pure]

    def shift(self, delta: Callable[[Number], Number]) -> Fraction:
        """The same for runs with the privacy curve ``delta``."""
        return exact(self.mean) * exact(delta(0))  # [poisson-shift]

    # end-proof-region: poisson

    def generating(self, t: Any) -> Any:
        """E[t^N], in mpmath's numbers of the precision at hand."""
        import mpmath

        return mpmath.exp(_mpf(self.mean) * (t - 1))


def _mpf(value: Number) -> Any:
    import mpmath

    number = exact(value)
    return mpmath.mpf(number.numerator) / number.denominator


Repetitions = TruncatedNegativeBinomial | Poisson
