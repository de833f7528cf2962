"""Noisy top-k with gaps: the ranking of the k best noisy scores, and the gap from each winner to the next score."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.releases import Release
from ..core.repeatable import BatchedFunction
from ..errors import DataError, ParameterError
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..sampling.noises.noise import Noise
from ..sampling.samplers import gaps
from ..sampling.samplers.gaps import noiseless_top_k_with_gaps, top_k_with_gaps
from ..spaces.costs import Cost, require_measure, rho_of_range
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure, bounds_range, is_pure
from ..spaces.metrics import ScoreMetric
from ._selection import SELECTABLE, Choice, selection_privacy_map
from .report_noisy_top_k import make_report_noisy_top_k


@proved_by("measurements/noisy_top_k_with_gaps")
def make_noisy_top_k_with_gaps(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    noise: Noise | None = None,
    optimize: str = "max",
) -> Measurement[Distance, Release]:
    """Release the k best noisy scores' ranking and the k gaps between consecutive ones, the runner-up's included.

    Independent noise of scale ``scale`` is added to every score at once. With N_1 > N_2 > ... the noisy scores in
    descending order, the release is the indices of N_1, ..., N_k and the gaps N_t - N_{t+1} for t = 1, ..., k. With
    ``optimize="min"`` the order is ascending, and the gaps are N_{t+1} - N_t. A gap is always the lead of a winner
    over the next score in the direction of ``optimize``, so it is never negative.

    Args:
        input_domain: Vectors of d >= k + 1 integer or float scores, one per candidate. The privacy map uses bounds in
            d if the domain declares its size.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores; or, for integers,
            ``L01InfDistance(changes=...)``, under which the loss of Laplace and logistic noise is at most that of
            releasing all noisy scores, as in ``make_report_noisy_top_k``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners and of gaps, 1 <= k <= d - 1.
        scale: The scale of the noise in units of the scores, finite, >= 0. If 0, the exact top-k (lowest index first
            among ties) and its exact gaps are released, and the privacy loss is infinite.
        noise: ``Gumbel()``, ``Exponential()``, ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``. Default:
            ``Exponential()`` under ``MaxDivergence`` and ``RangeDivergence``, ``Gumbel()`` under the other measures. At
            the same scale all five have the same loss under the first two measures if k <= floor(d / 2); otherwise
            Laplace and logistic noise have the smallest.
            Under zCDP the loss of Gumbel and logistic noise is much smaller if k is large or r is small. Exponential
            noise has the smallest accuracy bound of the five.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.

    Returns:
        A :class:`Measurement` whose releases are :class:`Release` values: ``indices`` is an int64 array of shape (k,),
        best first, and ``gaps`` a float64 array of shape (k,) in units of the scores, >= 0. Each gap is the real gap
        rounded to the nearest float64, or infinity if it is above the largest float64. After
        ``>> index_candidates(items)`` there are ``items`` in place of the indices. Ties have probability zero.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``):

        =========================  =============  ===============  ===========================================
        noise                      MaxDivergence  RangeDivergence  ZeroConcentratedDivergence
        =========================  =============  ===============  ===========================================
        Exponential, HalfLogistic  k r            min(2 k, d) r    min(L(k r), R(min(2 k, d) r))
        default, Gumbel            k r            min(2 k, d) r    min(L(k r), R(min(2 k, d) r), (k + 1) R(r))
        Laplace                    m r            2 m r            L(m r)
        Logistic                   m r            2 m r            min(L(m r), (k + 1) R(r))
        =========================  =============  ===============  ===========================================

        where m = min(k, floor(d / 2)), R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x)))
        and L(x) = x + exp(-x) - 1. If d is unknown, the bounds in d are dropped. Under PrivacyProfile the curve is the
        minimum of the three curves and of delta = 1 - exp((epsilon - E) / 2), where E is the entry under MaxDivergence;
        with Gumbel noise and ``L01InfDistance`` also of the curve of all noisy scores, as in
        ``make_report_noisy_top_k``.

        The gaps are free, so the ranking alone has the same loss, under MaxDivergence; under RangeDivergence except for
        Gumbel noise, and for exponential and logistic noise with k = 1; under ZeroConcentratedDivergence for
        exponential, half-logistic and Laplace noise with k >= 2. With Gumbel noise they add at most R(r) to rho.

    Accuracy:
        The ranking has the accuracy of ``make_report_noisy_top_k``: with probability at least 1 - alpha, for every t
        the t-th winner's score is within the bound of the t-th best score.

    Raises:
        ParameterError: ``k``, ``scale``, ``noise`` or ``optimize`` is out of range or of the wrong type; for example,
            ``k`` is the size of the domain, so there is no runner-up.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k + 1.

    Runtime:
        That of ``make_report_noisy_top_k`` with k + 1 winners, plus some twenty microseconds per gap.

    Proof: proofs/measurements/noisy_top_k_with_gaps.tex

    References:
        Ding, Wang, Zhang and Kifer, "Free Gap Information from the Differentially Private Sparse Vector and Noisy
        Max Mechanisms" (2019).
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=2, scale=4.0)
        >>> top2.map(1)
        0.5
        >>> winners = top2([170, 30, 250, 90])
        >>> len(winners.indices), len(winners.gaps), bool((winners.gaps >= 0).all())
        (2, 2, True)
    """
    # proof-region: noisy_top_k_with_gaps
    require_measure(output_measure, *SELECTABLE)  # [check-measure]
    if noise is None:
        noise = Exponential() if is_pure(output_measure) or bounds_range(output_measure) else Gumbel()  # [default]
    ranking = make_report_noisy_top_k(
        input_domain, input_metric, output_measure, k=k, scale=scale, noise=noise, optimize=optimize
    )  # [ranking]
    if not noise.is_proven:
        raise ParameterError("noise must be one of the five of the library: other noises are not proved")  # [known]
    size, k, tau = input_domain.size, ranking.parameters["k"], to_fraction(ranking.parameters["scale"])
    if k == size:
        raise ParameterError(
            f"k must be less than the size of input_domain, at most {size - 1}: the last gap is to the "
            "runner-up. Lower k, or release the ranking alone with make_report_noisy_top_k"
        )  # [check-k]
    sign = 1 if optimize == "max" else -1  # [sign]
    choice = Choice(k, size, tau, sign, ordered=True)

    def require_length(scores: NDArray[Any]) -> None:
        if k >= len(scores):
            raise DataError(f"scores must contain at least k + 1 elements ({k + 1})")  # [check-length]

    def with_gaps(indices: NDArray[np.int64], gaps: NDArray[np.float64]) -> Release:
        return Release(indices=indices, gaps=gaps)

    def function(scores: NDArray[Any]) -> Annotated[Release, "indices", "gaps"]:
        require_length(scores)
        if tau == 0:
            return with_gaps(*noiseless_top_k_with_gaps(scores, k, sign=sign))  # [exact-gaps]
        return with_gaps(*top_k_with_gaps(scores, tau, noise, k, sign=sign))  # [sample]

    def sample_many(scores: NDArray[Any], times: int) -> tuple[Release, ...]:
        require_length(scores)
        if tau == 0:
            return tuple(function(scores) for _ in range(times))  # [one-by-one]
        return tuple(map(with_gaps, *gaps.many_top_k_with_gaps(scores, tau, noise, k, times, sign=sign)))  # [many]

    def success_probability(scores: NDArray[Any], event: str) -> tuple[float, float]:
        assert ranking.declared.success is not None
        require_length(scores)
        return ranking.declared.success(scores, event)  # [success]

    return replace(  # type: ignore[return-value]
        ranking,
        function=BatchedFunction(function, sample_many),
        privacy_map=selection_privacy_map(
            lambda choice, r: _privacy_cost(noise, choice, r), choice, input_domain, input_metric, output_measure, noise
        ),  # [map]
        parameters={
            "mechanism": "noisy_top_k_with_gaps",
            **{name: ranking.parameters[name] for name in ("noise", "k", "scale", "optimize")},
        },
        declared=replace(ranking.declared, law=None, success=success_probability),
    )  # [accuracy]
    # end-proof-region: noisy_top_k_with_gaps


# proof-region: gaps_cost
def _privacy_cost(noise: Noise, choice: Choice, r: Fraction) -> Cost:
    """Return the privacy loss of the ranking and the gaps at range distance ``r > 0`` in units of the scale."""
    if noise.is_two_sided:
        cost = Cost.from_laplace_dominated(
            choice.two_sided_step_count * r, 2 * choice.two_sided_step_count * r
        )  # [two-sided-cost]
    else:
        cost = Cost.from_laplace_dominated(choice.k * r, choice.largest_union_size * r)  # [one-sided]
    if not (noise.is_max_stable or noise.has_exponential_odds):
        return cost
    raced = (choice.k + 1) * rho_of_range(r)
    return replace(cost, rho=min(cost.rho or raced, raced))  # [times]


# end-proof-region: gaps_cost


then_noisy_top_k_with_gaps = partial_constructor(make_noisy_top_k_with_gaps)
