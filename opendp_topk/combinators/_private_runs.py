"""What selections from runs of one measurement share: which measurements fit, their scores, and what it costs.

Proof: proofs/combinators/private_runs.tex
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.claims import claimed
from ..core.following import released
from ..core.measurement import Declared, Measurement
from ..errors import ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact, round_up
from ..proof import Proof
from ..spaces.costs import require_measure
from ..spaces.curves.closed_forms import ApproximateDP
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import Approximate, MaxDivergence, PrivacyProfile, apart, together
from .repetitions import Repetitions

Law = Mapping[Hashable, Any]


# proof-region: private_runs
@dataclass(frozen=True)
class Selected:
    """What is known of a selection from runs with the curve ``runs``: it is moved, and multiplied."""

    runs: PrivacyCurve
    shift: Fraction
    most: Fraction

    def __call__(self, epsilon: Number) -> float:
        rest = exact(epsilon) - self.shift
        return 1.0 if rest < 0 else round_up(min(Fraction(1), self.most * exact(self.runs.delta(rest))))  # [moved]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too: whether its runs lose no less and are no fewer."""
        return (
            isinstance(other, Selected)
            and self.shift <= other.shift
            and self.most <= other.most
            and all(any(_implies(own, bound) for own in self.runs.bounds) for bound in other.runs.bounds)  # [implies]
        )


def _implies(own: Any, bound: Any) -> bool:
    return own == bound or (hasattr(own, "implies") and bool(own.implies(bound)))  # [same-kind-of-bound]


def require_runs(measurement: Any) -> Measurement:
    """``measurement``, if it can be run and the price of a selection is known."""
    checks.instance("measurement", measurement, Measurement, "a measurement, such as make_* constructors return")
    if measurement.interactive:  # [check-release]
        raise ParameterTypeError("measurement must release pairs (score, candidate), and not be interactive")
    measure = measurement.output_measure
    plain = measure.measure if measure == Approximate(MaxDivergence()) else measure
    note = ", or Approximate(MaxDivergence()): make_range_to_pureDP and make_zCDP_to_approxDP convert others"
    require_measure(plain, MaxDivergence, PrivacyProfile, note=note)  # [check-measure]
    kind, _ = released(measurement.function, measurement.input_domain)
    origin = typing.get_origin(kind) or kind
    if isinstance(origin, type) and not issubclass(origin, tuple | list):
        raise ParameterTypeError(
            f"measurement must release pairs (score, candidate), and releases {origin.__name__}: follow it with a "
            "function that makes pairs, as in measurement >> (lambda release: (score, candidate))"
        )
    return measurement  # type: ignore[no-any-return]


def score_of(release: Any) -> Number:
    """The score of a release; NaN counts as the lowest one."""
    if not isinstance(release, tuple | list) or len(release) != 2 or not checks.is_real(release[0]):
        raise ParameterTypeError("measurement must release pairs (score, candidate), each score a real number")
    score = checks.plain(release[0])
    return -math.inf if score != score else score  # [lowest]


def selection(
    measurement: Measurement,
    function: Callable[[Any], Any],
    price: Repetitions,
    most: Fraction,
    law: Callable[[Law, Mapping[Hashable, Number]], Law],
    parameters: Mapping[str, Any],
) -> Measurement:
    """The measurement that selects by ``function``, at the price of ``price`` and at most a factor ``most`` of delta.

    ``law`` makes the law of the selection of the law and the scores of the outcomes of one run: each outcome in a tuple
    of its own, and () for no release.
    """
    measure, runs, decode = measurement.output_measure, measurement.declared.law, measurement.declared.decode

    def privacy_map(d_in: Any) -> Any:
        loss = measurement.exact_map(d_in)  # [loss-of-a-run]
        if measure == PrivacyProfile():
            curve = measure.distance(loss, "loss")
            return PrivacyCurve(Selected(curve, price.shift(curve.delta), most))  # [curve]
        epsilon, delta = apart(measure, loss)
        if epsilon == math.inf:
            return measure.infinite  # [infinite]
        own = exact(epsilon)
        shift = price.shift(ApproximateDP(epsilon, delta)) if delta else price.shift_of_pure(own)  # [shift]
        return together(measure, own + shift, most * exact(delta))  # [price]

    def joint(value: Any) -> Law:
        masses = runs(value)  # type: ignore[misc]
        return law(masses, {outcome: score_of(decode(outcome)) for outcome in masses})  # [law]

    built = Measurement(
        input_domain=measurement.input_domain,
        input_metric=measurement.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={**parameters, "measurement": measurement.parameters.get("mechanism")},
        declared=Declared(law=joint if runs else None, decode=lambda outcome: decode(outcome[0]) if outcome else None),
    )
    return claimed(built, Proof(None, (measurement.proof,)))


# end-proof-region: private_runs
