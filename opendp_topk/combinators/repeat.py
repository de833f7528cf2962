"""Repetition: many independent releases of one measurement on the same input, each charged in full."""

from __future__ import annotations

from typing import Any

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.queryable import call_sealed
from ..core.repeatable import BatchedFunction, RepeatableFunction
from ..errors import checks
from ..proof import Proof
from ._rules import decode_all, product_distribution, repeated_loss, require_fixed_rule


@proved_by("combinators/repeat")
def make_repeat(measurement: Measurement, *, times: int) -> Measurement:
    """Release one measurement ``times`` times on the same input, at ``times`` times the privacy loss.

    ``x -> (M(x), ..., M(x))``, drawn independently. This is a composition of ``times`` equal members, and loses as
    much; only the sampling is faster. Averaging the releases does not reduce the loss.

    Args:
        measurement: Any measurement under ``MaxDivergence()``, ``RangeDivergence()``,
            ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them, or ``PrivacyProfile()``.
        times: The number of releases, >= 1.

    Returns:
        A :class:`Measurement` on the same inputs. If ``measurement`` is a selection of this library that releases only
        indices, and not a chain, its releases are one int64 array: of shape (times, k), one row per release, or
        (times,) if a release is one index. All other releases are a tuple. It declares its exact output distribution if
        ``measurement`` does, with a tuple for each outcome. Queryables among the releases are closed.

    Privacy:
        ``times`` times the map of ``measurement``, an exact rational, rounded up once; under ``Approximate`` both
        components, deltas up to 1. For ranges this is tight if the map of ``measurement`` is. Under
        ``PrivacyProfile()`` the composed curve, as in ``make_composition``.

    Raises:
        ParameterError: ``times`` is below 1.
        ParameterTypeError: ``times`` is not an integer, ``measurement`` is not a measurement, or its measure has no
            rule.

    Runtime:
        A few times that of inexact noise in one array, for one-shot and peeled selections among at most 512 candidates
        (listed or not, with or without gaps or counts), and for canonical and joint ones with at most 512 outputs, such
        as pairs of 30. Other canonical and joint selections compute only once the part that depends on the scores
        alone. All other measurements take the time of ``times`` calls.

    Proof: proofs/combinators/repeat.tex

    References:
        Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), Theorem 3.16.
        Bun and Steinke, "Concentrated Differential Privacy" (2016), Lemma 2.3.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=8.0)
        >>> hundred = tk.make_repeat(top2, times=100)
        >>> top2.map(1), hundred.map(1)
        (0.25, 25.0)
        >>> hundred([500, 0, 1000]).shape
        (100, 2)
    """
    # proof-region: repeat
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_* constructors return"
    )
    measure = require_fixed_rule(measurement.output_measure)  # [check-measure]
    times = checks.require_positive_int("times", times)  # [check-times]

    def function(value: Any) -> Any:
        if isinstance(measurement.function, BatchedFunction | RepeatableFunction):
            return measurement.function.many(value, times)  # [at-once]
        return tuple(call_sealed(measurement.function, value) for _ in range(times))  # [one-by-one]

    def output_distribution(value: Any) -> Any:
        joint = product_distribution([measurement] * times)
        return joint and joint([value] * times)  # [joint-law]

    def privacy_map(d_in: Any) -> Any:
        return repeated_loss(measure, measurement.exact_map(d_in), times)  # [map]

    built = Measurement(
        input_domain=measurement.input_domain,
        input_metric=measurement.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "repeat", "times": times, "measurement": measurement.parameters.get("mechanism")},
        declared=Declared(
            law=output_distribution if measurement.declared.law else None,
            decode=lambda outcomes: decode_all([measurement] * len(outcomes))(outcomes),
        ),
    )
    return attach_claim(built, Proof(None, (measurement.proof,)))
    # end-proof-region: repeat
