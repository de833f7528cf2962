"""Report noisy top-k: add independent noise to every score and release the indices of the k best."""

from __future__ import annotations

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors.checks import Number
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, is_pure
from ..spaces.metrics import ScoreMetric
from ._selection import build_selection, one_shot_mechanism


@proved_by("measurements/report_noisy_top_k")
def make_report_noisy_top_k(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    k: int,
    scale: Number,
    optimize: str = "max",
    release: str = "ranking",
) -> Measurement:
    """Release the indices of the k best noisy scores; the scores themselves are never released.

    Independent noise of scale ``scale`` is added to every score at once: exponential noise under
    ``MaxDivergence``, Gumbel noise under the other measures. The indices of the k largest (smallest) sums are
    released. With Gumbel noise this is the exponential mechanism applied k times without replacement; with
    exponential noise and k = 1 it is permute-and-flip.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate. The privacy map uses bounds in d
            if the domain declares its size.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d.
        scale: The scale of the noise in units of the scores, finite, >= 0. If 0, the exact top-k is released,
            lowest index first among ties, and the privacy loss is infinite.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.
        release: ``"ranking"`` (default) for an ordered release, ``"set"`` for an unordered one.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of shape (k,): for a ranking best first, for a
        set in ascending order. Ties have probability zero.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``):

        - MaxDivergence: epsilon = min(k, d - 1) r, attained.
        - RangeDivergence: (min(2 k, d) - 1) r, the exact supremum.
        - ZeroConcentratedDivergence: rho = min(k, d - 1) R(r), the rho of so many steps of range r, with
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))).
        - PrivacyProfile: the least of the curves of epsilon = min(k, d - 1) r, of that rho, and of min(k, d - 1)
          adaptive steps of range r: see proofs/spaces/curves/range_steps.tex.

        If d is unknown, the bounds in d are dropped. A set of all d candidates has privacy loss 0. Epsilon and the
        range are exact rationals, rounded up once; rho is evaluated from above and rounded up.

    Accuracy:
        With probability at least 1 - alpha, for every t the t-th winner's score is within the bound of the
        t-th best score: scale ln(d / alpha) with exponential noise, scale ln(d k / alpha) with Gumbel noise.

    Raises:
        ParameterError: ``k``, ``scale``, ``optimize`` or ``release`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        One pass over the scores, and O(k log d) noise draws if most scores are below the k best noisy ones;
        O(d log d) at most. Memory beyond the scores is O(k) and a few megabytes.

    Proof: proofs/measurements/report_noisy_top_k.tex. Start with proofs/note.tex. The command
    ``opendp-topk proofs make_report_noisy_top_k`` lists the documents on which the privacy depends, and those on which
    only the output distribution, accuracy, success probability and batches depend.

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019), Theorem 1 of their note "One-shot DP Top-k mechanisms".
        McKenna and Sheldon, "Permute-and-Flip" (2020); Ding et al., "The Permute-and-Flip Mechanism is
        Identical to Report-Noisy-Max with Exponential Noise" (2021).
        Bun and Steinke, "Concentrated Differential Privacy" (2016).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=20.0)
        >>> top10.map(1)
        0.5
        >>> len(top10(list(range(100))))
        10
    """
    # proof-region: report_noisy_top_k
    noise = Exponential() if is_pure(output_measure) else Gumbel()  # [noise]
    names = {"mechanism": "report_noisy_top_k", "noise": noise.name}
    space = input_domain, input_metric, output_measure
    return build_selection(
        one_shot_mechanism(noise), names, *space, k=k, scale=scale, optimize=optimize, release=release
    )
    # end-proof-region: report_noisy_top_k


then_report_noisy_top_k = partial_constructor(make_report_noisy_top_k)
