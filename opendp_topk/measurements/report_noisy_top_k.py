"""Report noisy top-k: add independent noise to every score and release the indices of the k best."""

from __future__ import annotations

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..proof import Proof
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import describe_noise_options, is_standard
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure, is_pure
from ..spaces.metrics import ScoreMetric
from ._selection import Indices, build_selection, one_shot_mechanism


# proof-region: which_noise
def default_noise(output_measure: Measure) -> Noise:
    """Return exponential noise for ``MaxDivergence()``, and Gumbel noise for the other measures."""
    return Exponential() if is_pure(output_measure) else Gumbel()  # [noise]


# end-proof-region: which_noise


@proved_by("measurements/report_noisy_top_k")
def make_report_noisy_top_k(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    noise: Noise | None = None,
    optimize: str = "max",
    release: str = "ranking",
) -> Measurement[Distance, Indices]:
    """Release the indices of the k best noisy scores; the scores themselves are never released.

    Independent noise of scale ``scale`` is added to every score at once, and the indices of the k largest (smallest)
    sums are released. With Gumbel noise this is the exponential mechanism applied k times without replacement; with
    exponential noise and k = 1 it is permute-and-flip.

    A ranking needs noise of class A, f(z + c) >= e^{-c} f(z); for a set it is enough that ln(1 - F) is 1-Lipschitz.
    All five noises of the library meet both conditions. If you supply your own noise, you vouch for its condition and
    the measurement is marked as unproven.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate. The privacy map uses bounds in d
            if the domain declares its size.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores; or, for integers
            of which one user changes few, ``L01InfDistance(changes=...)``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d.
        scale: The scale of the noise in units of the scores, finite, >= 0. If 0, the exact top-k is released,
            lowest index first among ties, and the privacy loss is infinite.
        noise: ``Gumbel()``, ``Exponential()``, ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``; or your own noise,
            ``CustomNoise(...)``. Default: ``Exponential()`` under ``MaxDivergence``, ``Gumbel()`` under the other
            measures. Under ``RangeDivergence`` Gumbel noise costs half as much for one winner; from five winners on,
            exponential noise costs less for the same accuracy bound.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.
        release: ``"ranking"`` (default) for an ordered release, ``"set"`` for an unordered one.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of shape (k,): for a ranking best first, for a
        set in ascending order. Ties have probability zero.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``), and
        a(r) = r + 2 ln(2 - exp(-r / 2)):

        ===========================  ===============  ===================  =========================================
        noise                        MaxDivergence    RangeDivergence      ZeroConcentratedDivergence
        ===========================  ===============  ===================  =========================================
        default, Gumbel              min(k, d - 1) r  (min(2 k, d) - 1) r  min(k, d - 1) R(r)
        Exponential, k = 1           r                a(r)                 min(L(r), R(a(r)))
        Exponential, k >= 2          min(k, d - 1) r  min(2 k, d) r        min(L(min(k, d - 1) r), R(min(2 k, d) r))
        HalfLogistic, k = 1          r                2 r                  min(L(r), R(a(r)))
        HalfLogistic, k >= 2         min(k, d - 1) r  min(2 k, d) r        min(L(min(k, d - 1) r), R(min(2 k, d) r))
        Laplace, k = 1               r                2 r                  min(L(r), R(a(r)))
        Laplace, ranking, k >= 2     m r              2 m r                L(m r)
        Laplace, set, k >= 2         m r              2 m r                L(m r)
        Logistic, k = 1              r                r                    R(r)
        Logistic, set                m r              m r                  m R(r)
        Logistic, ranking, k >= 2    m r              2 m r                min(L(m r), min(k, d - 1) R(r))
        CustomNoise                  min(k, d - 1) r  min(2 k, d) r        min(L(min(k, d - 1) r), R(min(2 k, d) r))
        ===========================  ===============  ===================  =========================================

        where m = min(k, floor(d / 2)) for a ranking and min(k, d - k) for a set. If d is unknown, the bounds in d are
        dropped. A ranking of both of two candidates counts as k = 1, and so does a set of d - 1 with Laplace noise,
        which is a choice of the candidate left out. A set of all d candidates has privacy loss 0. A CustomNoise of
        class A has the same bounds as HalfLogistic. In the first row epsilon is attained with exponential noise, and
        the range is the exact supremum.

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x, and L(x) = x + exp(-x) - 1,
        that of two Laplace distributions with privacy loss x. Epsilon and the range are exact rationals, rounded up
        once, except for a(r); a(r), R and L are evaluated from above and rounded up.

        Under PrivacyProfile the curve is the minimum of the three curves. In addition, Gumbel and logistic noise have
        the curve of min(k, d - 1) adaptive steps of range r (logistic sets: m steps; see
        proofs/spaces/curves/range_steps.tex), and all noises except Gumbel have the curve
        delta = 1 - exp((epsilon - E) / 2), where E is the entry under MaxDivergence.

        Under ``L01InfDistance(changes=c)`` the loss of Laplace and logistic noise is at most that of releasing all
        noisy scores, for any k. With D = floor(d_in), n = min(c, d) and h = D / scale it is epsilon = n h, range 2 n h
        and rho = n L(h) for Laplace and n (h coth(h / 2) - 2), about n h^2 / 6, for logistic noise; and for D = 1 the
        curve of n Laplace distributions with loss h each. The curve of Gumbel noise is at most that of n arrival times,
        whatever k is: for D = 1 and a monotonic metric delta = E max(0, 1 - exp((N - n) h)), where N is a Poisson
        variable with mean (epsilon + n h) / (exp(h) - 1); for n = 1 that is
        delta = (1 - exp(-h)) exp(-(epsilon + h) / (exp(h) - 1)). It is used from k = 3 n D winners on, since the curve
        of fewer steps is smaller. Epsilon and rho of Gumbel noise, and losses of the other noises, grow with k for
        any number of changes.

    Accuracy:
        With probability at least 1 - alpha, for every t the t-th winner's score is within the bound of the t-th
        best score. With c = ln(d / alpha) and C = ln(2 d / alpha) the bound is scale ln(d k / alpha) for Gumbel,
        scale c for exponential, scale C for half-logistic, 2 scale c for Laplace, 2 scale C for logistic noise, and
        scale (F^{-1}(1 - b) - F^{-1}(b)) with b = alpha / (2 d) for your own noise, whose exact output distribution is
        unknown.

    Raises:
        ParameterError: ``k``, ``scale``, ``noise``, ``optimize`` or ``release`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        One pass over the scores, and O(k log d) noise draws if most scores are below the k best noisy ones;
        O(d log d) at most. Memory beyond the scores is O(k) and a few megabytes. Your own noise is evaluated at 4,096
        points once.

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
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=100), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=20.0)
        >>> top10.map(1)
        0.5
        >>> len(top10(list(range(100))))
        10
        >>> top60 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=60, scale=8.0, noise=tk.noise.Laplace())
        >>> top60.map(1)
        6.25
    """
    # proof-region: report_noisy_top_k
    if noise is None:
        noise = default_noise(output_measure)  # [default]
    noise = checks.require_instance("noise", noise, Noise, describe_noise_options())
    release = checks.require_choice("release", release, ("ranking", "set"))
    if release == "ranking" and not noise.is_class_a:  # [class-a]
        raise ParameterError('noise must be of class A for release="ranking": choose another, or release="set"')
    if not noise.is_lipschitz:  # [lipschitz]
        raise ParameterError("noise must be Lipschitz: choose one of the five noises of the library")
    if noise.is_proven != is_standard(noise) or (not noise.is_proven and noise.has_standard_property):  # [known]
        raise ParameterError(
            f"noise must be {describe_noise_options()}: one of the five of the library, or what CustomNoise returned"
        )
    names = {"mechanism": "report_noisy_top_k", "noise": noise.name}
    space = input_domain, input_metric, output_measure
    measurement = build_selection(
        one_shot_mechanism(noise), names, *space, k=k, scale=scale, optimize=optimize, release=release
    )
    if noise.is_proven:
        return measurement
    return attach_claim(
        measurement, Proof(None, assumption=f"the caller supplied the noise {noise.name}")
    )  # [supplied]
    # end-proof-region: report_noisy_top_k


then_report_noisy_top_k = partial_constructor(make_report_noisy_top_k)
