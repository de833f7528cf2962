"""What concentrated differential privacy says at a pair (epsilon, delta)."""

from __future__ import annotations

from ..core.measurement import Measurement
from ..spaces.curves.closed_forms import Concentrated
from ..spaces.measures import ZeroConcentratedDivergence
from ._convert import converts, profiled


@converts("combinators/from_zCDP")
def make_zCDP_to_approxDP(measurement: Measurement) -> Measurement:
    """The same measurement under ``PrivacyProfile()``, by the best Renyi divergence at every epsilon.

    delta(epsilon) is the least of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1 / alpha)^(alpha - 1) / alpha over the
    orders alpha > 1. Every order is valid: it is searched for roughly, and the bound is evaluated once, rounded up.

    Args:
        measurement: A measurement under ``ZeroConcentratedDivergence()``, or under
            ``Approximate(ZeroConcentratedDivergence())``, whose delta enters into the curve.

    Returns:
        A :class:`Measurement` with the same function, law and accuracy, whose map returns a :class:`PrivacyCurve`.

    Privacy:
        The curve above; epsilon(delta) is below rho + 2 sqrt(rho ln(1 / delta)).

    Raises:
        ParameterTypeError: The measurement has another output measure.

    Proof: proofs/combinators/from_zCDP.tex

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
    return profiled(measurement, ZeroConcentratedDivergence(), Concentrated)  # [renyi-curve]
    # end-proof-region: zCDP_to_approxDP
