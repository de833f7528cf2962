"""What the conversions of measures share: the same measurement under another measure, with both proofs.

Proof: proofs/combinators/convert.tex
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..core.claims import claimed
from ..core.measurement import Measurement
from ..core.recipes import Recipe
from ..errors import ParameterTypeError, checks
from ..proof import Proof
from ..spaces.curves.closed_forms import Mixture
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import Approximate, Measure, PrivacyProfile

Conversion = Callable[..., Measurement]


def converts(name: str) -> Callable[[Conversion], Conversion]:
    """Decorate a conversion: its results are proved by ``proofs/<name>.tex`` and by the measurement's own proof."""

    def decorate(conversion: Conversion) -> Conversion:
        @functools.wraps(conversion)
        def make(measurement: Measurement, *args: Any, **kwargs: Any) -> Measurement:
            recipe = Recipe.of(make, (measurement, *args), kwargs)
            return claimed(conversion(measurement, *args, **kwargs), Proof(name, (measurement.proof,)), recipe)

        make.proof_name = name  # type: ignore[attr-defined]
        return make

    return decorate


# proof-region: convert
def convert(measurement: Measurement, source: Measure, target: Measure, loss: Callable[[Any], Any]) -> Measurement:
    """``measurement`` under the measure ``target``, its loss d under ``source`` being at most ``loss(d)`` there.

    A measurement under ``Approximate(source)`` becomes one under ``Approximate(target)`` with the same delta.
    """
    if measure_of(measurement) == Approximate(source):
        return remeasured(measurement, Approximate(target), lambda pair: (loss(pair[0]), pair[1]))  # [same-delta]
    _require(measurement, source)
    return remeasured(measurement, target, loss)


def remeasured(measurement: Measurement, target: Measure, loss: Callable[[Any], Any]) -> Measurement:
    """``measurement`` with another measure; the function and all else that it declares stay."""
    return replace(
        measurement,
        output_measure=target,
        privacy_map=lambda d_in: loss(measurement.exact_map(d_in)),  # [convert-map]
    )


def profiled(measurement: Measurement, source: Measure, bound: Callable[[Any], Any]) -> Measurement:
    """``measurement`` under ``PrivacyProfile()``, its loss d under ``source`` being the curve ``bound(d)``.

    A measurement under ``Approximate(source)`` is accepted; its delta enters into the curve.
    """
    if measure_of(measurement) == Approximate(source):
        return remeasured(
            measurement, PrivacyProfile(), lambda pair: PrivacyCurve(Mixture(bound(pair[0]), pair[1]))
        )  # [mixture-curve]
    _require(measurement, source)
    return remeasured(measurement, PrivacyProfile(), lambda d: PrivacyCurve(bound(d)))  # [curve]


def measure_of(measurement: Any) -> Measure:
    """The output measure of what must be a measurement."""
    hint = "a Measurement, such as space >> then_report_noisy_top_k(...)"
    measure: Measure = checks.instance("measurement", measurement, Measurement, hint).output_measure
    return measure


def _require(measurement: Measurement, source: Measure) -> None:
    measured = measurement.output_measure
    if measured != source:  # [check-measure]
        raise ParameterTypeError(
            f"measurement must have the output measure {source!r} or {Approximate(source)!r}, not {measured!r}"
        )


# end-proof-region: convert
