"""Conversions between measures: a bound on the privacy loss under one measure implies a bound under another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ..core.claims import Recipe, attach_claim
from ..core.measurement import Measurement
from ..errors import ParameterTypeError, checks
from ..errors.checks import Number
from ..proof import Proof
from ..spaces.costs import rho_of_pure, rho_of_range
from ..spaces.curves.closed_forms import AdaptiveRangeBound, UpToDelta, ZCDPBound
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import (
    Approximate,
    Distance,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    Released,
    ZeroConcentratedDivergence,
    has_delta,
)

# Shared code of the conversions: the same measurement under another measure, with the proofs of both.
#
# Proof: proofs/combinators/convert.tex

Conversion = TypeVar("Conversion", bound=Callable[..., Measurement])


def proven_conversion(name: str) -> Callable[[Conversion], Conversion]:
    """Decorate a conversion whose results ``proofs/<name>.tex`` and the measurement's own proof prove together."""

    def decorate_conversion(conversion: Conversion) -> Conversion:
        @functools.wraps(conversion)
        def convert_with_proof(measurement: Measurement, *args: Any, **kwargs: Any) -> Measurement:
            recipe = Recipe.from_call(convert_with_proof, (measurement, *args), kwargs)
            return attach_claim(conversion(measurement, *args, **kwargs), Proof(name, (measurement.proof,)), recipe)

        convert_with_proof.proof_name = name  # type: ignore[attr-defined]
        return convert_with_proof  # type: ignore[return-value]

    return decorate_conversion


# proof-region: convert
def convert_measure(
    measurement: Measurement, source: Measure, target: Measure, loss: Callable[[Any], Any]
) -> Measurement:
    """Return ``measurement`` under the measure ``target``: a loss d under ``source`` implies ``loss(d)`` there.

    A measurement under ``Approximate(source)`` becomes one under ``Approximate(target)`` with the same delta.
    """
    if output_measure_of(measurement) == Approximate(source):
        return with_output_measure(
            measurement, Approximate(target), lambda pair: (loss(pair[0]), pair[1])
        )  # [same-delta]
    _require_source_measure(measurement, source)
    return with_output_measure(measurement, target, loss)


def with_output_measure(measurement: Measurement, target: Measure, loss: Callable[[Any], Any]) -> Measurement:
    """Return ``measurement`` with another measure; its function and everything it declares stay the same."""
    return replace(
        measurement,
        output_measure=target,
        privacy_map=lambda d_in: loss(measurement.exact_map(d_in)),  # [convert-map]
    )


def convert_to_profile(measurement: Measurement, source: Measure, bound: Callable[[Any], Any]) -> Measurement:
    """Return ``measurement`` under ``PrivacyProfile()``: a loss d under ``source`` implies the curve ``bound(d)``.

    A measurement under ``Approximate(source)`` is also accepted; its delta becomes part of the curve.
    """
    if output_measure_of(measurement) == Approximate(source):
        return with_output_measure(
            measurement, PrivacyProfile(), lambda pair: PrivacyCurve(UpToDelta(bound(pair[0]), pair[1]))
        )  # [mixture-curve]
    _require_source_measure(measurement, source)
    return with_output_measure(measurement, PrivacyProfile(), lambda d: PrivacyCurve(bound(d)))  # [curve]


def output_measure_of(measurement: Any) -> Measure:
    """Return the output measure of ``measurement``, after checking that it is a measurement."""
    hint = "a Measurement, such as space >> then_report_noisy_top_k(...)"
    measure: Measure = checks.require_instance("measurement", measurement, Measurement, hint).output_measure
    return measure


def _require_source_measure(measurement: Measurement, source: Measure) -> None:
    measured = measurement.output_measure
    if measured != source:  # [check-measure]
        raise ParameterTypeError(
            f"measurement must have the output measure {source!r} or {Approximate(source)!r}, not {measured!r}"
        )


# end-proof-region: convert


# Conversions from a bounded range.


@proven_conversion("combinators/convert")
def make_range_to_pureDP(measurement: Measurement[Distance, Released]) -> Measurement[Distance, Released]:
    """Convert a measurement from ``RangeDivergence()`` to ``MaxDivergence()``: a range a implies epsilon = a.

    The exponential of a privacy loss has mean one, so the loss takes values on both sides of 0. No value is then
    farther from 0 than the width of the range.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, which
            becomes ``Approximate(MaxDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        epsilon = a.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=2.0)
        >>> tk.make_range_to_pureDP(best).map(1)
        0.5
    """
    # proof-region: range_to_pureDP
    return convert_measure(measurement, RangeDivergence(), MaxDivergence(), lambda a: a)  # [same-number]
    # end-proof-region: range_to_pureDP


@proven_conversion("combinators/convert")
def make_range_to_zCDP(measurement: Measurement[Distance, Released]) -> Measurement[Distance, Released]:
    """Convert a measurement from ``RangeDivergence()`` to ``ZeroConcentratedDivergence()``, by a tight bound on rho.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, which
            becomes ``Approximate(ZeroConcentratedDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        rho = a / (1 - exp(-a)) - 1 - ln(a / (1 - exp(-a))), which is tight: some pair of distributions of range a has
        this rho. It is below a^2 / 8 and below a. For small a it is about a quarter of the rho that epsilon = a alone
        implies.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Cesar and Rogers, "Bounding, Concentrating, and Truncating" (2021).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=2.0)
        >>> tk.make_range_to_zCDP(best).map(1)
        0.03114209226115588
    """
    # proof-region: range_to_zCDP
    return convert_measure(measurement, RangeDivergence(), ZeroConcentratedDivergence(), _range_to_rho)


def _range_to_rho(a: Any) -> Any:
    return a if a == float("inf") else rho_of_range(a)  # [rho]


# end-proof-region: range_to_zCDP


@proven_conversion("combinators/convert")
def make_range_to_approxDP(measurement: Measurement[Any, Released]) -> Measurement[PrivacyCurve, Released]:
    """Convert a measurement from ``RangeDivergence()`` to ``PrivacyProfile()``, by the exact curve of a range.

    delta(epsilon) = (1 - exp(-(a - epsilon) / 2))^2 / (1 - exp(-a)) for epsilon <= a, and 0 beyond. It is tight for
    every epsilon. If a measurement makes k choices with a known range each, build it with ``PrivacyProfile()`` instead:
    ``make_report_noisy_top_k`` and ``make_peeled_top_k`` then account for the k steps.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, whose
            delta becomes part of the curve.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy, whose map returns a
        :class:`PrivacyCurve`.

    Privacy:
        The curve above, rounded up.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=1.0)
        >>> curve = tk.make_range_to_approxDP(best).map(1)
        >>> curve.delta(1), 0.1 < curve.delta(0.25) < 0.2
        (0.0, True)
    """
    # proof-region: range_to_approxDP
    return convert_to_profile(measurement, RangeDivergence(), lambda a: AdaptiveRangeBound(1, a))  # [range-curve]
    # end-proof-region: range_to_approxDP


# Conversion from zero-concentrated differential privacy to (epsilon, delta).


@proven_conversion("combinators/convert")
def make_zCDP_to_approxDP(measurement: Measurement[Any, Released]) -> Measurement[PrivacyCurve, Released]:
    """Convert a measurement from ``ZeroConcentratedDivergence()`` to ``PrivacyProfile()``, by Renyi divergences.

    delta(epsilon) is the least of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1 / alpha)^(alpha - 1) / alpha over the
    orders alpha > 1. Every order gives a valid bound, so the best order is found approximately, and the bound is
    evaluated once, rounded up.

    Args:
        measurement: A measurement under ``ZeroConcentratedDivergence()``, or under
            ``Approximate(ZeroConcentratedDivergence())``, whose delta becomes part of the curve.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy, whose map returns a
        :class:`PrivacyCurve`.

    Privacy:
        The curve above; epsilon(delta) is below rho + 2 sqrt(rho ln(1 / delta)).

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Proposition 12.
        Bun and Steinke, "Concentrated Differential Privacy" (2016).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.ZeroConcentratedDivergence(), k=10, scale=10.0)
        >>> 0.7 < tk.make_zCDP_to_approxDP(top10).map(1).epsilon(1e-6) < 0.71
        True
    """
    # proof-region: zCDP_to_approxDP
    return convert_to_profile(measurement, ZeroConcentratedDivergence(), ZCDPBound)  # [renyi-curve]
    # end-proof-region: zCDP_to_approxDP


# Conversions to ``Approximate``: with a delta of 0, and from a curve to one pair (epsilon, delta).


@proven_conversion("combinators/convert")
def make_approximate(measurement: Measurement[Any, Released]) -> Measurement[tuple[float, float], Released]:
    """Convert a measurement to ``Approximate`` of its measure, with delta = 0.

    It can then be compared with a budget that has a delta, or composed with measurements that have one.

    Args:
        measurement: A measurement under ``MaxDivergence()``, ``RangeDivergence()`` or ``ZeroConcentratedDivergence()``.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        (d, 0), where d is the loss of ``measurement``.

    Raises:
        ParameterTypeError: The output measure is already ``Approximate``, or it is ``PrivacyProfile()``: use
            ``make_fix_delta``.

    Proof: proofs/combinators/convert.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> tk.make_approximate(best).map(1)
        (0.5, 0.0)
    """
    # proof-region: approximate
    measured = output_measure_of(measurement)
    if has_delta(measured):  # [check-exact]
        raise ParameterTypeError(
            f"measurement must have an output measure without a delta, such as MaxDivergence(), not {measured!r}"
        )
    return with_output_measure(measurement, Approximate(measured), lambda loss: (loss, 0.0))  # [delta-zero]
    # end-proof-region: approximate


@proven_conversion("combinators/convert")
def make_fix_delta(
    measurement: Measurement[PrivacyCurve, Released], *, delta: Number
) -> Measurement[tuple[float, float], Released]:
    """Convert a measurement from ``PrivacyProfile()`` to ``Approximate(MaxDivergence())``, at one delta of its curve.

    Args:
        measurement: A measurement under ``PrivacyProfile()``.
        delta: A number in [0, 1].

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        (curve.epsilon(delta), delta), where curve is the loss of ``measurement``.

    Raises:
        ParameterError: ``delta`` is out of range.
        ParameterTypeError: The measurement has another output measure, or ``delta`` is not a number.

    Proof: proofs/combinators/convert.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=10, scale=10.0)
        >>> epsilon, delta = tk.make_fix_delta(top10, delta=1e-6).map(1)
        >>> 0.63 < epsilon < 0.64, delta
        (True, 1e-06)
    """
    # proof-region: fix_delta
    if output_measure_of(measurement) != PrivacyProfile():  # [check-profile]
        raise ParameterTypeError(
            f"measurement must have the output measure PrivacyProfile(), not {measurement.output_measure!r}"
        )
    fixed = checks.require_unit_interval(delta, "delta")  # [check-delta]
    return with_output_measure(
        measurement, Approximate(MaxDivergence()), lambda curve: (curve.epsilon(fixed), fixed)
    )  # [fix-delta]
    # end-proof-region: fix_delta


@proven_conversion("combinators/convert")
def make_pureDP_to_range(measurement: Measurement[Distance, Released]) -> Measurement[Distance, Released]:
    """Convert a measurement from ``MaxDivergence()`` to ``RangeDivergence()``: epsilon implies a range of 2 epsilon.

    Args:
        measurement: A measurement under ``MaxDivergence()``, or under ``Approximate(MaxDivergence())``, which becomes
            ``Approximate(RangeDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        a = 2 epsilon. The exponential mechanism has a = epsilon: build it with ``RangeDivergence()`` instead of
        converting it.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> tk.make_pureDP_to_range(best).map(1)
        1.0
    """
    # proof-region: pureDP_to_range
    return convert_measure(measurement, MaxDivergence(), RangeDivergence(), _double_epsilon)


def _double_epsilon(epsilon: Any) -> Any:
    return 2 * epsilon  # [twice]


# end-proof-region: pureDP_to_range


@proven_conversion("combinators/convert")
def make_pureDP_to_zCDP(measurement: Measurement[Distance, Released]) -> Measurement[Distance, Released]:
    """Convert a measurement from ``MaxDivergence()`` to ``ZeroConcentratedDivergence()``, by a tight bound on rho.

    Args:
        measurement: A measurement under ``MaxDivergence()``, or under ``Approximate(MaxDivergence())``, which becomes
            ``Approximate(ZeroConcentratedDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, output distribution and accuracy.

    Privacy:
        rho = epsilon (1 - exp(-epsilon)) / (1 + exp(-epsilon)), which is epsilon tanh(epsilon / 2). This is the rho of
        randomised response, so it is tight. It is below epsilon^2 / 2 and below epsilon. A selection has a smaller rho
        than its epsilon implies: build it with ``ZeroConcentratedDivergence()`` instead of converting it.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/convert.tex

    References:
        Bun and Steinke, "Concentrated Differential Privacy" (2016), Proposition 1.4.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> tk.make_pureDP_to_zCDP(best).map(1)
        0.12245933120185457
    """
    # proof-region: pureDP_to_zCDP
    return convert_measure(measurement, MaxDivergence(), ZeroConcentratedDivergence(), _epsilon_to_rho)


def _epsilon_to_rho(epsilon: Any) -> Any:
    return epsilon if epsilon == float("inf") else rho_of_pure(epsilon)  # [tanh]


# end-proof-region: pureDP_to_zCDP
