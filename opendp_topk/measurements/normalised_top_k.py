"""Top-k of scores with different sensitivities: scores are compared in units of their own sensitivity bounds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import to_fraction
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import is_standard
from ..spaces.costs import require_measure
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import PerCandidateDistance
from ._selection import SELECTABLE, Choice, Indices, ScoreArray, one_shot_mechanism, select_from_rationals
from .report_noisy_top_k import default_noise


@proved_by("measurements/normalised_top_k")
@mark_experimental("its arguments may change")
def make_normalised_top_k(
    input_domain: VectorDomain,
    input_metric: PerCandidateDistance,
    output_measure: Measure[Distance],
    *,
    k: int = 1,
    scale: Number,
    penalty: Number = 0,
    noise: Noise | None = None,
    optimize: str = "max",
    release: str = "ranking",
) -> Measurement[Distance, Indices]:
    """Release the k best candidates if one individual changes some scores much more than others.

    Noise that is large enough for the candidate with the largest bound drowns all others. Here each pair of candidates
    is compared in units of what both can change: with q_i = x_i - penalty b_i for the bounds b_i of the metric,

        u_i = min over j of (q_i - q_j) / n_ij,  n_ij = b_i + b_j, or max(b_i, b_j) under ``monotonic=True``,

    which is 0 for the best q and negative for all others. One individual changes each u_i by at most 1. Independent
    noise of scale ``scale`` is added to every u_i, and the indices of the k largest are released.

    Experimental: its arguments may change.

    Args:
        input_domain: ``VectorDomain(..., size=d)``: vectors of d integer or float scores, one per candidate.
        input_metric: ``PerCandidateDistance(bounds=..., monotonic=...)`` with d bounds, in units of the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d. The default is 1.
        scale: The scale of the noise, a number without a unit, finite, >= 0. If 0, the exact k best by u_i are
            released, lowest index first among ties, and the privacy loss is infinite.
        penalty: The penalty per unit of a candidate's bound, a number without a unit, finite, >= 0. With the default 0,
            u_i ranks the best score first.
        noise: ``Gumbel()``, ``Exponential()``, ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``. Default:
            ``Exponential()`` under ``MaxDivergence``, ``Gumbel()`` under the other measures.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.
        release: ``"ranking"`` (default) for winners best first, ``"set"`` for winners in ascending order of their
            indices.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of k indices.

    Privacy:
        The loss of k winners in ``make_report_noisy_top_k`` at range distance w d_in / scale, where w = 1 if all bounds
        are equal or there are two candidates, and w = 2 otherwise. For k = 1 it is at most epsilon = 2 d_in / scale.

    Accuracy:
        Let A = scale ln(d / alpha), for k = 1 and exponential or Gumbel noise, and let b_w be the winner's bound. With
        probability at least 1 - alpha, for every candidate j at once, the winner's score is at least
        x_j - A (b_j + b_w) with ``penalty=0``, and at least x_j - 2 A b_j with ``penalty`` = A. So a candidate with a
        small bound loses to another one by little, whatever the bounds of the others.

        At the same epsilon (with w = 2), ``make_report_noisy_top_k`` with the largest bound B for all candidates has
        A B instead, or A B / 2 under ``monotonic=True``: prefer it unless the bounds of the candidates that matter are
        well below B / 2.

    Raises:
        ParameterError: An argument is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain: it has one bound for each of ``size`` scores.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        O(d g) exact rational operations for g different bounds, about a microsecond each, and one noisy selection.

    Proof: proofs/measurements/normalised_top_k.tex

    References:
        Raskhodnikova and Smith, "Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential
        Mechanism" (2016).

    Example:
        >>> import opendp_topk as tk
        >>> bounds = [1, 1, 500]
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.PerCandidateDistance(bounds=bounds, monotonic=True)
        >>> best = space >> tk.then_normalised_top_k(tk.MaxDivergence(), scale=4.0)
        >>> best.map(1)
        0.5
        >>> best([90000, 100, 70000])
        array([0])
    """
    # proof-region: normalised_top_k
    kind = "PerCandidateDistance(bounds=...)"
    require_space(input_domain, input_metric, PerCandidateDistance, kind)  # [check-space]
    require_measure(output_measure, *SELECTABLE)  # [check-measure]
    size = len(input_metric.bounds)
    k = checks.require_positive_int("k", k, at_most=size, limit="the number of bounds")  # [check-k]
    scale, penalty = checks.require_scale(scale), checks.require_scale(penalty, "penalty")  # [check-scale]
    noise = default_noise(output_measure) if noise is None else noise  # [default]
    if not is_standard(noise):
        raise ParameterError("noise must be one of the five of the library")  # [check-noise]
    sign = {"max": 1, "min": -1}[checks.require_choice("optimize", optimize, ("max", "min"))]  # [sign]
    ordered = checks.require_choice("release", release, ("ranking", "set")) == "ranking"  # [ordered]
    race, choice = one_shot_mechanism(noise), Choice(k, size, to_fraction(scale), 1, ordered)  # [choice]
    bounds = [to_fraction(bound) for bound in input_metric.bounds]
    width = 1 if size == 2 or len(set(bounds)) == 1 else 2  # [width]

    def normalised_scores(scores: ScoreArray) -> list[Fraction]:
        less = [
            sign * to_fraction(x) - to_fraction(penalty) * b for x, b in zip(scores.tolist(), bounds, strict=True)
        ]  # [less]
        return least_normalised_leads(less, bounds, monotonic=input_metric.monotonic)  # [compare]

    def function(scores: ScoreArray) -> Indices:
        return select_from_rationals(race, normalised_scores(scores), choice)  # [release]

    def privacy_map(d_in: Number) -> Any:
        if d_in == 0 or choice.is_full_set:
            return 0.0  # [free]
        if choice.tau == 0 or d_in == float("inf"):
            return output_measure.infinite  # [no-noise]
        return race.cost(choice, width * to_fraction(d_in) / choice.tau).to_distance(output_measure)  # [map]

    def output_distribution(scores: ScoreArray) -> dict[Hashable, Any]:
        assert race.law is not None
        return race.law([unit / (choice.tau or 1) for unit in normalised_scores(scores)], choice)  # [law]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "normalised_top_k",
            "noise": noise.name,
            "k": k,
            "scale": scale,
            "penalty": penalty,
            "optimize": optimize,
            "release": release,
        },
        declared=Declared(
            law=output_distribution,
            decode=lambda outcome: np.array(outcome, dtype=np.int64),  # [decode]
            n_candidates=size,
            scores_input=True,
        ),
    )
    # end-proof-region: normalised_top_k


# proof-region: comparisons
def least_normalised_leads(
    scores: Sequence[Fraction], bounds: Sequence[Fraction], *, monotonic: bool
) -> list[Fraction]:
    """Return each score's smallest lead over any score, in units of what both can change; 0 for the best score."""
    best: dict[Fraction, Fraction] = {}
    for score, bound in zip(scores, bounds, strict=True):
        best[bound] = max(best.get(bound, score), score)  # [best-of-a-bound]
    return [
        min((score - other) / (max(bound, b) if monotonic else bound + b) for b, other in best.items())  # [least-lead]
        for score, bound in zip(scores, bounds, strict=True)
    ]


# end-proof-region: comparisons


then_normalised_top_k = partial_constructor(make_normalised_top_k)
_NOISES = Exponential(), Gumbel()
TRIED = {"k": (1,), "noise": _NOISES}
