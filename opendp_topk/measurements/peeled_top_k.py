"""Peeled top-k: a selection of one winner, applied k times without replacement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors import checks
from ..errors.checks import Number
from ..sampling.distributions import peeled as laws
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..sampling.samplers import peeled
from ..spaces.costs import FREE, Cost, rho_of_laplace, rho_of_range
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import ScoreMetric
from ._selection import Choice, Indices, SelectionMechanism, build_selection, one_shot_mechanism, permute_and_flip_range


@proved_by("measurements/peeled_top_k")
def make_peeled_top_k(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    mechanism: str,
    optimize: str = "max",
) -> Measurement[Distance, Indices]:
    """Release a ranking of k candidates by k choices of one, each among those not chosen yet.

    ``mechanism="exponential"`` peels with the exponential mechanism. This has exactly the output distribution of the k
    best scores with Gumbel noise, and is sampled that way in one pass. ``mechanism="permute_and_flip"`` peels with
    permute-and-flip, with fresh exponential noise in each of k rounds. This is not the output distribution of the k
    best scores with one draw of exponential noise.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate. The privacy map uses bounds in d
            if the domain declares its size.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d.
        scale: The scale of every choice in units of the scores, finite, >= 0. If 0, the exact top-k is released,
            lowest index first among ties, and the privacy loss is infinite.
        mechanism: ``"exponential"`` or ``"permute_and_flip"``.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of shape (k,), best first.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``),
        a(r) = r + 2 ln(2 - exp(-r / 2)) and n = min(k, d - 1), for a last choice among one is free:

        - MaxDivergence: n r.
        - RangeDivergence: (min(2 k, d) - 1) r for ``"exponential"``;
          min(min(2 k, d) r, a(r) + 2 (n - 1) r) for ``"permute_and_flip"``.
        - ZeroConcentratedDivergence: n R(r) for ``"exponential"``; n min(L(r), R(a(r))) for ``"permute_and_flip"``.
        - PrivacyProfile: the least of the curves of these epsilon and rho, and of n adaptive steps of range r, or a(r);
          for ``"permute_and_flip"`` of n steps that obey all curves of permute-and-flip, too; for ``"exponential"``
          and ``L01InfDistance`` also that of all noisy scores, as in ``make_report_noisy_top_k``.

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x, and L(x) = x + exp(-x) - 1,
        that of two Laplace distributions with privacy loss x.

        If d is unknown, the bounds in d are dropped.

    Accuracy:
        With probability at least 1 - alpha, for every t the t-th winner's score is within scale ln(d k / alpha) of
        the t-th best score.

    Raises:
        ParameterError: ``k``, ``scale``, ``mechanism`` or ``optimize`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        One pass over the scores for ``"exponential"``, k passes for ``"permute_and_flip"``.

    Proof: proofs/measurements/peeled_top_k.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).
        McKenna and Sheldon, "Permute-and-Flip" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top3 = space >> tk.then_peeled_top_k(tk.MaxDivergence(), k=3, scale=6.0, mechanism="permute_and_flip")
        >>> top3.map(1)
        0.5
        >>> top3([0, 1000, 2000, 3000]).tolist()
        [3, 2, 1]
    """
    # proof-region: peeled_top_k
    checks.require_choice("mechanism", mechanism, ("exponential", "permute_and_flip"))  # [check-mechanism]
    choice = one_shot_mechanism(Gumbel()) if mechanism == "exponential" else _permute_and_flip  # [mechanism]
    names = {"mechanism": "peeled_top_k", "choice": mechanism}
    space = input_domain, input_metric, output_measure
    return build_selection(choice, names, *space, k=k, scale=scale, optimize=optimize, release="ranking")


def _privacy_cost(choice: Choice, r: Fraction) -> Cost:
    n, each = choice.step_count, permute_and_flip_range(r)
    if n == 0:
        return replace(FREE, steps=(0, each), joined=(0, r))  # [free]
    width = min(choice.largest_union_size * r, each + 2 * (n - 1) * r)  # [range-map]
    rho = n * min(rho_of_laplace(r), rho_of_range(each))  # [step-rho]
    return Cost(n * r, width, rho, (n, each), (n, r))  # [map]


_permute_and_flip = SelectionMechanism(
    sample=lambda scores, choice: peeled.top_k(
        scores, choice.tau, Exponential(), choice.k, sign=choice.sign
    ),  # [races]
    cost=_privacy_cost,
    accuracy=lambda n, choice, alpha: laws.accuracy(n, choice.k, choice.tau, alpha),  # [accuracy]
    law=lambda units, choice: laws.output_distribution(Exponential(), units, choice.tau == 0, choice.k),  # [law]
    many=lambda scores, choice, times: peeled.repeat_top_k(
        scores, choice.tau, Exponential(), choice.k, times, sign=choice.sign
    ),  # [many-races]
)
# end-proof-region: peeled_top_k


then_peeled_top_k = partial_constructor(make_peeled_top_k)
