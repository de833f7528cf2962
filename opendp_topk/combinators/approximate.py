"""Into and out of approximate privacy: a delta of 0, and the pair (epsilon, delta) of a curve."""

from __future__ import annotations

from ..core.measurement import Measurement
from ..errors import ParameterTypeError, checks
from ..errors.checks import Number
from ..spaces.measures import Approximate, MaxDivergence, PrivacyProfile, has_delta
from ._convert import converts, measure_of, remeasured


@converts("combinators/approximate")
def make_approximate(measurement: Measurement) -> Measurement:
    """The same measurement under ``Approximate(measure)``, with delta = 0.

    So it can be held against a budget with a delta, or composed with measurements that have one.

    Args:
        measurement: A measurement under ``MaxDivergence()``, ``RangeDivergence()`` or
            ``ZeroConcentratedDivergence()``.

    Returns:
        A :class:`Measurement` with the same function, law and accuracy.

    Privacy:
        (d, 0), where d is the loss of ``measurement``.

    Raises:
        ParameterTypeError: The output measure is ``Approximate`` already, or is ``PrivacyProfile()``, for which there
            is ``make_fix_delta``.

    Proof: proofs/combinators/approximate.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> tk.make_approximate(best).map(1)
        (0.5, 0.0)
    """
    # proof-region: approximate
    measured = measure_of(measurement)
    if has_delta(measured):  # [check-exact]
        raise ParameterTypeError(
            f"measurement must have an output measure without a delta, such as MaxDivergence(), not {measured!r}"
        )
    return remeasured(measurement, Approximate(measured), lambda loss: (loss, 0.0))  # [delta-zero]
    # end-proof-region: approximate


@converts("combinators/approximate")
def make_fix_delta(measurement: Measurement, *, delta: Number) -> Measurement:
    """The same measurement under ``Approximate(MaxDivergence())``, at one delta of its privacy curve.

    Args:
        measurement: A measurement under ``PrivacyProfile()``.
        delta: In [0, 1].

    Returns:
        A :class:`Measurement` with the same function, law and accuracy.

    Privacy:
        (curve.epsilon(delta), delta), where curve is the loss of ``measurement``.

    Raises:
        ParameterError: ``delta`` is out of range, or the measurement has another output measure.

    Proof: proofs/combinators/approximate.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=10, scale=10.0)
        >>> epsilon, delta = tk.make_fix_delta(top10, delta=1e-6).map(1)
        >>> 0.63 < epsilon < 0.64, delta
        (True, 1e-06)
    """
    # proof-region: fix_delta
    if measure_of(measurement) != PrivacyProfile():  # [check-profile]
        raise ParameterTypeError(
            f"measurement must have the output measure PrivacyProfile(), not {measurement.output_measure!r}"
        )
    fixed = checks.share(delta, "delta")  # [check-delta]
    return remeasured(
        measurement, Approximate(MaxDivergence()), lambda curve: (curve.epsilon(fixed), fixed)
    )  # [fix-delta]
    # end-proof-region: fix_delta
