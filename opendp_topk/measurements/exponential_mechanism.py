"""The exponential mechanism: choose one candidate with probability proportional to exp(score / scale)."""

from __future__ import annotations

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors.checks import Number
from ..sampling.noises.gumbel import Gumbel
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import ScoreMetric
from ._selection import build_single_selection, one_shot_mechanism


@proved_by("measurements/exponential_mechanism")
def make_exponential_mechanism(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    scale: Number,
    optimize: str = "max",
) -> Measurement[Distance, int]:
    """Release the index of one candidate, chosen with a probability proportional to exp(score / scale).

    The implementation adds independent Gumbel noise to the scores and takes the best, which has exactly this output
    distribution. There is no hidden factor of two: if one user can move scores in both directions, the privacy map
    accounts for it.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        scale: The scale in units of the scores, finite, >= 0. If 0, the best candidate is released (the
            lowest index among ties) and the privacy loss is infinite.
        optimize: ``"max"`` (default) for large scores, ``"min"`` for small ones, with probabilities proportional
            to exp(-score / scale).

    Returns:
        A :class:`Measurement` whose releases are ints, the index of the chosen candidate.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``):

        - MaxDivergence: epsilon = r.
        - RangeDivergence: r, attained.
        - ZeroConcentratedDivergence: rho = R(r), the exact supremum, with
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))).
        - PrivacyProfile: the exact curve of range r.

        If the domain declares a size of 1, the privacy loss is 0. Epsilon and the range are
        exact rationals, rounded up once; rho is evaluated from above and rounded up.

    Accuracy:
        With probability at least 1 - alpha the chosen score is within scale ln(d / alpha) of the best one; on
        average it is within scale (ln d + 1).

    Raises:
        ParameterError: ``scale`` or ``optimize`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        One pass over the scores, and few noise draws if most scores are below the best noisy one.

    Proof: proofs/measurements/exponential_mechanism.tex

    References:
        McSherry and Talwar, "Mechanism Design via Differential Privacy" (2007).
        Cesar and Rogers, "Bounding, Concentrating, and Truncating" (2021).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_exponential_mechanism(tk.MaxDivergence(), scale=2.0)
        >>> best.map(1)
        0.5
        >>> best([0, 1000, 3])
        1
    """
    # proof-region: exponential_mechanism
    mechanism = one_shot_mechanism(Gumbel())  # [gumbel-noise]
    space = input_domain, input_metric
    return build_single_selection(
        mechanism, "exponential_mechanism", *space, output_measure, scale=scale, optimize=optimize
    )
    # end-proof-region: exponential_mechanism


then_exponential_mechanism = partial_constructor(make_exponential_mechanism)
