"""Top-k of counts over an unknown domain of keys: winners are released until a stop symbol wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.releases import Release
from ..core.repeatable import AdaptiveSteps, RepeatableFunction
from ..errors.checks import Number
from ..sampling.distributions import unlisted as exact_law
from ..sampling.noises.noise import Noise
from ..sampling.samplers import unlisted
from ..spaces.costs import FREE, curve_with_delta, with_delta
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile
from ._key_selection import UnknownDomainSelection


@proved_by("measurements/unknown_domain_top_k")
def make_unknown_domain_top_k(
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
) -> Measurement[Distance, Any]:
    """Release up to k keys with the best noisy counts, without a list of the keys that there may be.

    The ``limit`` keys of the table with the largest counts take part, with ties broken by the public order of keys. If
    there are fewer, dummies fill up. The score of a key is the lead of its count over the (limit + 1)-th largest count,
    the score of a dummy is 0, and the score of a stop symbol is ``threshold``. Noise of scale ``scale`` is added to
    every score. Keys are released, best first, until the stop symbol or a dummy comes or k keys are found. So keys of
    few users are not released.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as from ``make_count_by_item(candidates=None)``.
        input_metric: ``KeyedCountDistance(...)``, which bounds how many keys one user may have.
        output_measure: ``Approximate(MaxDivergence())``, ``PrivacyProfile()``, or, for Gumbel noise,
            ``Approximate(ZeroConcentratedDivergence())``.
        k: The largest number of keys to release, k >= 1.
        scale: The scale of the noise in units of the counts, finite, >= 0. If 0, the exact top-k of the keys that lead
            by at least the threshold is released, and the privacy loss is infinite.
        limit: The number of keys that take part, k <= limit <= 2^22, so that memory is bounded for any table. It must
            not depend on the table. A larger limit gives keys a larger lead, but raises the threshold by about
            ln(limit) scales if users may have many keys.
        delta: The delta of the release at d_in = 1, in (0, 1): the threshold is the smallest with at most this delta,
            rounded up to a float64. Give this or ``threshold``.
        threshold: The score of the stop symbol in units of the counts, finite, >= 0.
        noise: ``Gumbel()`` (default), or ``Exponential()``, whose delta is about half as large.

    Returns:
        A :class:`Measurement` whose releases are :class:`Release` values: ``items`` is a tuple of at most k keys,
        best first, and ``stopped`` is True if there are fewer than k.

    Privacy:
        Let D be ``input_metric.range_distance(d_in)``, r = D / scale, n = min(limit, d_in max_items), which is limit
        if the number of keys per user is unbounded, and g = (threshold - D) / scale. The loss is that of the one-shot
        mechanism (``make_report_noisy_top_k``) with k winners among limit + 1 scores at range
        distance r, up to

        * delta = n / (n + exp(g)) for Gumbel noise;
        * delta = 1 - (1 - (1 - exp(-g))^(n + 1)) / ((n + 1) exp(-g)) for exponential noise and g >= 0.

        Epsilon is k r for both noises. With Gumbel noise the bound is valid except on an event of probability delta, so
        rho and the curve are those of the one-shot mechanism, with this delta. With exponential noise the curve is that
        of the one-shot mechanism plus delta. Delta is tight for limit <= max_items (which includes an unbounded number
        of keys per user), and approached for k > limit - n at d_in = 1.

        With Gumbel noise and ``max_items``, the curve is also at most that of d_in max_items arrival times (twice as
        many if ``monotonic=False``), for any k; see ``make_report_noisy_top_k``.

        With Gumbel noise a release that stops after m < k keys uses m + 1 of the k steps, and
        ``make_pay_what_you_get`` and ``make_fully_adaptive_composition`` count only these.

    Accuracy:
        With probability at least 1 - alpha and A = ``accuracy(1, alpha)``: for all t, the count of the t-th released
        key is at least that of the t-th best key minus A; and if j <= k keys lead the (limit + 1)-th best count by more
        than threshold + A, at least j keys are released. A is scale ln((limit + 1) k / alpha) for Gumbel and
        scale ln((limit + 1) / alpha) for exponential noise, rounded up; the first argument is ignored.
        ``success_probability(counts)`` bounds the probability that k keys are released and are the k best.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, limit < k, both or neither of ``delta`` and
            ``threshold`` are given, or ``noise`` is not one of the above.
        ParameterTypeError: The measure is not one of the above, or is one of zCDP with exponential noise.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(m + limit) for m keys; 0.1 s for 10^6 keys in a ``dict``. Repeated releases, as with ``make_repeat``, take
        some microseconds each.

    Proof: proofs/measurements/unknown_domain_top_k.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
        >>> found = space >> tk.then_unknown_domain_top_k(
        ...     tk.Approximate(tk.MaxDivergence()), k=2, scale=4.0, limit=10, delta=1e-9)
        >>> found.map(1)[0], found.map(1)[1] <= 1e-9
        (0.5, True)
        >>> found({"umbrella": 900, "rain coat": 700, "my own name": 1})
        Release(items=('umbrella', 'rain coat'), stopped=False)
    """
    # proof-region: unknown_domain_top_k
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
    search = asked.search

    def function(counts: Mapping[Any, int]) -> Annotated[Release, "items", "stopped"]:
        return asked.to_found_items(unlisted.top_k(asked.leading_counts(counts), search))  # [release]

    def sample_many(counts: Mapping[Any, int], times: int) -> tuple[Release, ...]:
        return tuple(
            map(asked.to_found_items, unlisted.repeat_top_k(asked.leading_counts(counts), search, times))
        )  # [many]

    def sample_each(tables: Sequence[Mapping[Any, int]]) -> tuple[Release, ...]:
        return tuple(map(function, tables))  # [each]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if search.scale == 0:
            return output_measure.infinite  # [no-noise]
        lost = asked.failure_probability(d_in)
        if output_measure == PrivacyProfile():
            return curve_with_delta(asked.privacy_curve(d_in), lost, strict=asked.is_strict)  # [curve-map]
        return with_delta(output_measure, asked.privacy_cost(d_in), lost, strict=asked.is_strict)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=RepeatableFunction(function, 0, sample_many, sample_each),  # [repeatable]
        privacy_map=privacy_map,
        parameters={"mechanism": "unknown_domain_top_k", "k": search.k, "scale": scale, **asked.parameters},
        declared=Declared(
            law=lambda counts: exact_law.output_distribution(counts, search),  # [law]
            decode=asked.to_found_items,  # [decode]
            accuracy=asked.accuracy,
            success=asked.success_probability,
            steps=AdaptiveSteps(search.k, asked.step_range, asked.failure_probability, _step_counter(search.k))
            if asked.is_strict
            else None,  # [steps]
        ),
    )


def _step_counter(k: int) -> Callable[[Release], int]:
    return lambda found: min(len(found) + 1, k)  # [drawn]
    # end-proof-region: unknown_domain_top_k


then_unknown_domain_top_k = partial_constructor(make_unknown_domain_top_k)
