"""The exponential mechanism: one candidate, with odds proportional to exp(score / scale)."""

from __future__ import annotations

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors.checks import Number
from ..sampling.noises.gumbel import Gumbel
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure
from ..spaces.metrics import ScoreMetric
from ._selection import build_single_selection, one_shot_mechanism


@proved_by("measurements/exponential_mechanism")
def make_exponential_mechanism(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    scale: Number,
    optimize: str = "max",
) -> Measurement:
    """Release the index of one candidate, chosen with a probability proportional to exp(score / scale).

    It is drawn as the best of the scores with independent Gumbel noise, which has exactly this law. There is no
    hidden factor of two: where one user can move scores both ways, the map says so.

    Args:
        input_domain: Vectors of d scores, one a candidate, integers or floats.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        scale: The scale in units of the scores, finite, >= 0. At 0 the best candidate is released, the lowest
            index among equal scores, with an infinite privacy loss.
        optimize: ``"max"`` for large scores, ``"min"`` for small ones: probabilities proportional to
            exp(-score / scale).

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

        With one candidate the cost is 0, where the domain declares its size. Maps to numbers are exact
        rationals, rounded up once.

    Accuracy:
        With probability at least 1 - alpha the chosen score is within scale ln(d / alpha) of the best one; on
        average it is within scale (ln d + 1).

    Raises:
        ParameterError: ``scale`` or ``optimize`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        One pass over the scores and few noise draws where most scores lie below the best noisy one.

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
