"""Distributions of the number of runs of a private selection, and the privacy loss of the selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from ..core.claims import attach_claim
from ..core.measurement import Declared, Measurement
from ..core.releases import class_of_type, release_type_and_size
from ..errors import ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import (
    Interval,
    Intervals,
    as_mpq,
    one_minus_exp_down,
    one_minus_exp_up,
    round_up,
    scaled_log_up,
    shortened_up,
    to_fraction,
)
from ..proof import Proof
from ..spaces.costs import require_measure
from ..spaces.curves.closed_forms import ApproximateDP
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import Approximate, MaxDivergence, PrivacyProfile, join_delta, split_delta

# Distributions of the number of runs of a private selection, and the loss that each adds.

_DIGITS = 4096  # bits of precision of a mean; a shape that is not 0 but closer to it than this resolves is refused
_MOST_SHAPE = 1000  # the loss grows with the shape, so larger shapes are not useful
_MOST_RUNS = 10**6  # largest mean of a Poisson number of runs: exp(-mean) is still in the range of MPFR
_HALVINGS = 60  # bisections of an interval that contains the answer: its ends are then nearly adjacent floats


@dataclass(frozen=True)
class TruncatedNegativeBinomial:
    """Truncated negative binomial distribution of the number of runs, which is at least 1.

    The number N has E[t^N] = ((1 - (1 - gamma) t)^-shape - 1) / (gamma^-shape - 1), with gamma = ``stop_probability``.
    Shape 1 is the geometric distribution (stop after each run with probability gamma). Shape 0 is the limit, the
    logarithmic distribution with P(N = n) = (1 - gamma)^n / (n ln(1 / gamma)).

    Args:
        shape: A number > -1 and < 1000. A smaller shape gives a smaller loss, and a higher probability of only one run.
        stop_probability: A number in (0, 1). A smaller one gives more runs.

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
        shape = checks.plain_number(self.shape) if checks.is_real(self.shape) else None
        if shape is None:
            raise ParameterTypeError(f"shape must be a number > -1, not {type(self.shape).__name__}")
        if not -1 < shape < _MOST_SHAPE:
            raise ParameterError(f"shape must be > -1 and less than {_MOST_SHAPE}")
        object.__setattr__(self, "shape", shape)
        stop = checks.require_probability(self.stop_probability, "stop_probability")
        object.__setattr__(self, "stop_probability", checks.require_scale(stop, "stop_probability"))
        checks.require_scale(abs(shape), "shape")
        _ = self.most

    @property
    def mean(self) -> float:
        """Mean number of runs, rounded up."""
        return round_up(self.most)

    # proof-region: truncated_negative_binomial
    def first(self, arithmetic: Intervals) -> Interval | None:
        """Return bounds on the probability of exactly one run, or None if the precision is too low."""
        shape, gamma = to_fraction(self.shape), to_fraction(self.stop_probability)
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
        """Return P(N = n + 1) / P(N = n)."""
        shape, gamma = to_fraction(self.shape), to_fraction(self.stop_probability)
        return as_mpq((1 - gamma) * (n + shape) / (n + 1))  # [ratio]

    @property
    def most(self) -> Fraction:
        """Mean number of runs, or a rational above it."""
        shape, gamma = to_fraction(self.shape), to_fraction(self.stop_probability)
        arithmetic = Intervals(_DIGITS)
        first = self.first(arithmetic)
        if first is None:
            raise ParameterError(f"shape must be 0, or differ from 0 by more than 2^-{_DIGITS}")
        log = arithmetic.log(arithmetic.rational(as_mpq(gamma)))
        power = arithmetic.exp(arithmetic.multiply(arithmetic.rational(as_mpq(-1 - shape)), log))
        numerator, denominator = arithmetic.multiply(first, power)[1].as_integer_ratio()
        return shortened_up(Fraction(int(numerator), int(denominator)))  # [mean]

    def shift_of_pure(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on what the selection adds to the loss of runs that lose at most ``epsilon``."""
        gamma, q = to_fraction(self.stop_probability), 1 - one_minus_exp_up(epsilon)
        return to_fraction(scaled_log_up(1 + to_fraction(self.shape), (1 + gamma * q) / (q + gamma)))  # [shift-of-pure]

    def shift(self, delta: Callable[[Number], Number]) -> Fraction:
        """Return the shift in epsilon of the selection from runs with the privacy curve ``delta``."""
        gamma = to_fraction(self.stop_probability)
        if delta(0) == 0:
            return Fraction(0)  # [equal-laws]
        low, high = 0.0, scaled_log_up(Fraction(1), 1 / gamma)  # [no-more]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            odds = one_minus_exp_down(to_fraction(middle))
            if (1 - gamma) * to_fraction(delta(middle)) * (1 - odds) <= gamma * odds:
                high = middle  # [enough]
            else:
                low = middle
        return (1 + to_fraction(self.shape)) * to_fraction(high)  # [shift]

    # end-proof-region: truncated_negative_binomial

    def generating(self, t: Any) -> Any:
        """Return E[t^N] as an mpmath number of the current precision."""
        import mpmath

        shape, gamma = _to_mpf(self.shape), _to_mpf(self.stop_probability)
        if shape == 0:
            return mpmath.log(1 - (1 - gamma) * t) / mpmath.log(gamma)
        return ((1 - (1 - gamma) * t) ** -shape - 1) / (gamma**-shape - 1)


@dataclass(frozen=True)
class Poisson:
    """Poisson distribution of the number of runs, which may be 0.

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
        mean = checks.require_scale(self.mean, "mean")
        if not 0 < mean <= _MOST_RUNS:  # [mean-in-reach]
            raise ParameterError(f"mean must be > 0 and at most {_MOST_RUNS}")
        object.__setattr__(self, "mean", mean)

    # proof-region: poisson
    def first(self, arithmetic: Intervals) -> Interval | None:
        """Return bounds on the probability of no run."""
        return arithmetic.exp(arithmetic.rational(as_mpq(-to_fraction(self.mean))))  # [no-run]

    def ratio(self, n: int) -> mpq:
        """Return P(N = n + 1) / P(N = n)."""
        return as_mpq(to_fraction(self.mean) / (n + 1))  # [poisson-ratio]

    @property
    def most(self) -> Fraction:
        """Mean number of runs."""
        return to_fraction(self.mean)  # [poisson-mean]

    def shift_of_pure(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on what the selection adds to the loss of runs that lose at most ``epsilon``."""
        rise = one_minus_exp_up(epsilon)
        return to_fraction(self.mean) * rise / (2 - rise)  # [poisson-shift-of-pure]

    def shift(self, delta: Callable[[Number], Number]) -> Fraction:
        """Return the shift in epsilon of the selection from runs with the privacy curve ``delta``."""
        return to_fraction(self.mean) * to_fraction(delta(0))  # [poisson-shift]

    # end-proof-region: poisson

    def generating(self, t: Any) -> Any:
        """Return E[t^N] as an mpmath number of the current precision."""
        import mpmath

        return mpmath.exp(_to_mpf(self.mean) * (t - 1))


def _to_mpf(value: Number) -> Any:
    import mpmath

    number = to_fraction(value)
    return mpmath.mpf(number.numerator) / number.denominator


Repetitions = TruncatedNegativeBinomial | Poisson


# Shared code of selections from runs of one measurement: which measurements fit, their scores, and the loss.
#
# Proof: proofs/combinators/private_selection.tex

Law = Mapping[Hashable, Any]


# proof-region: private_runs
@dataclass(frozen=True)
class PrivateSelectionBound:
    """Privacy curve of a selection: the curve ``runs`` of one run, shifted by ``shift`` and multiplied by ``most``."""

    runs: PrivacyCurve
    shift: Fraction
    most: Fraction

    def __call__(self, epsilon: Number) -> float:
        rest = to_fraction(epsilon) - self.shift
        return (
            1.0 if rest < 0 else round_up(min(Fraction(1), self.most * to_fraction(self.runs.delta(rest))))
        )  # [moved]

    def implies(self, other: Any) -> bool:
        """Return whether this curve is known to be at most ``other``: by its runs, its shift and its factor."""
        return (
            isinstance(other, PrivateSelectionBound)
            and self.shift <= other.shift
            and self.most <= other.most
            and all(
                any(_equals_or_implies(own, bound) for own in self.runs.bounds) for bound in other.runs.bounds
            )  # [implies]
        )


def _equals_or_implies(own: Any, bound: Any) -> bool:
    return own == bound or (hasattr(own, "implies") and bool(own.implies(bound)))  # [same-kind-of-bound]


def require_runs(measurement: Any) -> Measurement:
    """Return ``measurement`` if it can be run and the loss of a selection from it is known, otherwise raise."""
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_* constructors return"
    )
    if measurement.interactive:  # [check-release]
        raise ParameterTypeError("measurement must release pairs (score, candidate), and not be interactive")
    measure = measurement.output_measure
    plain = measure.measure if measure == Approximate(MaxDivergence()) else measure
    note = ", or Approximate(MaxDivergence()): make_range_to_pureDP and make_zCDP_to_approxDP convert others"
    require_measure(plain, MaxDivergence, PrivacyProfile, note=note)  # [check-measure]
    kind, _ = release_type_and_size(measurement.function, measurement.input_domain)
    origin = class_of_type(kind)
    if isinstance(origin, type) and not issubclass(origin, tuple | list):
        raise ParameterTypeError(
            f"measurement must release pairs (score, candidate), not {origin.__name__}: add a function that "
            "makes pairs, as in measurement >> (lambda release: (score, candidate))"
        )
    return measurement  # type: ignore[no-any-return]


def release_score(release: Any) -> Number:
    """Return the score of a release; NaN counts as the lowest score."""
    if not isinstance(release, tuple | list) or len(release) != 2 or not checks.is_real(release[0]):
        raise ParameterTypeError("measurement must release pairs (score, candidate), each score a real number")
    score = checks.plain_number(release[0])
    return -math.inf if score != score else score  # [lowest]


def build_private_selection(
    measurement: Measurement,
    function: Callable[[Any], Any],
    price: Repetitions,
    most: Fraction,
    law: Callable[[Law, Mapping[Hashable, Number]], Law],
    parameters: Mapping[str, Any],
) -> Measurement:
    """Return the measurement that selects with ``function``.

    ``price`` determines the shift of epsilon, and delta is multiplied by ``most``. ``law`` returns the output
    distribution of the selection from the distribution and the scores of the outcomes of one run. Each outcome is in a
    tuple of its own, and () is no release.
    """
    measure, runs, decode = measurement.output_measure, measurement.declared.law, measurement.declared.decode

    def privacy_map(d_in: Any) -> Any:
        loss = measurement.exact_map(d_in)  # [loss-of-a-run]
        if measure == PrivacyProfile():
            curve = measure.distance(loss, "loss")
            return PrivacyCurve(PrivateSelectionBound(curve, price.shift(curve.delta), most))  # [curve]
        epsilon, delta = split_delta(measure, loss)
        if epsilon == math.inf:
            return measure.infinite  # [infinite]
        own = to_fraction(epsilon)
        shift = price.shift(ApproximateDP(epsilon, delta)) if delta else price.shift_of_pure(own)  # [shift]
        return join_delta(measure, own + shift, most * to_fraction(delta))  # [price]

    def output_distribution(value: Any) -> Law:
        masses = runs(value)  # type: ignore[misc]
        return law(masses, {outcome: release_score(decode(outcome)) for outcome in masses})  # [law]

    built = Measurement(
        input_domain=measurement.input_domain,
        input_metric=measurement.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={**parameters, "measurement": measurement.parameters.get("mechanism")},
        declared=Declared(
            law=output_distribution if runs else None, decode=lambda outcome: decode(outcome[0]) if outcome else None
        ),
    )
    return attach_claim(built, Proof(None, (measurement.proof,)))


# end-proof-region: private_runs
