"""Permute-and-flip: choose the candidate with the largest score plus exponential noise."""

from __future__ import annotations

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors.checks import Number
from ..sampling.noises.exponential import Exponential
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import ScoreMetric
from ._selection import build_single_selection, one_shot_mechanism


@proved_by("measurements/permute_and_flip")
def make_permute_and_flip(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    scale: Number,
    optimize: str = "max",
) -> Measurement[Distance, int]:
    """Release the index of one candidate by permute-and-flip.

    Candidates are visited in random order, and each is accepted with probability exp((score - best score) / scale)
    until one is. The implementation adds independent exponential noise to the scores and takes the best, which has
    exactly this output distribution.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        scale: The scale in units of the scores, finite, >= 0. If 0, the best candidate is released (the
            lowest index among ties) and the privacy loss is infinite.
        optimize: ``"max"`` (default) for large scores, ``"min"`` for small ones.

    Returns:
        A :class:`Measurement` whose releases are ints, the index of the chosen candidate.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``), and
        a(r) = r + 2 ln(2 - exp(-r / 2)), evaluated by MPFR and rounded up:

        - MaxDivergence: epsilon = r, attained.
        - RangeDivergence: a(r), attained.
        - ZeroConcentratedDivergence: rho = min(L(r), R(a(r))).
        - PrivacyProfile: the least of the curves of epsilon = r, of range a(r), of that rho, and of two Laplace laws:
          delta = 1 - exp((epsilon - r) / 2), attained for every epsilon below r.

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x, and L(x) = x + exp(-x) - 1,
        that of two Laplace distributions with privacy loss x.

        If the domain declares a size of 1, the privacy loss is 0.

    Accuracy:
        With probability at least 1 - alpha the chosen score is within scale ln(d / alpha) of the best one; on
        average it is within scale (ln d + 1).

    Raises:
        ParameterError: ``scale`` or ``optimize`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        One pass over the scores, and few noise draws if most scores are below the best noisy one.

    Proof: proofs/measurements/permute_and_flip.tex

    References:
        McKenna and Sheldon, "Permute-and-Flip" (2020).
        Ding et al., "The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise" (2021).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.RangeDivergence(), scale=1.0)
        >>> best.map(1)
        1.6635931315023726
        >>> best([0, 1000, 3])
        1
    """
    # proof-region: permute_and_flip
    mechanism = one_shot_mechanism(Exponential())  # [exponential-noise]
    space = input_domain, input_metric
    return build_single_selection(mechanism, "permute_and_flip", *space, output_measure, scale=scale, optimize=optimize)
    # end-proof-region: permute_and_flip


then_permute_and_flip = partial_constructor(make_permute_and_flip)
