"""Joint top-k: one exponential mechanism over all rankings, or all sets, of k candidates."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors import checks
from ..errors.checks import Number
from ..sampling.distributions import joint as laws
from ..sampling.noises.gumbel import Gumbel
from ..sampling.samplers import joint
from ..sampling.samplers import rows as listed
from ..spaces.costs import FREE, Cost
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import ScoreMetric
from ._selection import MOST_JOINT_WINNERS, Choice, SelectionMechanism, build_selection


@proved_by("measurements/joint_top_k")
def make_joint_top_k(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    release: str = "ranking",
    optimize: str = "max",
) -> Measurement[Distance, NDArray[np.int64]]:
    """Release k indices by one choice among all rankings, or all sets, of k candidates.

    An output S has the loss max_i (x_[i] - x_S[i]), where x_[i] is the i-th best score and S[i] is the i-th index of a
    ranking, or the i-th best member of a set. S is released with a probability proportional to
    exp(-loss(S) / scale). This is the exponential mechanism over all d! / (d - k)! rankings or all C(d, k) sets. A
    single release does not enumerate the outputs: it proposes them uniformly from nested layers of bounded loss, and
    accepts a proposal with the probability that makes the output distribution exact.

    Args:
        input_domain: ``VectorDomain(AtomDomain(int))`` or ``VectorDomain(AtomDomain(float))``: one score per candidate.
        input_metric: ``LInfDistance(...)`` or ``RangeDistance()``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d.
        scale: The scale of the noise in units of the scores, finite, >= 0. If 0, the exact top-k is released,
            lowest index first among ties, and the privacy loss is infinite.
        release: ``"ranking"`` (default) for a choice among rankings, ``"set"`` for one among sets. These are different
            mechanisms: the members of a joint ranking are not distributed like a joint set.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of shape (k,): best first for a ranking, ascending
        for a set. The order of ties among the true scores does not affect the output distribution.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``):
        MaxDivergence 2 r, RangeDivergence 2 r, ZeroConcentratedDivergence R(2 r). For k = 1, and where the domain's
        size is 2, MaxDivergence r, RangeDivergence r, ZeroConcentratedDivergence R(r). A set has privacy loss
        0 if the domain's size is k, and a ranking if that size is 1. Under PrivacyProfile the curve is the minimum of
        the three curves. Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x.

    Accuracy:
        With probability at least 1 - alpha the loss is at most scale ln(n / alpha), where n is the number of outputs.
        So, for all t at once, the score of the t-th winner (for a set, of its t-th best member) is at most that much
        below the t-th best score.

    Raises:
        ParameterError: ``k``, ``scale``, ``release`` or ``optimize`` is out of range or of the wrong type. k is at most
            2^22.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        One sort of the scores that matter, or one pass that counts them in bins if most scores matter, and bounds on
        the number of outputs at some tens to hundreds of levels of the loss.

        Rankings take milliseconds at k = 100 and 0.3 s at k = 5000. Sets take longest if the scores fall steeply at
        first and slowly afterwards: on scores 1e6 / rank the slowest scale, near 1e6 / k^2, took at most k * 2.3 ms
        (0.2 s at k = 100, 21 s at 10,000), and less than 0.1 s from scale 10^4 on.

        Memory is O(d + k) for rankings. Sets took up to 60 MiB in addition to the scores at k = 1000, and 105 MiB at
        k = 20,000.

    Proof: proofs/measurements/joint_top_k.tex

    References:
        Gillenwater, Joseph, Munoz Medina and Ribero, "A Joint Exponential Mechanism for Differentially Private
        Top-k" (2022). Here ties are merged and counts are exact.
        McSherry and Talwar, "Mechanism Design via Differential Privacy" (2007).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_joint_top_k(tk.MaxDivergence(), k=10, scale=4.0, release="set")
        >>> top10.map(1)
        0.5
        >>> len(top10(list(range(100))))
        10
    """
    # proof-region: joint_top_k
    checks.require_positive_int("k", k, at_most=MOST_JOINT_WINNERS, limit="2^22")  # [check-k]
    names, space = {"mechanism": "joint_top_k"}, (input_domain, input_metric, output_measure)
    return build_selection(_joint, names, *space, k=k, scale=scale, optimize=optimize, release=release)  # [selection]


def _sample(scores: NDArray[Any], choice: Choice) -> NDArray[np.int64]:
    if choice.k == len(scores) and not choice.ordered:
        return np.arange(choice.k)  # [everybody]
    return joint.draw_output(scores, choice.tau, choice.k, sign=choice.sign, ordered=choice.ordered)  # [draw]


def _sample_many(scores: NDArray[Any], choice: Choice, times: int) -> NDArray[np.int64]:
    k, tau, sign, ordered = choice.k, choice.tau, choice.sign, choice.ordered
    if k == len(scores) and not ordered:
        return np.tile(np.arange(k), (times, 1))  # [everybody-each-time]
    found = listed.draw_listed_outputs(scores, tau, Gumbel(), k, times, sign=sign, ordered=ordered)  # [listed]
    if found is not None:
        return found
    return np.array(list(islice(joint.draw_outputs(scores, tau, k, sign=sign, ordered=ordered), times)))  # [draws]


def _privacy_cost(choice: Choice, r: Fraction) -> Cost:
    if choice.size == 1:
        return FREE  # [one-candidate]
    spread = r if choice.k == 1 or choice.size == 2 else 2 * r  # [spread]
    return Cost.from_bounded_range(spread, spread)  # [map]


_joint = SelectionMechanism(
    sample=_sample,
    cost=_privacy_cost,
    accuracy=lambda n, choice, alpha: laws.accuracy(n, choice.k, choice.ordered, choice.tau, alpha),  # [accuracy]
    law=lambda units, choice: laws.output_distribution(units, choice.tau == 0, choice.k, choice.ordered),  # [law]
    success=lambda scores, choice, sure, reach: laws.success_probability(
        scores, choice.tau, choice.k, choice.sign, choice.ordered, sure, reach
    ),  # [success]
    many=_sample_many,
)
# end-proof-region: joint_top_k


then_joint_top_k = partial_constructor(make_joint_top_k)
