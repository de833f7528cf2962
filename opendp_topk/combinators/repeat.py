"""Repetition: many independent releases of one measurement on the same input, paid for one by one."""

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
    """Release one measurement many times on the same input: a measurement of its own, at ``times`` times the loss.

    ``x -> (M(x), ..., M(x))``, drawn independently. A repetition costs as much as a composition of as many members,
    because it is one; only the drawing is shared. Nothing is averaged away for free: the map of what this returns is
    ``times`` times that of ``measurement``.

    Args:
        measurement: Any measurement under ``MaxDivergence()``, ``RangeDivergence()``,
            ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them, or ``PrivacyProfile()``.
        times: How many releases, >= 1.

    Returns:
        A :class:`Measurement` on the same inputs. Releases of the library's own selections of one-shot noise come as
        one int64 array: of shape (times, k), a row each, or (times,) where one index is chosen. All others come as a
        tuple. It declares its exact distribution where ``measurement`` does, with a tuple for each outcome. Queryables
        among the releases are closed.

    Privacy:
        ``times`` times the map of ``measurement``, an exact rational, rounded up once; under ``Approximate`` both
        components, deltas up to 1. Attained for ranges where the map of ``measurement`` is. Under ``PrivacyProfile()``
        the composed curve, as in ``make_composition``.

    Raises:
        ParameterError: ``times`` is no integer >= 1, or ``measurement`` is none or has a measure without a rule.

    Runtime:
        A few times that of inexact noise in one array, for one-shot and peeled selections among at most 512 candidates,
        listed or not, with gaps or counts or without, and for canonical and joint ones with at most 512 outputs, such
        as pairs of 30. Other canonical and joint ones find once what depends on the scores alone; otherwise that of
        ``times`` calls.

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
