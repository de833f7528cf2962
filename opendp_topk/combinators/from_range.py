"""What a bounded range says under the other measures."""

from __future__ import annotations

from typing import Any

from ..core.measurement import Measurement
from ..spaces.concentrated import rho_of_range
from ..spaces.curves.range_steps import RangeSteps
from ..spaces.measures import MaxDivergence, RangeDivergence, ZeroConcentratedDivergence
from ._convert import convert, converts, profiled


@converts("combinators/from_range")
def make_range_to_pureDP(measurement: Measurement) -> Measurement:
    """The same measurement under ``MaxDivergence()``: a range a is epsilon = a.

    A privacy loss whose exponential has mean one takes values on both sides of 0, so none is further from 0 than the
    range is wide.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, which
            becomes ``Approximate(MaxDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, law and accuracy.

    Privacy:
        epsilon = a.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/from_range.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=2.0)
        >>> tk.make_range_to_pureDP(best).map(1)
        0.5
    """
    # proof-region: range_to_pureDP
    return convert(measurement, RangeDivergence(), MaxDivergence(), lambda a: a)  # [same-number]
    # end-proof-region: range_to_pureDP


@converts("combinators/from_range")
def make_range_to_zCDP(measurement: Measurement) -> Measurement:
    """The same measurement under ``ZeroConcentratedDivergence()``: a range a has an exact rho.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, which
            becomes ``Approximate(ZeroConcentratedDivergence())`` with the same delta.

    Returns:
        A :class:`Measurement` with the same function, law and accuracy.

    Privacy:
        rho = a / (1 - exp(-a)) - 1 - ln(a / (1 - exp(-a))), which some pair of laws of range a has. Below a^2 / 8, and
        below a; for small a about a quarter of what epsilon = a alone would give.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/from_range.tex

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
    return convert(measurement, RangeDivergence(), ZeroConcentratedDivergence(), _rho)


def _rho(a: Any) -> Any:
    return a if a == float("inf") else rho_of_range(a)  # [rho]


# end-proof-region: range_to_zCDP


@converts("combinators/from_range")
def make_range_to_approxDP(measurement: Measurement) -> Measurement:
    """The same measurement under ``PrivacyProfile()``, by the exact curve of a range.

    delta(epsilon) = (1 - exp(-(a - epsilon) / 2))^2 / (1 - exp(-a)) for epsilon <= a, and 0 beyond. For every
    epsilon some pair of laws of range a attains it there. Of k choices whose range is known each by each, ask the
    constructor itself for ``PrivacyProfile()``: ``make_report_noisy_top_k`` and ``make_peeled_top_k`` then account
    for the k steps.

    Args:
        measurement: A measurement under ``RangeDivergence()``, or under ``Approximate(RangeDivergence())``, whose
            delta enters into the curve.

    Returns:
        A :class:`Measurement` with the same function, law and accuracy, whose map returns a :class:`PrivacyCurve`.

    Privacy:
        The curve above, rounded up.

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/from_range.tex

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
    return profiled(measurement, RangeDivergence(), lambda a: RangeSteps(1, a))  # [range-curve]
    # end-proof-region: range_to_approxDP
