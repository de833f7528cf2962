"""Top-k with a private choice of k: at a large gap between consecutive scores, where the set is stable."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import DataError, ParameterError, checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import to_fraction
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.noise import Noise
from ..sampling.samplers import entropy as noiseless
from ..spaces.costs import FREE, STRICT, Cost, curve_with_delta, require_with_delta, with_delta
from ..spaces.curves.composed import compose
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile
from ..spaces.metrics import ScoreMetric, attainable_distance
from ._key_selection import released_before_stop, require_stop_noise, stop_threshold, threshold_as_float
from ._selection import Choice, Indices, ScoreArray, one_shot_mechanism, select_from_rationals


@proved_by("measurements/top_k_by_gap")
@mark_experimental("its arguments may change")
def make_top_k_by_gap(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    test_scale: Number | None = None,
    delta: Number | None = None,
    threshold: Number | None = None,
    noise: Noise = Exponential(),  # noqa: B008  (a frozen value)
    optimize: str = "max",
) -> Measurement[Distance, Indices]:
    """Choose j <= k where the gap between the j-th best score and the next is large, and release the j best as a set.

    First, j is chosen among 1, ..., k by the largest gap with noise of scale ``scale``. Then the chosen gap is compared
    with ``threshold``, both with fresh noise of scale ``test_scale``. If the noisy gap is larger, the exact set of the
    j best candidates is released, otherwise the empty set. A set that is separated by a large gap is the same for all
    neighbours, so the set itself needs no noise, for any size.

    Experimental: its arguments may change.

    Args:
        input_domain: Vectors of d >= k + 1 integer or float scores, one per candidate.
        input_metric: ``LInfDistance(monotonic=...)`` or ``RangeDistance()``, in units of the scores.
        output_measure: ``Approximate(MaxDivergence())``, ``Approximate(ZeroConcentratedDivergence())`` or
            ``PrivacyProfile()``.
        k: The largest number of candidates to release, 1 <= k <= d - 1.
        scale: The scale of the noise in the choice of j, in units of the scores, finite, >= 0. If 0, the largest gap is
            chosen (the first among ties) and the privacy loss is infinite for k >= 2. For k = 1 there is no choice, and
            the scale only sets the default of ``test_scale``.
        test_scale: The scale of the noise in the test, in units of the scores, finite, >= 0. The default is
            ``scale`` / 2, at which the test has the same loss as the choice. If 0, a gap passes if it is at least the
            threshold, and the privacy loss is infinite.
        delta: The delta of the release at d_in = 1, in (0, 1): the threshold is the smallest with at most this delta,
            rounded up to a float64. Give this or ``threshold``.
        threshold: The value with which the chosen gap is compared, in units of the scores, finite, >= 0.
        noise: ``Exponential()`` (default) or ``Gumbel()``. With exponential noise the choice is permute-and-flip and
            the test has Laplace noise. With Gumbel noise the choice is the exponential mechanism and the test has
            logistic noise.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of at most k indices, ascending: the j best, with
        ties broken by the lowest index, or none if the test failed.

    Privacy:
        Let D = d_R(d_in) be the range distance (2 d_in under ``LInfDistance()``, d_in under
        ``LInfDistance(monotonic=True)`` and ``RangeDistance()``). The choice has the loss of one winner among k in
        ``make_report_noisy_top_k`` at range distance 2 D / scale, and none for k = 1. The test has the loss of one
        winner among two at D / test_scale. The loss is the sum of both (for curves, their composition), except on an
        event of probability

        * delta = exp(-g) / 2 for exponential noise, where g = (threshold - D) / test_scale >= 0, and
          1 - exp(g) / 2 for g < 0;
        * delta = 1 / (1 + exp(g)) for Gumbel noise.

        Epsilon is 2 D / scale + D / test_scale for both noises, and D / test_scale for k = 1. Delta is tight for k = 1
        at every epsilon. Epsilon is tight for exponential noise, k = 2 and threshold >= D.

    Accuracy:
        If the largest gap is at least threshold + scale ln(2 k / alpha) + test_scale ln(2 / alpha), then with
        probability at least 1 - alpha a set is released whose gap is within scale ln(2 k / alpha) of the largest. A
        chosen gap of at most threshold - z passes with probability at most exp(-z / test_scale).

    Raises:
        ParameterError: An argument is out of range or of the wrong type, ``k`` is the size of the domain, so that no
            candidate is left, both or neither of ``delta`` and ``threshold`` are given, or ``noise`` is not one of the
            above.
        ParameterTypeError: The measure is not one of the above.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k + 1.

    Runtime:
        One pass over the scores for the k + 1 best, and two noisy selections among few.

    Proof: proofs/measurements/top_k_by_gap.tex

    References:
        Zhu and Wang, "Adaptive Private-K-Selection with Adaptive K and Application to Multi-label PATE" (2022).
        Thakurta and Smith, "Differentially Private Feature Selection via Stability Arguments" (2013). McKenna and
        Sheldon, "Permute-and-Flip" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_top_k_by_gap(tk.Approximate(tk.MaxDivergence()), k=3, scale=8.0, delta=1e-9)
        >>> best.map(1)[0], best.map(1)[1] <= 1e-9
        (0.5, True)
        >>> best([20, 90030, 90010, 30, 10])
        array([1, 2])
        >>> len(best([20, 30, 10, 20, 30]))
        0
    """
    # proof-region: top_k_by_gap
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")  # [check-space]
    require_with_delta(output_measure, STRICT)  # [check-measure]
    noise = require_stop_noise(noise)  # [check-noise]
    size = input_domain.size
    k = checks.require_positive_int("k", k)  # [check-k]
    if size is not None and k >= size:
        raise ParameterError(f"k must be less than the size of input_domain, at most {size - 1}: a gap has two sides")
    scale = checks.require_scale(scale)
    tau = to_fraction(scale)  # [check-scale]
    bar = (
        tau / 2 if test_scale is None else to_fraction(checks.require_scale(test_scale, "test_scale"))
    )  # [check-test-scale]
    sign = {"max": 1, "min": -1}[checks.require_choice("optimize", optimize, ("max", "min"))]  # [sign]
    level = stop_threshold(noise, 1, to_fraction(input_metric.range_distance(1)), bar, delta, threshold)  # [level]
    race, choose, test = (
        one_shot_mechanism(noise),
        Choice(1, k, tau, 1, True),
        Choice(1, 2, bar, 1, True),
    )  # [two-races]

    def ranked_gaps(scores: ScoreArray) -> tuple[Indices, list[Fraction]]:
        if k >= len(scores):
            raise DataError(f"scores must contain at least k + 1 elements ({k + 1})")  # [check-length]
        order = noiseless.top_k(scores, k + 1, sign=sign, ordered=True)  # [order]
        best = [sign * to_fraction(score) for score in scores[order].tolist()]
        return order, [best[j] - best[j + 1] for j in range(k)]  # [gaps]

    def function(scores: ScoreArray) -> Indices:
        order, gaps = ranked_gaps(scores)
        chosen = int(select_from_rationals(race, gaps, choose)[0])  # [choose]
        passed = select_from_rationals(race, [gaps[chosen], level], test)[0] == 0  # [test]
        return np.sort(order[: chosen + 1]) if passed else order[:0]  # [release]

    def privacy_map(d_in: Number) -> Any:
        distance = input_metric.range_distance(attainable_distance(input_domain, d_in))  # [range-distance]
        if distance == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if bar == 0 or (tau == 0 and k > 1) or distance == float("inf"):
            return output_measure.infinite  # [no-noise]
        moved, zero = to_fraction(distance), Fraction(0)
        costs = race.cost(choose, 2 * moved / (tau or 1)), race.cost(test, moved / bar)  # [costs]
        lost = released_before_stop(noise, 1, (level - moved) / bar)  # [lost]
        if output_measure == PrivacyProfile():
            curves = [cost.to_distance(output_measure) for cost in costs]
            return curve_with_delta(compose(curves, adaptive=True), lost, strict=True)  # [curve]
        pure, rho = (sum(map(to_fraction, parts), zero) for parts in zip(*map(_pure_and_rho, costs), strict=True))
        return with_delta(output_measure, Cost(pure=pure, rho=rho), lost, strict=True)  # [both]

    def output_distribution(scores: ScoreArray) -> dict[Hashable, Any]:
        assert race.law is not None
        order, gaps = ranked_gaps(scores)
        found: dict[Hashable, Any] = {(): 0}
        winners: Any = race.law([gap / (tau or 1) for gap in gaps], choose)
        for (chosen,), mass in winners.items():
            tested = race.law([gap / (bar or 1) for gap in (gaps[chosen], level)], test)
            passes, fails = (mass * tested.get((index,), 0) for index in (0, 1))  # [law]
            found[tuple(sorted(order[: chosen + 1].tolist()))] = passes
            found[()] += fails
        return {released: mass for released, mass in found.items() if mass}

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "top_k_by_gap",
            "noise": noise.name,
            "k": k,
            "scale": scale,
            "test_scale": threshold_as_float(bar) if test_scale is None else test_scale,
            "threshold": threshold_as_float(level),
            "optimize": optimize,
        },
        declared=Declared(
            law=output_distribution,
            decode=lambda outcome: np.array(outcome, dtype=np.int64),  # [decode]
            n_candidates=size,
            scores_input=True,
        ),
    )


def _pure_and_rho(cost: Cost) -> tuple[Any, Any]:
    return cost.pure, cost.rho


# end-proof-region: top_k_by_gap


then_top_k_by_gap = partial_constructor(make_top_k_by_gap)
TRIED = {"threshold": (2,)}
