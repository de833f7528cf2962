"""Canonical top-k: the k-subset with the best noisy utility among all C(d, k) subsets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.distributions import canonical as laws
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import is_standard
from ..sampling.samplers import canonical
from ..sampling.samplers import rows as listed
from ..spaces.costs import Cost
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure
from ..spaces.metrics import ScoreMetric
from ._selection import Choice, SelectionMechanism, build_selection, permute_and_flip_range
from .report_noisy_top_k import default_noise


@proved_by("measurements/canonical_top_k")
def make_canonical_top_k(
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    gamma: Number = Fraction(1, 2),
    noise: Noise | None = None,
    utility: str = "margin",
    optimize: str = "max",
) -> Measurement[Distance, NDArray[np.int64]]:
    """Release a set of k indices, with a privacy loss that does not depend on k.

    Every set S of k candidates has the utility u(S) = gamma m - (1 - gamma) M, where m is the worst score in S and M
    the best score outside of S. With Gumbel noise the mechanism releases S with probability proportional to
    exp(u(S) / scale): the exponential mechanism over all C(d, k) sets. With exponential noise it is permute-and-flip
    over the same sets. A release does not enumerate the sets: exact binomials count the sets of equal utility. Only
    many releases at once of few candidates enumerate them, if that is faster.

    Args:
        input_domain: ``VectorDomain(AtomDomain(int))`` or ``VectorDomain(AtomDomain(float))``, with one score per
            candidate.
        input_metric: ``LInfDistance(...)`` or ``RangeDistance()``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        k: The size of the set, 1 <= k <= d.
        scale: The scale of the noise in units of the scores, finite, >= 0. At 0 the release is the exact top-k, with
            ties broken by the lowest index, and the privacy loss is infinite.
        gamma: The weight of the worst score inside against the best score outside, in [0, 1]; default 1/2. At 1 only
            the worst score inside matters, at 0 only the best one outside. A gamma of 1 halves the accuracy bound, but
            typically multiplies the loss for an exact top-k with probability 0.9 by 1.4 to 3 for k >= 10.
        noise: ``Gumbel()`` or ``Exponential()``. Default: ``Exponential()`` under ``MaxDivergence``, where it has
            a higher probability of the exact top-k at the same epsilon; ``Gumbel()`` under the other measures.
        utility: ``"margin"`` (the default) as above; ``"distance"`` replaces M by max(M, m). The margin gives the exact
            top-k at least as much probability, and more if gamma < 1 and the k-th and the next score differ.
        optimize: ``"max"`` (the default) for the largest scores, ``"min"`` for the smallest.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of shape (k,), in ascending order of the indices.
        For scale > 0 the output distribution does not depend on how ties among true scores are ordered.

    Privacy:
        With r = d_R / scale, where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under
        ``LInfDistance()``, d_in under ``LInfDistance(monotonic=True)`` and ``RangeDistance()``), for every gamma
        and either utility:

        - Gumbel noise: MaxDivergence r, RangeDivergence r, ZeroConcentratedDivergence R(r).
        - Exponential noise: MaxDivergence r, RangeDivergence a = r + 2 ln(2 - exp(-r / 2)),
          ZeroConcentratedDivergence min(L(r), R(a)).

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x, and L(x) = x + exp(-x) - 1,
        the rho of two Laplace distributions with privacy loss x. Under PrivacyProfile the curve is the smallest of the
        curves of these three bounds and, with exponential noise, of delta = 1 - exp((epsilon - r) / 2). If the domain's
        size is k, the release is always the same set and the privacy loss is 0.

        For k = 1 and the distance utility, gamma r replaces r, because max(M, m) is the best score of all. For k = 1
        and two candidates the bounds for MaxDivergence and RangeDivergence are tight with either utility.

    Accuracy:
        For gamma > 0, with probability at least 1 - alpha, every released score is at least the k-th best minus
        (scale / gamma) ln(C(d, k) / alpha). For gamma = 0 no bound is declared.

    Raises:
        ParameterError: ``k``, ``scale``, ``gamma``, ``noise``, ``utility`` or ``optimize`` is out of range or of
            the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        One sort of the relevant scores, or one counting pass in bins if these are most of many scores, plus arithmetic
        on binomials of log2 C(d, k) bits. Memory O(d + k).

    Proof: proofs/measurements/canonical_top_k.tex

    References:
        Shekelyan and Loukides, "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism" (2022),
        whose printed binomials are corrected here.
        McSherry and Talwar, "Mechanism Design via Differential Privacy" (2007).
        McKenna and Sheldon, "Permute-and-Flip" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_canonical_top_k(tk.MaxDivergence(), k=10, scale=2.0)
        >>> top10.map(1)
        0.5
        >>> len(top10(list(range(100))))
        10
    """
    # proof-region: canonical_top_k
    gamma = checks.require_unit_interval(gamma, "gamma")  # [check-gamma]
    noise = default_noise(output_measure) if noise is None else noise  # [default]
    checks.require_instance("noise", noise, Noise, "Gumbel() or Exponential()")
    if not (is_standard(noise) and (noise.is_max_stable or noise.is_memoryless)):
        raise ParameterError("noise must be Gumbel() or Exponential(): other noises are not proved")  # [check-noise]
    capped = checks.require_choice("utility", utility, ("margin", "distance")) == "distance"  # [check-utility]
    mechanism = _canonical_mechanism(noise, to_fraction(gamma), capped)
    names = {"mechanism": "canonical_top_k", "noise": noise.name, "gamma": gamma, "utility": utility}
    space = input_domain, input_metric, output_measure
    measurement = build_selection(
        mechanism, names, *space, k=k, scale=scale, optimize=optimize, release="set"
    )  # [selection]
    return (
        measurement if gamma else replace(measurement, declared=replace(measurement.declared, accuracy=None))
    )  # [accuracy]


def _canonical_mechanism(noise: Noise, gamma: Fraction, capped: bool) -> SelectionMechanism:
    flips = noise.is_memoryless

    def sample(scores: NDArray[Any], choice: Choice) -> NDArray[np.int64]:
        k, tau, sign = choice.k, choice.tau, choice.sign
        if k == len(scores):
            return np.arange(k)  # [everybody]
        return next(
            canonical.draw_subsets(scores, tau, gamma, k, sign=sign, capped=capped, exponential=flips)
        )  # [draw]

    def sample_many(scores: NDArray[Any], choice: Choice, times: int) -> NDArray[np.int64]:
        k, tau, sign = choice.k, choice.tau, choice.sign
        if k == len(scores):
            return np.tile(np.arange(k), (times, 1))  # [everybody-each-time]
        if (
            found := listed.draw_listed_subsets(scores, tau, noise, gamma, k, times, sign=sign, capped=capped)
        ) is not None:
            return found  # [listed]
        drawn = canonical.draw_subsets(scores, tau, gamma, k, sign=sign, capped=capped, exponential=flips)
        return np.array(list(islice(drawn, times)))  # [draws]

    def privacy_cost(choice: Choice, r: Fraction) -> Cost:
        moved = gamma * r if capped and choice.k == 1 else r  # [moved]
        return (
            Cost.from_laplace_dominated(moved, permute_and_flip_range(moved))
            if flips
            else Cost.from_bounded_range(moved, moved)
        )  # [cost]

    return SelectionMechanism(
        sample=sample,
        cost=privacy_cost,
        accuracy=lambda n, choice, alpha: laws.accuracy(n, choice.k, gamma, choice.tau, alpha),
        law=lambda units, choice: laws.output_distribution(
            noise, units, choice.tau == 0, choice.k, gamma, capped
        ),  # [law]
        success=lambda scores, choice, sure, reach: laws.success_probability(
            noise, scores, choice.tau, gamma, choice.k, choice.sign, capped, sure, reach
        ),
        many=sample_many,
    )


# end-proof-region: canonical_top_k


then_canonical_top_k = partial_constructor(make_canonical_top_k)
