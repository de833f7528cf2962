"""Top-k of counts over an unknown domain of keys, with a noisy count of each winner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.releases import Release
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.noises.noise import Noise
from ..sampling.samplers import unlisted
from ..sampling.samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.costs import FREE, Cost, curve_with_delta, with_delta
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile, is_pure, without_delta
from ._grid import Grid
from ._key_selection import UnknownDomainSelection
from .select_then_count import count_curve, joint_counts_curve, sequential_curve


@proved_by("measurements/unknown_domain_counts")
def make_unknown_domain_counts(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    limit: int,
    delta: Number | None = None,
    threshold: Number | None = None,
    noise: Noise | None = None,
    count_scale: Number | None = None,
) -> Measurement[Distance, Release]:
    """Release up to k keys with the best noisy counts, and a new noisy count of each, without a list of the keys.

    The keys are those of ``make_unknown_domain_top_k``. Independent noise is then added to their own counts: discrete
    Laplace under ``Approximate(MaxDivergence())``, discrete Gaussian under the two others.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as from ``make_count_by_item(candidates=None)``.
        input_metric: ``KeyedCountDistance(...)``, which bounds how many keys one user may have.
        output_measure: ``Approximate(MaxDivergence())``, ``PrivacyProfile()``, or, for Gumbel noise,
            ``Approximate(ZeroConcentratedDivergence())``.
        k: The largest number of keys to release, k >= 1.
        scale: The scale of the selection's noise in units of the counts, finite, >= 0.
        limit: The number of keys that take part, k <= limit <= 2^22. It must not depend on the table.
        delta: The delta of the release at d_in = 1, in (0, 1); the selection uses all of it. Give this or
            ``threshold``.
        threshold: The score of the stop symbol, as in ``make_unknown_domain_top_k``.
        noise: The noise of the selection, ``Gumbel()`` (default) or ``Exponential()``.
        count_scale: The scale of the counts' noise, finite, >= 0. With c = 1 under ``monotonic=True`` and c = 2
            otherwise, the default is scale / c for Laplace and 2 scale / c for Gaussian noise. Then the loss of the
            counts is at most that of the selection (with Gaussian noise at most k r^2 / 8, to which the rho of the
            selection is close for small r).

    Returns:
        A :class:`Measurement` whose releases are :class:`Release` values: ``items`` is a tuple of at most k keys,
        best first, ``counts`` a tuple of their noisy counts, which are integers, and ``stopped`` is True if there are
        fewer than k.

    Privacy:
        Let c be ``input_metric.steps(1)``, u = ``input_metric.each``, r = c d_in u / scale, and n = min(k, c
        max_items), which is k if the number of keys per user is unbounded. Up to the delta of
        ``make_unknown_domain_top_k``, which comes from the selection alone,

        * epsilon = k r + n d_in u / count_scale under Approximate(MaxDivergence());
        * rho = k R(r) + n (d_in u)^2 / (2 count_scale^2) under Approximate(ZeroConcentratedDivergence()), where
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x)));
        * the curve is that of the selection composed with that of the counts. The latter is the curve of
          min(k, c d_in max_items) integers that change by d_in u each, if they are at most 1024. If they are more than
          n, the curve is also that of all counts together, whose squared changes sum to at most n (d_in u)^2: that of
          the second summand of rho and, if count_scale^2 >= 32, that of two normal distributions with variance
          count_scale^2 - 16 whose means are the root of that sum apart. As count_scale grows, the curve of the counts
          is tight for users who have the same keys.

        A user with few keys changes few of the counts, for any k.

    Accuracy:
        For the selection, see ``make_unknown_domain_top_k``. With probability at least 1 - alpha, all errors of counts
        are at most count_scale ln(2 k / alpha) under Approximate(MaxDivergence()) and
        count_scale sqrt(2 ln(2 k / alpha)) under the two others (proofs/distributions/discrete.tex).

    Raises:
        ParameterError: An argument is out of range or of the wrong type.
        ParameterTypeError: The measure is not one of the above, or is one of zCDP with exponential noise.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        That of the selection, plus O(k).

    Proof: proofs/measurements/unknown_domain_counts.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=1)
        >>> found = space >> tk.then_unknown_domain_counts(
        ...     tk.Approximate(tk.MaxDivergence()), k=2, scale=4.0, limit=10, delta=1e-9, count_scale=2.0)
        >>> found.map(1)[0], found.map(1)[1] <= 1e-9
        (1.0, True)
        >>> release = found({"umbrella": 900, "rain coat": 700, "my own name": 1})
        >>> release.items, len(release.counts)
        (('umbrella', 'rain coat'), 2)
    """
    # proof-region: unknown_domain_counts
    asked = UnknownDomainSelection.from_arguments(
        input_domain,
        input_metric,
        output_measure,
        k=k,
        scale=scale,
        limit=limit,
        delta=delta,
        threshold=threshold,
        noise=noise,
    )  # [asked]
    k, tau = asked.search.k, asked.search.scale
    pure, each = is_pure(without_delta(output_measure)), input_metric.steps(1)
    count_scale = tau * (1 if pure else 2) / each if count_scale is None else count_scale  # [even]
    b = to_fraction(checks.require_scale(count_scale, "count_scale"))  # [check-count-scale]
    draw = discrete_laplace if pure else discrete_gaussian  # [draw]

    def function(counts: Mapping[Any, int]) -> Annotated[Release, "items", "counts", "stopped"]:
        best = asked.leading_counts(counts)  # [best]
        found = asked.to_found_items(unlisted.top_k(best, asked.search))  # [select]
        sizes = np.array([best[key] for key in found], dtype=np.int64)
        noisy = Grid(Fraction(1), rounds=False).add_noise(sizes, draw(b, len(sizes))).tolist() if len(found) else ()
        return replace(found, counts=tuple(noisy))  # [count]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if tau == 0 or b == 0:
            return output_measure.infinite  # [no-noise]
        lost, winners = asked.failure_probability(d_in), asked.privacy_cost(d_in)  # [winners]
        far, touched = input_metric.rise(d_in), input_metric.moved_one_way(each, k)  # [touched]
        if output_measure != PrivacyProfile():
            both = _sum_costs(winners, _counts_cost(touched, far, b))
            return with_delta(output_measure, both, lost, strict=asked.is_strict)  # [map]
        moved = input_metric.moved_one_way(each * d_in, k)  # [moved]
        ways = [[count_curve(far, b)] * moved] if moved <= _MOST else []  # [counts]
        if moved > touched or not ways:
            ways.append([joint_counts_curve(touched * far * far, b)])  # [counts-together]
        curve = sequential_curve(asked.privacy_curve(d_in), ways)  # [curves]
        return curve_with_delta(curve, lost, strict=asked.is_strict)

    named = {"mechanism": "unknown_domain_counts", "k": k, "scale": scale}
    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={**named, **asked.parameters, "count_scale": count_scale},
        declared=Declared(accuracy=asked.accuracy, success=asked.success_probability),  # [of-the-selection]
    )


_MOST = 1024  # curves in a composition: more take minutes, and improve little on their rhos


def _counts_cost(touched: int, far: int, scale: Fraction) -> Cost:
    """Return the epsilon of Laplace noise and the rho of Gaussian noise if ``touched`` counts change by ``far``."""
    return Cost(pure=touched * far / scale, rho=touched * far * far / (2 * scale * scale))  # [counts-cost]


def _sum_costs(*costs: Cost) -> Cost:
    return Cost(pure=_sum_or_none(cost.pure for cost in costs), rho=_sum_or_none(cost.rho for cost in costs))  # [both]


def _sum_or_none(bounds: Iterable[Fraction | None]) -> Fraction | None:
    """Return the sum, or None (no bound) if any bound is None."""
    total = Fraction(0)
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


# end-proof-region: unknown_domain_counts


then_unknown_domain_counts = partial_constructor(make_unknown_domain_counts)
