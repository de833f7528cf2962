"""Top-k of counts by key where nobody can list the keys: winners until a stop symbol wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.releases import FoundItems
from ..core.repeatable import AdaptiveSteps, RepeatableFunction
from ..errors.checks import Number
from ..sampling.distributions import unlisted as exact_law
from ..sampling.noises.noise import Noise
from ..sampling.samplers import unlisted
from ..spaces.costs import FREE, with_delta
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from ..spaces.measures import Measure
from ._key_selection import UnknownDomainSelection


@proved_by("measurements/unknown_domain_top_k")
def make_unknown_domain_top_k(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure,
    *,
    k: int,
    scale: Number,
    limit: int,
    delta: Number | None = None,
    threshold: Number | None = None,
    noise: Noise | None = None,
) -> Measurement:
    """Release up to k keys with the best noisy counts, without a list of the keys that there may be.

    Of the table's own keys the ``limit`` best take part, equal counts in the public order of keys; where there are
    fewer, dummies fill up. A key's score is what its count leads the (limit + 1)-th best, and that of a dummy is 0.
    A stop symbol has the score ``threshold``. Noise of scale ``scale`` is added to every score, and keys are released,
    best first, until the stop symbol or a dummy comes, or k keys are found. Keys that few users have stay unseen.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as ``make_count_by_item(candidates=None)`` gives them.
        input_metric: ``KeyedCountDistance(...)``, which says how many keys one user may have.
        output_measure: ``Approximate(MaxDivergence())``, ``PrivacyProfile()``, or, for Gumbel noise,
            ``Approximate(ZeroConcentratedDivergence())``.
        k: The number of keys to release at most, k >= 1.
        scale: The scale of the noise in units of the counts, finite, >= 0. At 0 the exact top-k is released, of the
            keys that lead by at least the threshold, with an infinite privacy loss.
        limit: How many keys take part, k <= limit <= 2^22, for which there is memory on any machine, however many
            keys the table has. It must be chosen without looking at the table. A larger one leaves
            keys a larger lead, and costs ln(limit) times the scale in the threshold where users may have many keys.
        delta: The delta that the release may have at d_in = 1, in (0, 1): the threshold is the least that keeps it,
            rounded up to a float64. Give this or ``threshold``.
        threshold: The score of the stop symbol in units of the counts, finite, >= 0.
        noise: ``Gumbel()``, the default, or ``Exponential()``, whose delta is about half as large.

    Returns:
        A :class:`Measurement` whose releases are named tuples ``(items, stopped)``: a tuple of at most k keys, best
        first, and whether there are fewer than k.

    Privacy:
        Let D be ``input_metric.range_distance(d_in)``, r = D / scale, n = min(limit, d_in max_items), which is limit
        where one user may have any number of keys, and g = (threshold - D) / scale. The loss is that of the one-shot
        mechanism (``make_report_noisy_top_k``, ``make_lipschitz_top_k``) with k winners among limit + 1 scores at range
        distance r, up to

        * delta = n / (n + exp(g)) for Gumbel noise;
        * delta = 1 - (1 - (1 - exp(-g))^(n + 1)) / ((n + 1) exp(-g)) for exponential noise, where g >= 0.

        Epsilon is k r for both. For Gumbel noise the loss holds but for an event of probability delta, so that rho and
        the curve are those of the one-shot mechanism, with this delta. For exponential noise the curve is that of the
        one-shot mechanism plus delta. Delta is attained for limit <= max_items (no limit to the keys of a user), and
        as a supremum for k > limit - n under d_in = 1.

        With Gumbel noise a release that stops after m < k keys takes m + 1 of the k steps, and
        ``make_pay_what_you_get`` and ``make_fully_adaptive_composition`` count no more.

    Accuracy:
        With probability at least 1 - alpha, for A = ``accuracy(1, alpha)``: the t-th released key has a count of at
        least that of the t-th best key less A, for all t; and if j <= k keys lead the (limit + 1)-th best count by more
        than threshold + A, at least j keys are released. A is scale ln((limit + 1) k / alpha) for Gumbel and
        scale ln((limit + 1) / alpha) for exponential noise, rounded up; the first argument is of no matter.
        ``success_probability(counts)`` bounds how likely k keys are released and are the k best.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, limit < k, both or neither of ``delta`` and
            ``threshold`` are given, or ``noise`` is another.
        ParameterTypeError: The measure is another, or one of zCDP with exponential noise.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(m + limit) for m keys, vectorised; 0.1 s for 10^6 keys in a ``dict``, and less where they come from a table.
        Many releases on the same counts, as ``make_repeat`` draws them, take some microseconds each.

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
        FoundItems(items=('umbrella', 'rain coat'), stopped=False)
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

    def function(counts: Mapping[Any, int]) -> FoundItems:
        return asked.to_found_items(unlisted.top_k(asked.leading_counts(counts), search))  # [release]

    def sample_many(counts: Mapping[Any, int], times: int) -> tuple[FoundItems, ...]:
        return tuple(
            map(asked.to_found_items, unlisted.repeat_top_k(asked.leading_counts(counts), search, times))
        )  # [many]

    def sample_each(tables: Sequence[Mapping[Any, int]]) -> tuple[FoundItems, ...]:
        return tuple(map(function, tables))  # [each]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if search.scale == 0:
            return output_measure.infinite  # [no-noise]
        return with_delta(
            output_measure, asked.privacy_cost(d_in), asked.failure_probability(d_in), strict=asked.is_strict
        )  # [map]

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


def _step_counter(k: int) -> Callable[[FoundItems], int]:
    return lambda found: min(len(found.items) + 1, k)  # [drawn]
    # end-proof-region: unknown_domain_top_k


then_unknown_domain_top_k = partial_constructor(make_unknown_domain_top_k)
