"""Conversions from pure differential privacy to other measures."""

from __future__ import annotations

from typing import Any

from ..core.measurement import Measurement
from ..spaces.costs import rho_of_pure
from ..spaces.measures import MaxDivergence, RangeDivergence, ZeroConcentratedDivergence
from .from_range import convert_measure, proven_conversion


@proven_conversion("combinators/from_pureDP")
def make_pureDP_to_range(measurement: Measurement) -> Measurement:
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

    Proof: proofs/combinators/from_pureDP.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019).

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


@proven_conversion("combinators/from_pureDP")
def make_pureDP_to_zCDP(measurement: Measurement) -> Measurement:
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

    Proof: proofs/combinators/from_pureDP.tex

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
